"""The one list of checks by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from dslint.engine.view import Finding, View

Check: TypeAlias = Callable[[View], Iterator[Finding]]
CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[Check], Check]:
    """Register a check under the name that a rule's ``check:`` gives."""

    def register(function: Check) -> Check:
        assert name not in CHECKS, f"two checks are named {name}"
        CHECKS[name] = function
        return function

    return register
