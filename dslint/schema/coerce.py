"""What an engine makes of a written value: the coercions that it really does, and no more."""

from __future__ import annotations

import math
import re
from typing import Any, Literal, NamedTuple

from dslint.schema.lookup import KeyInfo

TRUE = frozenset({"true", "1", "yes", "on", "t", "y"})
FALSE = frozenset({"false", "0", "no", "off", "f", "n"})


class Outcome(NamedTuple):
    """``value`` when ``ok``; else ``kind`` of failure and what was ``expected``, in words."""

    ok: bool
    value: Any = None
    kind: Literal["type", "bound", "enum"] = "type"
    expected: str = ""


NOT_COERCED = object()
READERS = ("int", "stoi", "strtoll")


def coerce(info: KeyInfo, value: Any) -> Outcome:
    """The value as the engine will hold it, or why it refuses."""
    if value is None:
        return Outcome(True) if "null" in info.type or not info.type else _refused(info)
    if not info.type:
        return Outcome(True, value)
    if info.coerce == "text" and value == "":
        return Outcome(True)
    held = _typed(info, value)
    if held is NOT_COERCED:
        return _refused(info)
    if isinstance(held, str) and info.enum is not None and info.coerce == "pydantic" and "boolean" in info.type and held not in info.enum:
        # a choice or a bool: what is none of the words may still be read as true or false
        held = word if (word := _made("boolean", held, info.coerce)) is not NOT_COERCED else held
    if info.enum is not None and (held.lower() if info.casefold and isinstance(held, str) else held) not in _choices(info):
        return Outcome(False, kind="enum", expected=f"expected one of {', '.join(map(str, info.enum))}")
    if (bound := _out_of_bounds(info, held)) is not None:
        return Outcome(False, kind="bound", expected=bound)
    if info.items is not None and isinstance(held, list):
        return _items(info.items, held)
    return Outcome(True, held)


def _choices(info: KeyInfo) -> tuple[Any, ...]:
    assert info.enum is not None
    return tuple(choice.lower() for choice in info.enum) if info.casefold else info.enum


def _items(info: KeyInfo, values: list[Any]) -> Outcome:
    held = []
    for value in values:
        outcome = coerce(info, value)
        if not outcome.ok:
            return Outcome(False, kind=outcome.kind, expected=f"in each item {outcome.expected}")
        held.append(outcome.value)
    return Outcome(True, held)


def _typed(info: KeyInfo, value: Any) -> Any:
    """The first type that takes the value as it stands, else the first that can be made of it."""
    for kind in info.type:
        if _is(kind, value):
            return value
    if info.coerce in READERS and isinstance(value, str):
        return _counted(value, info.coerce)
    if info.coerce == "text":
        return next((held for kind in info.type if (held := _read_again(kind, value)) is not NOT_COERCED), NOT_COERCED)
    if not info.coerce.startswith("pydantic"):
        return NOT_COERCED
    if info.coerce == "pydantic1" and info.enum is not None:
        return next((choice for choice in info.enum if choice == value), NOT_COERCED)
    make = _made_by_v1 if info.coerce == "pydantic1" else _made
    return next((held for kind in info.type if (held := make(kind, value, info.coerce)) is not NOT_COERCED), NOT_COERCED)


def _counted(text: str, reader: str) -> Any:
    """The whole number that a variable of the environment holds.

    ``int``: Python's. ``stoi``: C++'s, which stops at the first letter. ``strtoll``: C's in base 0 (0x1F, 017), of the whole text; what it makes
    of other texts is nobody's wish. An empty variable is unset.
    """
    plain = text.strip().lower()
    if not plain and reader != "stoi":
        return None
    based = reader == "strtoll" and re.fullmatch(r"[+-]?0(x[0-9a-f]+|[0-7]*)", plain)
    match = re.match(r"[+-]?[0-9]+", plain)
    if not based and (match is None or (reader != "stoi" and match.end() < len(plain))):
        return NOT_COERCED
    digits = (plain if based or match is None else match.group()).lstrip("+-")
    number = int(digits, 16 if digits.startswith("0x") else 8 if based else 10)
    return -number if plain.startswith("-") else number


def _made_by_v1(kind: str, value: Any, coercion: str) -> Any:
    """pydantic 1: floats lose their fraction, what Python's int() refuses is refused, and plain values become strings."""
    if kind == "string" and isinstance(value, (int, float)):
        return str(value)
    if kind == "integer" and isinstance(value, float) and math.isfinite(value):
        return int(value)
    if kind == "integer" and isinstance(value, str) and "." in value:
        return NOT_COERCED
    return _made(kind, value, coercion)


def _is(kind: str, value: Any) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str)
    if kind == "array":
        return isinstance(value, list)
    return isinstance(value, dict) if kind == "object" else False


def _made(kind: str, value: Any, coercion: str) -> Any:
    """pydantic's lax mode (2.x): quoted numbers, whole floats, 0 and 1, the usual words for true and false.

    ``pydantic-no-bool``: a validator before it refuses booleans, and what Python's int() refuses.
    """
    strict = coercion == "pydantic-no-bool"
    if strict and (isinstance(value, bool) or (kind == "integer" and isinstance(value, str) and "." in value)):
        return NOT_COERCED
    if kind == "boolean":
        if isinstance(value, str):
            word = value.lower()
            return True if word in TRUE else False if word in FALSE else NOT_COERCED
        return bool(value) if isinstance(value, (int, float)) and value in (0, 1) else NOT_COERCED
    if kind in ("integer", "number") and isinstance(value, (bool, int, float, str)):
        try:
            number = float(value.strip()) if isinstance(value, str) else value
        except ValueError:
            return NOT_COERCED
        if kind == "number":
            return float(number)
        if isinstance(value, str) and not value.strip().lstrip("+-").replace("_", "").split(".")[0].isdigit():
            return NOT_COERCED
        return int(number) if number == number and abs(number) != float("inf") and number == int(number) else NOT_COERCED
    return NOT_COERCED


def _read_again(kind: str, value: Any) -> Any:
    """What is made of a value that was written into an environment variable: Python's int() and float(), and the usual words for true and false."""
    text = str(value).strip()
    if kind == "boolean":
        return True if text.lower() in TRUE else False if text.lower() in FALSE else NOT_COERCED
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return NOT_COERCED
    return text if kind == "string" and isinstance(value, (str, int, float)) else NOT_COERCED


def _out_of_bounds(info: KeyInfo, value: Any) -> str | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    if info.minimum is not None and not value >= info.minimum:
        return f"expected at least {info.minimum}"
    if info.exclusive_minimum is not None and not value > info.exclusive_minimum:
        return f"expected more than {info.exclusive_minimum}"
    if info.maximum is not None and not value <= info.maximum:
        return f"expected at most {info.maximum}"
    if info.exclusive_maximum is not None and not value < info.exclusive_maximum:
        return f"expected less than {info.exclusive_maximum}"
    return None


ARTICLES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object { }",
    "null": "null",
}


def _refused(info: KeyInfo) -> Outcome:
    if info.enum is not None:
        return Outcome(False, kind="enum", expected=f"expected one of {', '.join(map(str, info.enum))}")
    kinds = [ARTICLES[kind] for kind in info.type if kind != "null"]
    return Outcome(False, expected=f"expected {' or '.join(kinds)}")
