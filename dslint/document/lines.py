"""Files of lines: variables of a launch (dotenv), and the hosts of DeepSpeed's launcher."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from dslint.document.codes import CODES
from dslint.document.tree import Document, Entry, Mapping, Path, Problem, Scalar, Span, to_python

ASSIGNMENT = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
LIKE_ENV = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=")
# as DeepSpeed's launcher reads a line: what follows the number is not looked at (deepspeed/launcher/runner.py: _parse_hostfile)
HOST = re.compile(r"(\S+)\s+slots=(\d+)")
QUOTED = {"'": re.compile(r"'([^']*)'\s*(?:#.*)?"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')}
# export A=1 B=2, without quotes
SEVERAL = re.compile(r"export(\s+[A-Za-z_]\w*=[^\s'\"#]*){2,}")
ONE = re.compile(r"\S+")
COMMENT = re.compile(r"(?:^|\s)#.*$")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
ENV = "env"
LOOKED_AT = 20
MAXIMUM_PROBLEMS = 50


def load_env(document: Document) -> None:
    """``NAME=value`` lines as ``env: {NAME: value}``; comments, quotes and a leading ``export`` are understood. Of two of one name the last counts."""
    entries: dict[str, Entry] = {}
    for start, line in _assignments(document.text):
        if _full(document):
            break
        match = ASSIGNMENT.match(line)
        if match is None:
            _problem(document, "PA015", Span(start, start + len(line)), f"{line[:60]!r} is no assignment; write NAME=value")
            continue
        name, key = match.group(1), Span(start + match.start(1), start + match.end(1))
        written = line[match.end() :]
        value, length = _value(written)
        if value is None:
            span = Span(start + match.end(), start + len(line))
            _problem(document, "PA015", span, f"the quote {written[0]} is not closed at the end of the value", (ENV, name))
            continue
        before = entries.pop(name, None)
        if before is not None and to_python(before.value) != value:
            _twice(document, key, before.key, f"{name} is set twice, to different values", (ENV, name))
        entries[name] = Entry(name, key, Scalar(Span(start + match.end(), start + match.end() + length), value))
    whole, top = Span(0, len(document.text)), Span(0, min(1, len(document.text)))
    document.root = Mapping(whole, [Entry(ENV, top, Mapping(whole, list(entries.values())))])


def load_hostfile(document: Document) -> None:
    """``host slots=N`` lines as ``{host: N}``. What DeepSpeed's launcher refuses is a problem of the document."""
    entries: list[Entry] = []
    seen: dict[str, Span] = {}
    bad = False
    for start, line in _lines(document.text):
        if _full(document):
            break
        match = HOST.match(line)
        if match is None:
            bad = True
            _problem(document, "PA016", Span(start, start + len(line)), f"{line[:60]!r} is no host: write NAME slots=GPUS")
            continue
        host, key = match.group(1), Span(start, start + match.end(1))
        if host in seen:
            _problem(document, "PA017", key, f"{host} is listed twice: give all of its slots in one line", (host,), seen[host])
        seen.setdefault(host, key)
        entries.append(Entry(host, key, Scalar(Span(start + match.start(2), start + match.end(2)), int(match.group(2)[:9]))))
    if not entries and not bad:
        _problem(document, "PA008", Span(0, 0), "the hostfile names no host")
    document.root = Mapping(Span(0, len(document.text)), entries)


def like_lines(text: str) -> Literal["env", "hostfile"] | None:
    """``env`` where the first line that is no comment is written like one, ``hostfile`` where one of the first is and none is YAML."""
    lines = [line for _, line in islice(_lines(text), LOOKED_AT)]
    if lines and LIKE_ENV.match(lines[0]):
        return "env"
    hosts = any(HOST.match(line) for line in lines) and not any(": " in line or line.endswith(":") for line in lines)
    return "hostfile" if hosts else None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Where each line with content starts, and the line without the white space around it."""
    position = 0
    for line in text.split("\n"):
        plain = line.strip()
        if plain and not plain.startswith("#"):
            yield position + line.index(plain), plain
        position += len(line) + 1


def _assignments(text: str) -> Iterator[tuple[int, str]]:
    """The lines, and each part of a line that exports several variables."""
    for start, line in _lines(text):
        if line.startswith("export") and SEVERAL.fullmatch(line):
            yield from ((start + part.start(), part.group()) for part in ONE.finditer(line) if "=" in part.group())
        else:
            yield start, line


def _value(written: str) -> tuple[str | None, int]:
    """The value and the length of its text, quotes included; None where a quote is not closed."""
    pattern = QUOTED.get(written[:1])
    if pattern is None:
        plain = COMMENT.sub("", written).rstrip()
        return plain, len(plain)
    match = pattern.fullmatch(written)
    if match is None:
        return None, len(written)
    inner = match.group(1)
    if written[0] == '"':
        inner = re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape.group(1), escape.group(1)), inner)
    return inner, match.end(1) + 1


def _full(document: Document) -> bool:
    """Is enough said? A file with this many bad lines is no such file."""
    return len(document.problems) >= MAXIMUM_PROBLEMS


def _problem(document: Document, code: str, span: Span, message: str, path: Path = (), first: Span | None = None) -> None:
    """A line that a shell may still take as a command is a warning; what DeepSpeed's launcher refuses is an error."""
    related = ((first, "first here"),) if first is not None else ()
    severity: Literal["warning", "error"] = "warning" if document.syntax == "env" else "error"
    document.problems.append(Problem(code, CODES[code][0], span, message, severity, path, related))


def _twice(document: Document, span: Span, first: Span, message: str, path: Path) -> None:
    document.duplicates.append(Problem("PA005", CODES["PA005"][0], span, message, "warning", path, ((first, "first here"),)))
