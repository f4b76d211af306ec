"""Bad input is normal input: one problem each, never a traceback."""

from __future__ import annotations

import codecs

import pytest

from dslint.document import load


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "PA008"),
        (b" \n\t\n", "PA008"),
        (b"\xef\xbb\xbf", "PA008"),
        (b'{"a": "\xff"}', "PA001"),
        (codecs.BOM_UTF16_LE + '{"a": 1}'.encode("utf-16-le"), "PA001"),
        (b'{"a": 1\x00}', "PA009"),
        (b"{" + b" " * 1_000_001 + b"}", "PA006"),
        (b'{"a": ' * 10_000, "PA007"),
        (b"[" * 10_000, "PA007"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "PA010"),
    ],
    ids=["empty", "blank", "only a mark", "latin-1", "utf-16", "nul", "too large", "deep objects", "deep lists", "many digits"],
)
def test_each_is_one_problem(data: bytes, code: str) -> None:
    document = load("a.json", data)
    assert [problem.code for problem in document.problems] == [code]
    assert document.root is None
    assert document.line_column(document.problems[0].span.start) == (1, 1) or code == "PA007" or code == "PA010"


def test_a_byte_order_mark_counts_in_byte_offsets_only() -> None:
    document = load("a.json", b'\xef\xbb\xbf{"a": 1}')
    assert document.root is not None
    assert document.line_column(1) == (1, 2)
    assert document.byte_offset(1) == 4


def test_tabs_and_not_a_number_are_read() -> None:
    assert load("a.json", b'{\t"a":\t1}').root is not None
    assert load("a.json", b'{"a": NaN, "b": -Infinity\n}').root is not None


@pytest.mark.parametrize(
    ("file", "text", "syntax"), [("a.json", "a: 1", "json"), ("a.yml", "{}", "yaml"), ("-", '{"a": 1}', "json"), ("-", "a: 1", "yaml")]
)
def test_the_syntax_follows_the_name_then_the_content(file: str, text: str, syntax: str) -> None:
    assert load(file, text.encode()).syntax == syntax
