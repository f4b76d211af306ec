"""YAML: values as PyYAML's safe loader gives them, spans, and nothing constructed."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dslint.document import load, to_python

TEXTS = [
    "a: 1\nb: [x, 2.5, no, ~]\nc:\n  d: 1e-5\n  e: 1.0e-5\n",
    "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nlist:\n  - *b\n",
    "a: 'it''s'\nb: |\n  two\n  lines\nc: >-\n  folded\n  text\n",
    "2: one\ntrue: yes\n",
    "d: 0x1F\ne: 1_000\nf: 0o17\ng: .inf\nh: 12:30\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_of_the_safe_loader(text: str) -> None:
    expected = {str(key).lower() if isinstance(key, bool) else str(key): value for key, value in yaml.safe_load(text).items()}
    assert to_python(load("a.yaml", text.encode()).root) == expected  # type: ignore[arg-type]


def test_what_comes_through_an_alias_or_merge_is_shared() -> None:
    document = load("a.yaml", TEXTS[1].encode())
    use = document.node(("use",))
    assert {entry.name: entry.shared for entry in use.entries} == {"x": True, "y": False}  # type: ignore[union-attr]
    assert document.node(("list", 0)).entries[0].shared  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: !!python/object/apply:os.system [echo]", "PA012"),
        ("a: !custom 1", "PA012"),
        ("a: {b: 1", "PA002"),
        ("a: 1\n  b: 2", "PA002"),
        ("\ta: 1", "PA002"),
        ("a: &x [*x]", "PA007"),
        ("[a]: 1", "PA002"),
        ("a: *nobody", "PA002"),
        ("<<: 1", "PA002"),
        ("a: 2024-99-99T\nb: !!int x", "PA002"),
    ],
)
def test_what_cannot_be_read_is_one_problem(text: str, code: str) -> None:
    document = load("a.yaml", text.encode())
    assert [problem.code for problem in document.problems] == [code]
    assert document.root is None


def test_aliases_that_explode_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert [problem.code for problem in load("a.yaml", "\n".join(lines).encode()).problems] == ["PA011"]


def test_the_span_of_a_block_ends_with_its_content() -> None:
    text = "a:\n  b: 1\n# of c\nc: 2\n"
    document = load("a.yaml", text.encode())
    assert text[slice(*document.node(("a",)).span)] == "b: 1"  # type: ignore[union-attr]


def test_duplicates_and_more_documents_are_noted() -> None:
    document = load("a.yaml", b"a: 1\na: 2\n---\nb: 1\n")
    assert [problem.path for problem in document.duplicates] == [("a",)]
    assert [problem.code for problem in document.problems] == ["PA013"]


@given(st.text(max_size=60))
def test_any_text_gives_a_tree_or_a_problem(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    document = load("a.yaml", data)
    assert document.root is not None or document.problems or not yaml.safe_load(text)
