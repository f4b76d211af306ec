"""The tree that every loader produces: values with the span of text they were written in.

Spans are half-open ranges of code points in ``Document.text`` (the decoded text without its byte order mark). Lines and
columns count from 1; byte offsets count in the file as it lies on disk, byte order mark included.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
Syntax: TypeAlias = Literal["json", "yaml", "env", "hostfile"]


class Span(NamedTuple):
    start: int
    end: int


@dataclass(slots=True)
class Scalar:
    """A string, number, boolean or null, as the consuming framework's own loader resolves it."""

    span: Span
    value: str | int | float | bool | None


@dataclass(slots=True)
class Sequence:
    span: Span
    items: list[Node]


@dataclass(slots=True)
class Entry:
    """One ``key: value`` of a mapping. ``shared``: it is reached through an alias or a merge key, so it is never edited."""

    name: str
    key: Span
    value: Node
    shared: bool = False


@dataclass(slots=True)
class Mapping:
    """Entries in the order of the text; of entries with one name the last one counts, as ``get`` says."""

    span: Span
    entries: list[Entry]
    _by_name: dict[str, Entry] | None = None

    def get(self, name: str) -> Entry | None:
        if self._by_name is None:
            self._by_name = {entry.name: entry for entry in self.entries}
        return self._by_name.get(name)


Node: TypeAlias = Scalar | Sequence | Mapping


class Problem(NamedTuple):
    """What a loader has to say of a text: ``code`` and ``name`` are those of a PA diagnostic."""

    code: str
    name: str
    span: Span
    message: str
    severity: Literal["error", "warning", "info"] = "error"
    path: Path = ()
    related: tuple[tuple[Span, str], ...] = ()


@dataclass
class Document:
    """One file, read and parsed.

    ``root`` is None when nothing could be read of it; then ``problems`` says why. ``lenient`` holds the places that Hjson
    takes and strict JSON does not (comments, trailing commas, quoteless strings), ``duplicates`` the keys written twice;
    the rules decide, by context, what either means. ``dialect``: whose reading of plain YAML scalars the values are.
    ``kept``: is the tree still there (see ``let_go``)?
    """

    file: str
    data: bytes
    text: str
    syntax: Syntax
    root: Node | None
    problems: list[Problem] = field(default_factory=list)
    lenient: list[Problem] = field(default_factory=list)
    duplicates: list[Problem] = field(default_factory=list)
    dialect: Literal["pyyaml", "omegaconf"] = "pyyaml"
    kept: bool = True

    def let_go(self) -> None:
        """Keep the text alone: for whoever has very many documents. ``whole`` brings the rest back."""
        self.data = self.data[:3]  # the byte order mark, where there is one
        self.root = None
        self.problems, self.lenient, self.duplicates = [], [], []
        self.__dict__.pop("_line_starts", None)
        self.kept = False

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column (both from 1, the column in code points) of a code point offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """The code point offset of the first character of a line (from 1, at most the last)."""
        return self._line_starts[line - 1]

    def line_text(self, line: int) -> str:
        """The text of a line (from 1) without its line break; empty past the end."""
        starts = self._line_starts
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def byte_offset(self, offset: int) -> int:
        """The offset in bytes in the file of a code point offset, byte order mark included."""
        mark = 3 if self.data.startswith(b"\xef\xbb\xbf") else 0
        return mark + len(self.text[:offset].encode("utf-8"))

    def node(self, path: Path) -> Node | None:
        """The node at a path, or None."""
        here = self.root
        for step in path:
            if isinstance(here, Mapping) and isinstance(step, str):
                entry = here.get(step)
                here = entry.value if entry else None
            elif isinstance(here, Sequence) and isinstance(step, int) and 0 <= step < len(here.items):
                here = here.items[step]
            else:
                return None
        return here

    def key_span(self, path: Path) -> Span:
        """Where a diagnostic about ``path`` points: its key (or list item), else the nearest existing ancestor's key, else the first character."""
        for length in range(len(path), 0, -1):
            parent, last = self.node(path[: length - 1]), path[length - 1]
            if isinstance(parent, Mapping) and isinstance(last, str) and (entry := parent.get(last)):
                return entry.key
            if isinstance(parent, Sequence) and isinstance(last, int) and 0 <= last < len(parent.items):
                return parent.items[last].span
        return Span(0, min(1, len(self.text)))


def to_python(node: Node) -> Any:
    """The plain Python value of a node, as the framework's loader would return it."""
    if isinstance(node, Mapping):
        return {entry.name: to_python(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [to_python(item) for item in node.items]
    return node.value


def format_path(path: Path) -> str:
    """The dotted form of a path: ``datasets[0].type``, a key with a dot or a bracket as ``["a.b"]``."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step == "" or any(mark in step for mark in '.[]"'):
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)
