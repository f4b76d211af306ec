"""The JSON reader against the two readers that it stands for: the hjson package (DeepSpeed) and json.loads (Transformers, Accelerate)."""

from __future__ import annotations

import json
from typing import Any

import hjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.document import Document, Span, load, to_python


def read(text: str) -> Document:
    return load("a.json", text.encode("utf-8", "surrogatepass"))


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, as 1, 1.0 and True are not."""
    return json.dumps(one) == json.dumps(other)


HJSON = [
    '{"a": 1, "b": [1, 2.5, -3e2, true, null], "c": {"d": "x"}}',
    "{a: 1\nb: 2}",
    '{"a": hello world, no comma ends this\n"b": 1}',
    '{"a": 1, // note\n /* more\n */ "b": 2, # last\n}',
    "a: 1\nb: text\n",
    "{a: 'single \"double\"', b: \"double 'single'\"}",
    "{\n  a: '''\n    one\n    two\n    '''\n}",
    '{"a": [1, 2,], "b": {},}',
    '{"a": 5e8, "b": 5e10, "c": 1.0, "d": 0.5}',
    '{"a": "\\u00e9\\ud83d\\ude00\\n\\"\\/"}',
    '{"a": True\n}',
    '{"a": .5\n}',
    '{"a": 1 2\n}',
    '{"a": truely\n}',
    '{"a": 01\n}',
    '{"a" : 1 , "b" : "x" "c" : 2}',
    '{"a": 1}  # the end\n',
    '{"a": NaN\n}',
    "{}",
    "[1, 2]",
]


@pytest.mark.parametrize("text", HJSON)
def test_it_reads_what_hjson_reads(text: str) -> None:
    document = read(text)
    assert document.root is not None
    assert same(to_python(document.root), hjson.loads(text))


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('{"a": 1', 1, "never closed"),
        ('{\n "a": {\n "b": 1\n', 2, "never closed"),
        ('{"a": 1,\n "b": NaN}', 2, "reaches to the end of its line"),
        ('{"a" 1}', 1, "colon"),
        ('{"a": }', 1, "value was expected"),
        ('{"a": 1}}', 1, "ends before this"),
        ('{"a": 1}\n```', 2, "ends before this"),
        ('{"a": "x\n}', 1, "never closed"),
        ('{"a": "\\q"}', 1, "no escape"),
        ("{: 1}", 1, "key was expected"),
        ("{a b: 1}", 1, "key in quotes"),
        ('"a": 1,\n}', 2, "key was expected"),
        ('{"a": /* 1}', 1, "comment is never closed"),
        ("hello", 1, "JSON object was expected"),
        ('{"a": ' + "1" * 5000 + "}", 1, "digits"),
        ('{"a": 1e999}', 1, "larger than any float"),
    ],
)
def test_what_hjson_refuses_is_one_problem_with_its_line(text: str, line: int, part: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - hjson raises whatever comes, IndexError too
        hjson.loads(text) if text != "hello" else hjson.loads("{")
    document = read(text)
    assert document.root is None
    assert [problem.severity for problem in document.problems] == ["error"]
    assert part in document.problems[0].message
    assert document.line_column(document.problems[0].span.start)[0] == line


def test_python_literals_are_each_said_and_the_rest_is_still_read() -> None:
    document = read('{\n"a": {"b": True},\n"c": {"d": 2, "e": None}\n}')
    assert [(p.code, document.line_column(p.span.start)[0], p.path) for p in document.problems] == [
        ("PA003", 2, ("a", "b")),
        ("PA003", 3, ("c", "e")),
    ]
    assert to_python(document.root) == {"a": {"b": True}, "c": {"d": 2, "e": None}}  # type: ignore[arg-type]


def test_duplicates_name_both_lines_and_the_last_counts() -> None:
    document = read('{\n"a": 1,\n"b": {"a": 2},\n"a": 3\n}')
    assert [problem.message for problem in document.duplicates] == ["a is written twice in this block (lines 2 and 4)"]
    assert document.node(("a",)).value == 3  # type: ignore[union-attr]


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), values), st.sampled_from([None, 1, 4]), st.booleans())
def test_strict_json_is_read_as_json_reads_it(tree: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate is no text
        return
    document = load("a.json", data)
    if not text.isprintable() and "\\u0000" not in text and "\0" in text:
        return
    assert document.root is not None
    assert not document.lenient
    assert to_python(document.root) == tree


pieces = st.sampled_from([*"{}[]:,#'\"\n ", '"a"', "b", "1", "true", "null", "-2.5e3", "//x\n", "/*x*/", "'''", "\\", "text", "True", "\t"])


@given(st.lists(pieces, max_size=14).map("".join))
def test_any_text_is_accepted_or_refused_as_by_hjson(text: str) -> None:
    document = read("{" + text)
    try:
        expected = hjson.loads("{" + text)
    except Exception:
        assert document.problems
        return
    if any(problem.code == "PA003" for problem in document.problems):
        return
    assert not document.problems
    assert same(to_python(document.root), expected)  # type: ignore[arg-type]


@given(st.lists(pieces, max_size=14).map("".join))
def test_strict_readers_refuse_exactly_what_is_noted_as_lenient(text: str) -> None:
    document = read("{" + text)
    try:
        json.loads("{" + text)
        strict = True
    except ValueError:
        strict = False
    if document.root is not None and not document.problems:
        assert strict is not bool(document.lenient)
    else:
        assert not strict


def test_spans_are_those_of_the_text() -> None:
    text = '{"é": {"b": "x"}, "c": [1, 22]}'
    document = read(text)
    assert text[slice(*document.key_span(("é",)))] == '"é"'
    assert text[slice(*document.node(("é", "b")).span)] == '"x"'  # type: ignore[union-attr]
    assert text[slice(*document.node(("c", 1)).span)] == "22"  # type: ignore[union-attr]
    assert document.key_span(("c", "d")) == document.key_span(("c",))
    assert document.key_span(("missing",)) == Span(0, 1)
    assert document.byte_offset(3) == 4
    assert document.line_column(text.index("22")) == (1, text.index("22") + 1)
