"""Versions as tuples of numbers, and ranges such as ``>=0.14,<0.19.8``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

Version: TypeAlias = tuple[int, ...]
Bound: TypeAlias = tuple[str, Version]

OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version:
    """``0.16.4`` as ``(0, 16, 4)``, padded to three numbers; local and pre-release parts are left out.

    Raises ValueError for a text that does not start with numbers.
    """
    numbers: list[int] = []
    for part in text.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    if not numbers:
        raise ValueError(f"{text!r} is no version; write numbers such as 0.16.4")
    return tuple(numbers + [0] * (3 - len(numbers)))


def parse_range(text: str) -> tuple[Bound, ...]:
    """The bounds of a comma separated range. Raises ValueError when one has no operator or no version."""
    bounds: list[Bound] = []
    for part in text.split(","):
        part = part.strip()
        sign = next((sign for sign in OPERATORS if part.startswith(sign)), None)
        if sign is None:
            raise ValueError(f"{text!r} is no version range; write for example >=0.14,<0.19.8")
        bounds.append((sign, parse_version(part[len(sign) :].strip())))
    return tuple(bounds)


def within(version: Version, bounds: tuple[Bound, ...]) -> bool:
    return all(OPERATORS[sign](version, bound) for sign, bound in bounds)
