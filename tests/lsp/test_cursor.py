"""What is being typed, in texts that no parser would take."""

from __future__ import annotations

import pytest

from dslint.lsp.cursor import cursor_in

# "|" is the cursor; the path of the mapping, the key whose value is typed, and the word there
JSON = [
    ("{|", (), None, ""),
    ('{"zer|', (), None, '"zer'),
    ('{"a": 1, "zer|"', (), None, '"zer"'),
    ('{"zero_optimization": {"stage": 3, "off|', ("zero_optimization",), None, '"off'),
    ('{"zero_optimization": {"stage": |}', ("zero_optimization",), "stage", ""),
    ('{"optimizer": {"type": "Ad|"}, "x": 1}', ("optimizer",), "type", '"Ad"'),
    ('{"list": [{"a": 1}, {"b|', ("list", 1), None, '"b'),
    ('{"a": {"b": "}{", "c|', ("a",), None, '"c'),
    ('{"fp16": {"enabled": tr|', ("fp16",), "enabled", "tr"),
    ('{ // "a": {\n "b|', (), None, '"b'),
]
YAML = [
    ("|", (), None, ""),
    ("base_model: x\nlearn|", (), None, "learn"),
    ("optimizer: ada|", (), "optimizer", "ada"),
    ("datasets:\n  - path: x\n    ty|", ("datasets", 0), None, "ty"),
    ("datasets:\n  - path: x\n  - pa|", ("datasets", 1), None, "pa"),
    ("datasets:\n- path: x\n- path: y\n  ty|", ("datasets", 1), None, "ty"),
    ("fsdp_config:\n  a: 1\n  # note\n\n  b|", ("fsdp_config",), None, "b"),
    ("a:\n  b:\n    c: 1\n  d|", ("a",), None, "d"),
    ("a:\n  - x: 1\n    y:\n      z|", ("a", 0, "y"), None, "z"),
    ("a:\n  b: 1\nc: tr|ue\n", (), "c", "true"),
]


@pytest.mark.parametrize(("text", "path", "key", "word"), JSON)
def test_json(text: str, path: tuple[str | int, ...], key: str | None, word: str) -> None:
    _is(text, "json", path, key, word)


@pytest.mark.parametrize(("text", "path", "key", "word"), YAML)
def test_yaml(text: str, path: tuple[str | int, ...], key: str | None, word: str) -> None:
    _is(text, "yaml", path, key, word)


@pytest.mark.parametrize("text", ['[1, "a|', "{ // a comment |", "plain|"])
def test_nothing_is_typed_there(text: str) -> None:
    assert cursor_in(text.replace("|", ""), text.index("|"), "json") is None


def _is(text: str, syntax: str, path: tuple[str | int, ...], key: str | None, word: str) -> None:
    whole = text.replace("|", "")
    cursor = cursor_in(whole, text.index("|"), syntax)
    assert cursor is not None
    assert (cursor.path, cursor.key, whole[slice(*cursor.word)]) == (path, key, word)
