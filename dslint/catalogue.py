"""Every code that dslint can say, whoever says it: loaders, the schema, rules."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from dslint.document.codes import CODES as LOADING
from dslint.engine.generic import CODES as SCHEMA
from dslint.engine.registry import all_rules
from dslint.engine.rules import Rule
from dslint.faults import Fault
from dslint.links import CODES as LINKS
from dslint.nearest import did_you_mean
from dslint.suppression import CODES as SUPPRESSION


class Generic(NamedTuple):
    """A finding that has no rule behind it: of the loaders (PA), of the schema (SC) or of links between files (LK), or of comments that silence findings (SU)."""

    code: str
    name: str
    meaning: str


def generic_codes() -> list[Generic]:
    return [
        Generic(code, name, meaning) for code, (name, meaning) in (*LOADING.items(), *SCHEMA.items(), *LINKS.items(), *SUPPRESSION.items())
    ]


@cache
def known_codes() -> dict[str, str]:
    """Code -> name."""
    return {generic.code: generic.name for generic in generic_codes()} | {rule.id: rule.name for rule in all_rules()}


def find(text: str) -> Rule | Generic:
    """What a code or a name stands for. Raises Fault with the nearest for one that does not exist."""
    code, name = text.strip().upper(), text.strip().lower()
    for generic in generic_codes():
        if code == generic.code or name == generic.name:
            return generic
    for rule in all_rules():
        if code == rule.id or name == rule.name:
            return rule
    codes = known_codes()
    raise Fault(f"no rule {text!r}{did_you_mean(text, [*codes, *codes.values()])}; `dslint rules` lists them")
