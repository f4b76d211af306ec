"""Which findings are wanted: codes, prefixes of codes, names, and ignores of one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from dslint.document import format_path
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.rules import Rule
from dslint.faults import Fault
from dslint.nearest import did_you_mean


class Ignore(NamedTuple):
    """A code, the start of one (``DS1``) or a name; ``place`` is a glob of key paths, "*" for everywhere."""

    rule: str
    place: str = "*"

    def __str__(self) -> str:
        return self.rule if self.place == "*" else f"{self.rule}@{self.place}"

    def matches(self, diagnostic: Diagnostic) -> bool:
        if self.rule != diagnostic.name and not diagnostic.code.startswith(self.rule):
            return False
        return self.place == "*" or fnmatchcase(format_path(diagnostic.path), self.place.replace("[", "[[]"))


def parse_ignore(text: str, where: str, extra: Sequence[Rule] = ()) -> Ignore:
    """``CODE``, ``NAME`` or ``CODE@glob``, of a built-in or an ``extra`` rule. Raises Fault for one that does not exist."""
    rule, at, place = text.strip().partition("@")
    if at and not place:
        raise Fault(f"{where}: {text!r} has no place behind the @; write for example DS039@zero_optimization.stage3_*")
    return Ignore(checked_rule(rule.strip(), where, extra), place.strip() or "*")


def parse_codes(texts: Iterable[str], where: str, extra: Sequence[Rule] = ()) -> tuple[Ignore, ...]:
    """The comma separated lists of a flag that may be given more than once. Raises Fault."""
    return tuple(parse_ignore(part, where, extra) for text in texts for part in text.split(",") if part.strip())


def checked_rule(text: str, where: str, extra: Sequence[Rule] = ()) -> str:
    """The code (in capitals), its prefix, or the name. Raises Fault."""
    from dslint.catalogue import known_codes

    codes = known_codes() | {rule.id: rule.name for rule in extra}
    code = text.upper()
    if text and any(known.startswith(code) for known in codes):
        return code
    if text.lower() in codes.values():
        return text.lower()
    raise Fault(f"{where}: unknown rule {text!r}{did_you_mean(text, [*codes, *codes.values()])}; `dslint rules` lists them")


def wanted(diagnostics: Iterable[Diagnostic], select: Sequence[Ignore], ignore: Sequence[Ignore]) -> list[Diagnostic]:
    """Those that ``select`` names (all where it names none) and ``ignore`` does not."""
    return [
        diagnostic
        for diagnostic in diagnostics
        if (not select or any(choice.matches(diagnostic) for choice in select)) and not any(choice.matches(diagnostic) for choice in ignore)
    ]
