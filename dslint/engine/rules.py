"""Rules as data: what one is, and the list of all that are built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dslint.engine.diagnostics import Safety, Severity
from dslint.engine.versions import Bound
from dslint.formats.base import Context

Condition: TypeAlias = Callable[[Any, Any, Any], bool]
Computed: TypeAlias = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class FixTemplate:
    """A repair before its paths and values are known. ``it`` as a path is the place that ``each`` found; a callable value is computed."""

    title: str
    safety: Safety
    set: tuple[tuple[str, Any], ...] = ()
    delete: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    move: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``at``: the places it points to, the first that is written wins. ``facts``: those its condition asks for."""

    id: str
    name: str
    formats: tuple[str, ...]
    severity: Severity
    message: str
    at: tuple[str, ...] = ()
    versions: tuple[tuple[str, tuple[Bound, ...]], ...] = ()
    context: Context | None = None
    when: Condition | None = None
    check: str | None = None
    each: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    fixes: tuple[FixTemplate, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule says beside its message: needed when it fires or is asked for. ``bad`` and ``good`` are its examples, its tests."""

    why: str
    source: str
    bad: tuple[Mapping[str, Any], ...] = ()
    good: tuple[Mapping[str, Any], ...] = ()
