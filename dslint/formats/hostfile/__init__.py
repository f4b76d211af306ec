"""The hosts of DeepSpeed's launcher (deepspeed --hostfile), ``NAME slots=GPUS`` a line."""

from __future__ import annotations

from dslint.document import Document
from dslint.formats.base import Context, Format


def recognises(document: Document, context: Context | None) -> bool:
    return document.syntax == "hostfile"


HOSTFILE = Format(
    name="hostfile",
    framework="deepspeed",
    title="DeepSpeed's launcher",
    companions=(),
    recognises=recognises,
    root=lambda _: "hostfile",
)
