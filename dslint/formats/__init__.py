"""The formats that dslint reads: how each is known, and which schema lies behind it."""

from __future__ import annotations

from dslint.document import Document
from dslint.formats.accelerate import ACCELERATE
from dslint.formats.axolotl import AXOLOTL
from dslint.formats.base import Context, Format, Link, Stated
from dslint.formats.deepspeed import DEEPSPEED
from dslint.formats.env import ENV
from dslint.formats.fsdp import FSDP
from dslint.formats.hostfile import HOSTFILE
from dslint.formats.llamafactory import LLAMAFACTORY
from dslint.formats.trainer import TRAINER

FORMATS: dict[str, Format] = {form.name: form for form in (DEEPSPEED, ACCELERATE, AXOLOTL, LLAMAFACTORY, FSDP, TRAINER, ENV, HOSTFILE)}


def detect(document: Document, context: Context | None = None) -> str | None:
    """The format of a document by its content first, its name second; None when it is none of ours.

    ``context`` is only ever said of a DeepSpeed config: where it is given, a JSON object without marks of another kind is one.
    """
    for form in FORMATS.values():
        if form.recognises(document, context):
            return form.name
    return None


__all__ = ["FORMATS", "Format", "Link", "Stated", "detect"]
