"""What is being typed, read from the text before it: most texts are broken while someone types, so no parser is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dslint.document import Path, Span

JSON_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+',
    re.DOTALL,
)
YAML_KEY = re.compile(r"(?P<before>\s*(?:- +)*)(?P<word>[\w.\-]*)")
YAML_VALUE = re.compile(r"(?P<before>\s*(?:- +)*)[\"']?(?P<key>[\w.\-]+)[\"']?:\s+(?P<word>[\"']?[\w.\-]*)")
YAML_LINE = re.compile(r"(?P<before>\s*(?:- +)*)(?:[\"']?(?P<key>[\w.\-]+)[\"']?:(?=\s|$))?")


class Cursor(NamedTuple):
    """``path``: the mapping in which the cursor stands; ``key``: the key whose value is being typed, None where a key is; ``word``: what there is of it."""

    path: Path
    key: str | None
    word: Span


def cursor_in(text: str, offset: int, syntax: str) -> Cursor | None:
    """What is being typed at a code point offset of a JSON or YAML text; None where that is neither a key nor its value."""
    if syntax == "json" or text.lstrip().startswith("{"):
        return _in_json(text, offset)
    return _in_yaml(text, offset) if syntax == "yaml" else None


class _Open:
    """A bracket that is not closed yet: its kind, the step that is being written, and whether its value has begun."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.key: str | None = None
        self.item = 0
        self.at_value = kind == "["

    def step(self) -> str | int:
        return self.item if self.kind == "[" else self.key or ""


def _in_json(text: str, offset: int) -> Cursor | None:
    opened: list[_Open] = []
    word = Span(offset, offset)
    for match in JSON_TOKEN.finditer(text):
        token, (start, end) = match.group(), match.span()
        if start >= offset:
            break
        if token.startswith(("//", "#", "/*")):
            if offset <= end:
                return None
        elif token in ("{", "["):
            opened.append(_Open(token))
        elif token in ("}", "]"):
            if opened:
                opened.pop()
        elif token == "," and opened:
            opened[-1].item += 1
            opened[-1].at_value = opened[-1].kind == "["
        elif token == ":" and opened:
            opened[-1].at_value = True
        elif end > offset or (end == offset and not (token.startswith('"') and token.endswith('"') and len(token) > 1)):
            word = Span(start, end)
        elif opened and not opened[-1].at_value:
            opened[-1].key = token.strip('"')
    if not opened or opened[-1].kind == "[":
        return None
    here = opened[-1]
    return Cursor(tuple(above.step() for above in opened[:-1]), here.key if here.at_value else None, word)


def _in_yaml(text: str, offset: int) -> Cursor | None:
    above, _, line = text[:offset].rpartition("\n")
    rest = re.match(r"[\w.\-]*[\"']?", text[offset:])
    end = offset + (rest.end() if rest else 0)
    if match := YAML_VALUE.fullmatch(line):
        return Cursor(_yaml_path(above, match["before"]), match["key"], Span(offset - len(match["word"]), end))
    if match := YAML_KEY.fullmatch(line):
        return Cursor(_yaml_path(above, match["before"]), None, Span(offset - len(match["word"]), end))
    return None


def _yaml_path(above: str, before: str) -> Path:
    """The path of the mapping whose keys stand in the column after ``before``."""
    path: list[str | int] = []
    column = len(before)
    index: int | None = None  # of the item of the list whose dashes stand in this column
    for place, key in [*_dashes(before), *_steps(above)]:
        if index is not None and key is None and place == column:
            index += 1
        elif place < column or (index is not None and place == column):
            if index is not None:
                path.append(index)
            index, column = (0 if key is None else None), place
            if key is not None:
                path.append(key)
    return tuple(reversed([*path, *([] if index is None else [index])]))


def _steps(text: str) -> Iterator[tuple[int, str | None]]:
    """The keys and the dashes (None) of a text with their columns, from its end to its start."""
    for line in reversed(text.split("\n")):
        match = YAML_LINE.match(line)
        if not line.strip() or line.lstrip().startswith("#") or match is None:
            continue
        if match["key"] is not None:
            yield len(match["before"]), match["key"]
        yield from _dashes(match["before"])


def _dashes(before: str) -> Iterator[tuple[int, str | None]]:
    return ((place, None) for place in range(len(before) - 1, -1, -1) if before[place] == "-")
