"""Plain scalars as OmegaConf reads them; the values were taken from OmegaConf 2.3 and 2.4 themselves."""

from __future__ import annotations

import pytest

from dslint.document import load, to_python
from dslint.document.dialect import reread
from dslint.document.edits import Change, splice
from dslint.document.tree import Document

CASES = {
    "1e-5": 1e-5,
    "1.e5": 1e5,
    "1E3": 1000.0,
    "+1e5": 1e5,
    "-1e5": -1e5,
    "1.5e3": 1500.0,
    "0.1e1": 1.0,
    "1_000e2": 100000.0,
    ".1e-5": 1e-6,
    "1e5_0": "1e5_0",
    "1e-5.0": "1e-5.0",
    ".1e5": ".1e5",
    "0o17": "0o17",
    '"1e-5"': "1e-5",
    "1e-5 # a comment": 1e-5,
    "yes": True,
    "12:30": 750,
    "2024-01-01": "2024-01-01",
    "NaN": "NaN",
    ".inf": float("inf"),
    "n": "n",
}


def read(text: str) -> Document:
    document = load("a.yaml", text.encode())
    reread(document)
    return document


@pytest.mark.parametrize(("text", "value"), CASES.items())
def test_plain_scalars(text: str, value: object) -> None:
    found = to_python(read(f"a: {text}\n").root)["a"]
    assert found == value
    assert type(found) is type(value)


def test_everywhere_in_the_tree() -> None:
    document = read("a: [1e-5, {b: 2e3}]\nc:\n  d: 1e1\n")
    assert to_python(document.root) == {"a": [1e-5, {"b": 2000.0}], "c": {"d": 10.0}}


def test_twice_is_once() -> None:
    document = read("a: 1e-5\n")
    reread(document)
    assert to_python(document.root) == {"a": 1e-5}


def test_edits_of_a_file_that_was_read_so() -> None:
    document = read("a: 1e-5\nb: 1\n")
    assert splice(document, [Change("set", ("b",), 2)]) == "a: 1e-5\nb: 2\n"


def test_json_has_no_plain_scalars() -> None:
    document = load("a.json", b'{"a": "1e-5"}')
    reread(document)
    assert to_python(document.root) == {"a": "1e-5"}
