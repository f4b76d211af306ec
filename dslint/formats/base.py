"""What a format is to the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from dslint.document import Document
from dslint.schema.resolve import Resolved

Context: TypeAlias = Literal["native", "hf"]


class Format(NamedTuple):
    """``framework``: whose schema its keys follow. ``companions``: frameworks whose version is worth showing beside it.

    ``recognises``: is this document one? ``context``: what the content tells of the reader of the file.
    """

    name: str
    framework: str
    companions: tuple[str, ...]
    recognises: Callable[[Document, Context | None], bool]
    context: Callable[[Resolved], Context | None]
