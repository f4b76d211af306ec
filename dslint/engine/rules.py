"""Rules as data: what one is, and the list of all that are built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from dslint.engine.diagnostics import Safety, Severity
from dslint.engine.versions import Bound
from dslint.formats.base import Context

Condition: TypeAlias = Callable[[Any, Any, Any], bool]
Computed: TypeAlias = Callable[[Any, Any, Any], Any]


class FixTemplate(NamedTuple):
    """A repair before its paths and values are known. ``it`` as a path is the place that ``each`` found; a callable value is computed."""

    title: str
    safety: Safety
    set: tuple[tuple[str, Any], ...] = ()
    delete: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    move: tuple[tuple[str, str], ...] = ()


class Rule(NamedTuple):
    """One rule. ``at``: the places it points to, the first that is written wins. ``facts``: those its condition asks for.

    ``only_with``: keys of which one must be written for its check to find anything. ``needs``: keys without which it cannot fire, each with whether its default does not count.
    ``paths``: the keys that its condition asks for, where it asks for nothing else. ``plan``: names of the Plan that it asks for.
    """

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
    needs: tuple[tuple[str, bool], ...] = ()
    paths: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    fixes: tuple[FixTemplate, ...] = ()

    def __hash__(self) -> int:
        """A repair may write a whole block, which has no hash."""
        return hash(self.id)


class RuleText(NamedTuple):
    """What a rule says beside its message: needed when it fires or is asked for. ``bad`` and ``good`` are its examples, its tests."""

    why: str
    source: str
    bad: tuple[Mapping[str, Any], ...] = ()
    good: tuple[Mapping[str, Any], ...] = ()
