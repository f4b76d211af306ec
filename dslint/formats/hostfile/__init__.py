"""The hosts of DeepSpeed's launcher (deepspeed --hostfile), ``NAME slots=GPUS`` a line; other tools have files of this name too."""

from __future__ import annotations

import re

from dslint.document import Document
from dslint.formats.base import Context, Format


def recognises(document: Document, context: Context | None) -> bool:
    return document.syntax == "hostfile" and re.search(r"(?m)^\s*[^#\s]+\s+slots?\b", document.text) is not None


HOSTFILE = Format(
    name="hostfile",
    framework="deepspeed",
    title="DeepSpeed's launcher",
    companions=(),
    recognises=recognises,
    root=lambda _: "hostfile",
)
