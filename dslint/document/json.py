"""JSON as DeepSpeed reads it: the Hjson superset, with spans, and with every place that strict JSON would refuse noted.

The grammar follows the behaviour of the ``hjson`` Python package: comments, optional commas, a root without braces, quoteless keys,
quoteless strings that run to the end of the line, single-quoted and ''' strings. A number with a fraction or exponent that is
whole and below 1e10 becomes an int, as it does there.
"""

from __future__ import annotations

import re
from typing import NoReturn

from dslint.document.codes import CODES, MAXIMUM_DEPTH
from dslint.document.tree import Document, Entry, Mapping, Node, Path, Problem, Scalar, Sequence, Span

WHITE = re.compile(r"[ \t\n\r]*")
LINE_REST = re.compile(r"[^\n\r]*")
PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
PLAIN_MEMBER = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t]*:[ \t]*(?=[^ \t\r\n#/])')
PLAIN_COMMA = re.compile(r'[ \t]*,[ \t\r\n]*(?=")')
CHUNK = {quote: re.compile(rf"[^{quote}\\\x00-\x1f]*") for quote in "\"'"}
ENDED = r"[ \t]*(?=[,\]}#\n\r]|//|/\*|\Z)"
LITERAL = re.compile(r"(true|false|null)" + ENDED)
NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))((?:\.\d+)?(?:[eE][-+]?\d+)?)" + ENDED)
PYTHON_LITERAL = re.compile(r"(True|False|None)[ \t]*(?=[,\]}])")
QUOTELESS_KEY = re.compile(r"[^:{}\[\],\s]+")
LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
UNICODE_ESCAPE = re.compile(r"u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")
MAXIMUM_DIGITS = 4300


class _Stop(Exception):
    """The text cannot be read any further; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def load_json(document: Document) -> None:
    """Fill in root, problems, lenient and duplicates of a document from its text."""
    scanner = _Scanner(document)
    try:
        document.root = scanner.root()
    except _Stop as stop:
        document.problems.append(stop.problem)


class _Scanner:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.path: list[str | int] = []
        # the first value without quotes that took a closing mark with it
        self.swallowing: Span | None = None

    def root(self) -> Node:
        start = self.skip(0)
        opening = self.text[start : start + 1]
        if opening in ("{", "["):
            node, end = self.value(start)
        elif ":" not in self.text[start:]:
            self.stop(start, "a JSON object was expected here: it begins with {")
        else:
            self.note(start, "a root object without braces is not JSON")
            node, end = self.members(start, start, braces=False)
        end = self.skip(end)
        if end != len(self.text):
            self.stop(end, "the object ends before this; remove what follows it, or check the braces above")
        return node

    def value(self, start: int) -> tuple[Node, int]:
        text = self.text
        first = text[start : start + 1]
        if first == '"' and (match := PLAIN_STRING.match(text, start)):
            return Scalar(Span(start, match.end()), match.group(1)), match.end()
        if first == "{" or first == "[":
            if len(self.path) >= MAXIMUM_DEPTH:
                self.stop(start, f"nested more than {MAXIMUM_DEPTH} levels deep", "PA007")
            return self.members(start, start + 1, braces=True) if first == "{" else self.elements(start)
        if match := NUMBER.match(text, start):
            span = Span(start, match.end(2))
            return Scalar(span, self.number(span, match.group(1), match.group(2))), match.end()
        if match := LITERAL.match(text, start):
            return Scalar(Span(start, match.end(1)), LITERALS[match.group(1)]), match.end()
        if first and first in "\"'":
            return self.string(start)
        return self.quoteless(start)

    def members(self, opening: int, position: int, *, braces: bool) -> tuple[Mapping, int]:
        text, path = self.text, self.path
        entries: list[Entry] = []
        seen: dict[str, Span] = {}
        here = self.skip(position)
        while text[here : here + 1] != "}" or not braces:
            if here >= len(text) and (not braces) and entries:
                return Mapping(Span(opening, entries[-1].value.span.end), entries), here
            if here >= len(text):
                self.stop_open(opening, "{")
            if plain := PLAIN_MEMBER.match(text, here):
                name, key, here = plain.group(1), Span(here, plain.end(1) + 1), plain.end()
            else:
                name, key, here = self.member(here)
            if name in seen:
                self.duplicate(name, seen[name], key)
            seen[name] = key
            path.append(name)
            value, here = self.value(here)
            path.pop()
            entries.append(Entry(name, key, value))
            comma = PLAIN_COMMA.match(text, here)
            here = comma.end() if comma else self.separator(here, "}" if braces else "")
        return Mapping(Span(opening, here + 1), entries), here + 1

    def elements(self, opening: int) -> tuple[Sequence, int]:
        items: list[Node] = []
        here = self.skip(opening + 1)
        while self.text[here : here + 1] != "]":
            if here >= len(self.text):
                self.stop_open(opening, "[")
            self.path.append(len(items))
            value, here = self.value(here)
            self.path.pop()
            items.append(value)
            here = self.separator(here, "]")
        return Sequence(Span(opening, here + 1), items), here + 1

    def member(self, start: int) -> tuple[str, Span, int]:
        """A key however it is written, and the start of its value."""
        name, key = self.key(start)
        here = self.skip(key.end)
        if self.text[here : here + 1] != ":":
            self.stop(here, f"a colon was expected after the key {name!r}" if here < len(self.text) else "the text ends after a key")
        return name, key, self.skip(here + 1)

    def separator(self, end: int, closing: str) -> int:
        """The start of the next member, or of the closing mark, after a value that ended at ``end``."""
        here = self.skip(end)
        mark = self.text[here : here + 1]
        if mark == ",":
            after = self.skip(here + 1)
            if self.text[after : after + 1] in (closing, ""):
                self.note(here, "a comma after the last value is not JSON", 1)
            return after
        if mark and mark != closing:
            self.note(here, "a comma is missing before this")
        return here

    def key(self, start: int) -> tuple[str, Span]:
        first = self.text[start : start + 1]
        if first in "\"'":
            match = PLAIN_STRING.match(self.text, start)
            if match:
                return match.group(1), Span(start, match.end())
            node, end = self.string(start)
            return str(node.value), Span(start, end)
        found = QUOTELESS_KEY.match(self.text, start)
        if found is None:
            self.stop(start, f"a key was expected here, not {first!r}")
        after = WHITE.match(self.text, found.end())
        assert after is not None
        if self.text[after.end() : after.end() + 1] != ":":
            self.stop(start, f"a key in quotes was expected here, not {found.group()[:40]!r}")
        self.note(start, f'a key without quotes is not JSON: write "{found.group()}"', len(found.group()))
        return found.group(), Span(start, found.end())

    def string(self, start: int) -> tuple[Scalar, int]:
        text, quote = self.text, self.text[start]
        if text.startswith("'''", start):
            return self.multiline(start)
        if quote == "'":
            self.note(start, "a string in single quotes is not JSON: write double quotes", 1)
        parts: list[str] = []
        here = start + 1
        while True:
            match = CHUNK[quote].match(text, here)
            assert match is not None
            parts.append(match.group())
            here = match.end()
            mark = text[here : here + 1]
            if mark == quote:
                return Scalar(Span(start, here + 1), "".join(parts)), here + 1
            if mark != "\\":
                self.stop(start, "this string is never closed on its line", length=1)
            here = self.escape(here + 1, parts)

    def escape(self, here: int, parts: list[str]) -> int:
        """Read what follows a backslash; the position after it."""
        letter = self.text[here : here + 1]
        if letter in ESCAPES and letter:
            if letter == "'":
                self.note(here - 1, "\\' is not JSON: a single quote needs no backslash", 2)
            parts.append(ESCAPES[letter])
            return here + 1
        match = UNICODE_ESCAPE.match(self.text, here)
        if match is None:
            self.stop(here - 1, f"\\{letter} is no escape; write \\\\ for a backslash", length=2)
        high, low = int(match.group(1), 16), match.group(2)
        if low is not None and 0xD800 <= high < 0xDC00:
            parts.append(chr(0x10000 + ((high - 0xD800) << 10) + (int(low, 16) - 0xDC00)))
            return match.end()
        parts.append(chr(high))
        return here + 5

    def multiline(self, start: int) -> tuple[Scalar, int]:
        self.note(start, "a ''' string is not JSON", 3)
        end = self.text.find("'''", start + 3)
        if end < 0:
            self.stop(start, "this ''' string is never closed", length=3)
        indent = start - (self.text.rfind("\n", 0, start) + 1)
        lines = self.text[start + 3 : end].replace("\r", "").lstrip(" \t").split("\n")
        if not lines[0] and len(lines) > 1:
            lines = lines[1:]
        else:
            lines[1:] = lines[1:]
        stripped = [line[len(line[:indent]) - len(line[:indent].lstrip(" \t")) :] for line in lines]
        value = "\n".join(stripped)
        return Scalar(Span(start, end + 3), value.removesuffix("\n")), end + 3

    def quoteless(self, start: int) -> tuple[Node, int]:
        text = self.text
        if start >= len(text):
            self.stop(start, "the text ends where a value was expected")
        if text[start] in "{}[],:":
            self.stop(start, f"a value was expected here, not {text[start]!r}")
        if match := PYTHON_LITERAL.match(text, start):
            word = match.group(1)
            span = Span(start, match.end(1))
            message = f"{word} is not JSON: write {'null' if word == 'None' else word.lower()}"
            self.document.problems.append(self.problem("PA003", span, message))
            return Scalar(span, LITERALS[word]), match.end()
        rest = LINE_REST.match(text, start)
        assert rest is not None
        value = rest.group().rstrip()
        self.note(start, f"a string without quotes is not JSON: {value[:40]}", len(value))
        if self.swallowing is None and re.search(r"[}\]]", value):
            self.swallowing = Span(start, start + len(value))
        return Scalar(Span(start, start + len(value)), value), rest.end()

    def number(self, span: Span, whole: str, rest: str) -> int | float:
        if len(whole) > MAXIMUM_DIGITS:
            self.stop(span.start, f"a number of {len(whole)} digits is more than any reader takes", "PA010")
        if not rest:
            return int(whole)
        value = float(whole + rest)
        if abs(value) == float("inf"):
            self.stop(span.start, "this number is larger than any float", "PA010")
        return int(value) if value.is_integer() and abs(value) < 1e10 else value

    def skip(self, position: int) -> int:
        """The next character that is neither white space nor comment."""
        text = self.text
        while True:
            match = WHITE.match(text, position)
            assert match is not None
            position = match.end()
            if text[position : position + 1] not in "#/":
                return position
            mark = text[position : position + 2]
            if mark[:1] == "#" or mark == "//":
                rest = LINE_REST.match(text, position)
                assert rest is not None
                end = rest.end()
            elif mark == "/*":
                end = text.find("*/", position + 2) + 2
                if end == 1:
                    self.stop(position, "this comment is never closed", length=2)
            else:
                return position
            self.note(position, "a comment is not JSON", end - position)
            position = end

    def duplicate(self, name: str, first: Span, second: Span) -> None:
        lines = [self.document.line_column(span.start)[0] for span in (first, second)]
        problem = Problem(
            "PA005",
            CODES["PA005"][0],
            second,
            f"{name} is written twice in this block (lines {lines[0]} and {lines[1]})",
            path=(*self.path, name),
            related=((first, f"{name} is first written here"),),
        )
        self.document.duplicates.append(problem)

    def note(self, start: int, message: str, length: int = 1) -> None:
        self.document.lenient.append(self.problem("PA004", Span(start, start + length), message))

    def problem(self, code: str, span: Span, message: str) -> Problem:
        path: Path = tuple(self.path)
        return Problem(code, CODES[code][0], span, message, path=path)

    def stop_open(self, opening: int, mark: str) -> NoReturn:
        if (rest := self.swallowing) is not None:
            message = f"a value without quotes reaches to the end of its line, so the {mark} around it is never closed"
            self.stop(rest.start, message, length=rest.end - rest.start)
        self.stop(opening, f"this {mark} is never closed")

    def stop(self, start: int, message: str, code: str = "PA002", length: int = 1) -> NoReturn:
        start = min(start, max(0, len(self.text) - 1))
        raise _Stop(self.problem(code, Span(start, min(start + length, len(self.text))), message))
