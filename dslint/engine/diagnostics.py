"""Findings and their repairs, independent of how they are found and printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dslint.document import Change, Document, Path, Span

Severity: TypeAlias = Literal["error", "warning", "info"]
Safety: TypeAlias = Literal["safe", "unsafe"]
RANK: dict[str, int] = {"info": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: ``safe`` when the engine would have done the same or it is plainly intended. Its changes are applied together or not at all."""

    title: str
    safety: Safety
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Related:
    document: Document
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
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


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that needed a fact nobody gave."""

    code: str
    fact: str
