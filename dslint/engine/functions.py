"""What compiled conditions call: the functions of the condition language, and what its operators become."""

from __future__ import annotations

from typing import Any

from dslint.schema.missing import MISSING


def no(value: Any) -> bool:
    """A bare value negated: present, and false."""
    return value is not MISSING and not value


def isin(value: Any, choices: Any) -> bool:
    return value is not MISSING and choices is not MISSING and choices is not None and value in choices


def notin(value: Any, choices: Any) -> bool:
    return value is not MISSING and choices is not MISSING and choices is not None and value not in choices


def item(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, (list, tuple, str)) and -len(value) <= index < len(value) else MISSING


def times(left: Any, right: Any) -> Any:
    """The product of two numbers; MISSING of anything else: a text repeated a billion times is no value of a config."""
    return left * right if isinstance(left, (int, float)) and isinstance(right, (int, float)) else MISSING


def divided(left: Any, right: Any, sign: str) -> Any:
    """``left / right``, ``//`` or ``%`` of two numbers; MISSING where the divisor is zero."""
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)) or right == 0:
        return MISSING
    return left / right if sign == "/" else left // right if sign == "//" else left % right


def _known(function: Any) -> Any:
    def call(*values: Any) -> Any:
        return MISSING if any(value is MISSING for value in values) else function(*values)

    return call


def _sized(value: Any) -> Any:
    return len(value) if isinstance(value, (str, list, dict, tuple)) else MISSING


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, (int, float)) and value == value and abs(value) != float("inf") else MISSING


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# functions of values; the type tests also accept MISSING, which has no type
VALUE_FUNCTIONS: dict[str, Any] = {
    "len": _known(_sized),
    "min": _known(min),
    "max": _known(max),
    "abs": _known(abs),
    "int": _known(_whole),
    "lower": _known(lambda value: value.lower() if isinstance(value, str) else MISSING),
    "startswith": _known(lambda value, start: isinstance(value, str) and value.startswith(start)),
    "endswith": _known(lambda value, end: isinstance(value, str) and value.endswith(end)),
    "is_int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "is_number": _number,
    "is_string": lambda value: isinstance(value, str),
    "is_list": lambda value: isinstance(value, list),
    "is_object": lambda value: isinstance(value, dict),
    "is_bool": lambda value: isinstance(value, bool),
}
# functions of a path, answered by the view
PATH_FUNCTIONS = ("written", "absent", "auto", "raw", "on", "off", "keys")
HELPERS: dict[str, Any] = {
    "MISSING": MISSING,
    "no": no,
    "isin": isin,
    "notin": notin,
    "item": item,
    "times": times,
    "divided": divided,
    **{f"f_{name}": function for name, function in VALUE_FUNCTIONS.items()},
}
