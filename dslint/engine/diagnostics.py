"""Findings and their repairs, independent of how they are found and printed."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from dslint.document import Change, Document, Path, Span

Severity: TypeAlias = Literal["error", "warning", "info"]
Safety: TypeAlias = Literal["safe", "unsafe"]
RANK: dict[str, int] = {"info": 0, "warning": 1, "error": 2}


class Fix(NamedTuple):
    """A repair: ``safe`` when the engine would have done the same or it is plainly intended. Its changes are applied together or not at all."""

    title: str
    safety: Safety
    changes: tuple[Change, ...]


class Related(NamedTuple):
    document: Document
    span: Span
    message: str


class Diagnostic(NamedTuple):
    """One finding at one place of one document; ``path`` is absolute in it (mount included)."""

    document: Document
    code: str
    name: str
    severity: Severity
    path: Path
    span: Span
    message: str
    why: str = ""
    source: str = ""
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()


class Skipped(NamedTuple):
    """A rule that needed a fact nobody gave."""

    code: str
    fact: str
