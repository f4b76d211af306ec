"""The condition language: what it accepts, what it refuses, and that what is missing satisfies nothing in either polarity."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.engine.conditions import MAXIMUM_LENGTH, ConditionError, compile_condition, compile_value
from dslint.engine.functions import HELPERS
from dslint.schema.missing import MISSING


class Values:
    """A view of fixed values."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def get(self, path: str) -> Any:
        return self.values.get(path, MISSING)

    def written(self, path: str) -> bool:
        return path in self.values

    def fact(self, name: str) -> Any:
        return self.values.get(f"facts.{name}", MISSING)

    def on(self, path: str) -> bool:
        return self.get(path) is True


def holds(text: str, **values: Any) -> bool:
    view = Values({name.replace("__", "."): value for name, value in values.items()})
    return bool(eval(compile_condition(text).code, dict(HELPERS), {"v": view, "g": view.get, "it": None}))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a.b < 1 and a.c in (1, 2)", {"a__b": 0.5, "a__c": 2}, True),
        ("a.b < 1 and a.c in (1, 2)", {"a__b": 0.5, "a__c": 3}, False),
        ("a * b != c", {"a": 4, "b": 2, "c": 9}, True),
        ("a % b", {"a": 4, "b": 3}, True),
        ("a % b == 0", {"a": 4, "b": 0}, False),
        ("1 <= a <= 3", {"a": 2}, True),
        ("not (1 <= a <= 3)", {"a": 4}, True),
        ("not a", {"a": 0}, True),
        ("not on(a)", {}, True),
        ("len(a) == 2 and a[0] > 0.9", {"a": [0.95, 1]}, True),
        ("a[5] > 0", {"a": [1]}, False),
        ("facts.world_size > 4", {"facts__world_size": 8}, True),
        ("lower(a) == 'adam'", {"a": "Adam"}, True),
        ("max(a, b) == 3 and min(a, b) == -1", {"a": 3, "b": -1}, True),
    ],
)
def test_conditions(text: str, values: dict[str, Any], expected: bool) -> None:
    assert holds(text, **values) is expected


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "not a",
        "a < 1",
        "not a < 1",
        "a == 1",
        "not a == 1",
        "a != 1",
        "a in (1, 2)",
        "a not in (1, 2)",
        "not a in (1,)",
        "a + 1 > 0",
        "a % 2 == 0",
        "a / 2 != 3",
        "len(a) > 0",
        "not len(a) > 0",
        "-a < 0",
        "lower(a) != 'x'",
        "a < b",
        "not a < b",
        "facts.x > 0",
    ],
)
def test_what_is_missing_satisfies_nothing(text: str) -> None:
    assert holds(text) is False


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("__import__('os')", "functions are"),
        ("a.b()", "functions are"),
        ("(lambda: 1)", "not in the language"),
        ("a ** 2 > 1", "not in the language"),
        ("[x for x in a]", "not in the language"),
        ("a is b", "only =="),
        ("f'{a}'", "not in the language"),
        ("written(a, b)", "takes one path"),
        ("written('a')", "takes one path"),
        ("len(a, key=b)", "functions are"),
        ("a <", "no expression"),
        ("a == 1" + " and a == 1" * 300, f"at most {MAXIMUM_LENGTH}"),
        ("a" + "\x00", "no expression"),
    ],
)
def test_what_is_not_in_the_language_is_refused(text: str, part: str) -> None:
    with pytest.raises(ConditionError, match=part.replace("=", "[=]")):
        compile_condition(text)


names = st.sampled_from(["a", "b", "c.d"])
numbers = st.integers(-3, 3)
leaves = st.tuples(names, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers).map(lambda t: f"{t[0]} {t[1]} {t[2]}")
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda c: f"not ({c})"), st.tuples(inner, st.sampled_from(["and", "or"]), inner).map("({0[0]}) {0[1]} ({0[2]})".format)
    ),
)


@given(conditions, numbers, numbers, numbers)
def test_with_every_value_present_it_means_what_python_means(text: str, a: int, b: int, d: int) -> None:
    expected = eval(text.replace("c.d", "cd"), {}, {"a": a, "b": b, "cd": d})
    assert holds(text, a=a, b=b, c__d=d) is expected


@given(conditions)
def test_with_nothing_present_nothing_holds(text: str) -> None:
    assert holds(text) is False


def test_paths_and_facts_are_known() -> None:
    compiled = compile_condition("a.b < facts.world_size and on(c)")
    assert compiled.paths == ("a.b", "c")
    assert compiled.facts == ("world_size",)


def test_a_computed_value() -> None:
    view = Values({"micro": 2, "facts.world_size": 8})
    assert eval(compile_value("micro * facts.world_size").code, dict(HELPERS), {"v": view, "g": view.get, "it": None}) == 16


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("a.b < 1 and on(c.d)", "a a.b c c.d"),
        ("a.b < 1 or a.c < 1", "a"),
        ("a.b < 1 or c.d < 1", ""),
        ("not (a.b < 1 or c.d < 1)", "a a.b c c.d"),
        ("not on(a.b)", ""),
        ("off(a.b) and x > 1", "x"),
        ("absent(a.b) and written(c.d)", "c c.d"),
        ("not is_string(a.b)", ""),
        ("is_string(a.b.c)", "a a.b a.b.c"),
        ("a.b * facts.world_size > c.d", "a a.b c c.d"),
        ("not (1 < a.b < c.d)", "a a.b"),
        ("a != plan.batch.micro", "a plan"),
    ],
)
def test_what_must_be_there_for_a_condition_to_hold(text: str, needs: str) -> None:
    assert " ".join(sorted({need.path for need in compile_condition(text).needs})) == needs


@given(conditions, numbers, numbers, numbers, st.sets(st.sampled_from(["a", "b", "c.d"])))
def test_without_a_needed_block_it_does_not_hold(text: str, a: int, b: int, d: int, present: set[str]) -> None:
    values = {name.replace(".", "__"): value for name, value in {"a": a, "b": b, "c.d": d}.items() if name in present}
    if any(need.path in ("c", "c.d") for need in compile_condition(text).needs) and "c.d" not in present:
        assert not holds(text, **values)
