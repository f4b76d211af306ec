"""Repairs as text splices: what a change of the tree means for the text, touching no byte it need not.

Each change is spliced into the text, the text is parsed again and must equal the intended tree; else the repair is withheld.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
from collections.abc import Sequence as Many
from typing import Any, Literal, NamedTuple

from dslint.document.dialect import reread
from dslint.document.load import load
from dslint.document.tree import Document, Entry, Mapping, Node, Path, Scalar, to_python

# words that every YAML reader takes as they stand: no number, date or word with a meaning
PLAIN = re.compile(r"(?!(?:y|yes|n|no|true|false|on|off|null|inf|nan)\Z)(?!0[xob])[A-Za-z_/][A-Za-z0-9_./-]*", re.IGNORECASE)


class Change(NamedTuple):
    """One operation on the tree. ``set`` needs ``value``; ``rename`` (same block) and ``move`` need ``to``, an absolute path."""

    kind: Literal["set", "delete", "rename", "move"]
    path: Path
    value: object = None
    to: Path = ()


class Edit(NamedTuple):
    """Replace the code points ``[start, end)`` of the text."""

    start: int
    end: int
    text: str


class FileChanged(Exception):
    """The file on disk is no longer the one that was read."""


class _Withheld(Exception):
    """The change cannot be spliced into this text."""


def splice(document: Document, changes: Many[Change]) -> str | None:
    """The text after all changes; None where one cannot be made without doubt, or nothing would be left of what was meant."""
    current = document
    try:
        for change in changes:
            current = _one(current, change)
    except _Withheld:
        return None
    return current.text


def edits_for(document: Document, changes: Many[Change]) -> list[Edit] | None:
    """The changes as edits of the original text, in its order; None as for ``splice``."""
    text = splice(whole(document), changes)
    return None if text is None else difference(document.text, text)


def whole(document: Document) -> Document:
    """The document with its tree, parsed again where that was let go."""
    if document.kept:
        return document
    again = load(document.file, encode(document, document.text), document.syntax)
    if document.dialect == "omegaconf":
        reread(again)
    return again


def encode(document: Document, text: str) -> bytes:
    """The bytes of a new text of the document, with its byte order mark where it has one."""
    return (b"\xef\xbb\xbf" if document.data.startswith(b"\xef\xbb\xbf") else b"") + text.encode("utf-8")


def write(path: str | os.PathLike[str], expected: bytes, new: bytes) -> None:
    """Replace a file's bytes whole or not at all, keeping its mode; a symbolic link stays and its target is replaced.

    Raises FileChanged where the file no longer holds ``expected``, OSError as the system says it.
    """
    from tempfile import mkstemp

    target = os.path.realpath(path, strict=True)
    with open(target, "rb") as file:
        if file.read() != expected:
            raise FileChanged(f"{path} was changed by someone else since it was read; nothing was written")
    folder, name = os.path.split(target)
    handle, temporary = mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as unfinished:
            unfinished.write(new)
            unfinished.flush()
            os.fsync(unfinished.fileno())
        os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _one(document: Document, change: Change) -> Document:
    if document.root is None:
        raise _Withheld
    intended = to_python(document.root)
    _apply(intended, change)
    if document.syntax in ("env", "hostfile"):
        edits = _of_lines(document, change)
    else:
        edits = {"set": _set, "delete": _delete, "rename": _rename, "move": _move}[change.kind](document, change)
    text = document.text
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    after = load(document.file, encode(document, text), document.syntax)
    if document.dialect == "omegaconf":
        reread(after)
    same = after.root is not None and to_python(after.root) == intended and len(after.problems) <= len(document.problems)
    if not same or len(after.duplicates) > len(document.duplicates):
        raise _Withheld
    return after


def _apply(tree: Any, change: Change) -> None:
    """The change on plain values."""
    if change.kind == "set":
        _put(tree, change.path, copy.deepcopy(change.value))
        return
    parent = tree
    for step in change.path[:-1]:
        parent = _step(parent, step)
    value = _step(parent, change.path[-1])
    del parent[change.path[-1]]
    if change.kind == "delete":
        return
    if change.kind == "rename" and change.to[-1] in parent:
        raise _Withheld
    _put(tree, change.to, value)


def _step(tree: Any, step: str | int) -> Any:
    if isinstance(tree, dict) and step in tree:
        return tree[step]
    if isinstance(tree, list) and isinstance(step, int) and step < len(tree):
        return tree[step]
    raise _Withheld


def _put(tree: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        if isinstance(tree, dict) and tree.get(step) is None:
            tree[step] = {}
        tree = _step(tree, step)
    last = path[-1]
    if isinstance(tree, list):
        _step(tree, last)
    elif not isinstance(tree, dict):
        raise _Withheld
    tree[last] = value


def _entry(document: Document, path: Path) -> tuple[Mapping, Entry]:
    """The entry at a path and its block; withheld where it is not there, or is reached through an alias."""
    parent = document.node(path[:-1]) if path else None
    entry = parent.get(str(path[-1])) if isinstance(parent, Mapping) else None
    if entry is None or entry.shared:
        raise _Withheld
    assert isinstance(parent, Mapping)
    return parent, entry


# --- the four operations ---


def _set(document: Document, change: Change) -> list[Edit]:
    existing = document.node(change.path)
    if existing is None:
        return _insert(document, change.path, change.value, None)
    if isinstance(change.path[-1], str):
        _, entry = _entry(document, change.path)
        return [_replace(document, entry, _rendered(document, change.value, _indent(document.text, entry.key.start)))]
    return [Edit(*existing.span, _rendered(document, change.value, ""))]


def _replace(document: Document, entry: Entry, text: str) -> Edit:
    """Put ``text`` in the place of an entry's value."""
    span = entry.value.span
    if document.syntax == "yaml" and (
        "\n" in document.text[entry.key.end : span.start] or span.start <= entry.key.end or not span.end - span.start
    ):
        colon = document.text.index(":", entry.key.end)
        return Edit(colon + 1, max(span.end, colon + 1), f" {text}")
    return Edit(span.start, span.end, text)


def _delete(document: Document, change: Change) -> list[Edit]:
    parent, entry = _entry(document, change.path)
    number = next(number for number, one in enumerate(parent.entries) if one is entry)
    if len(parent.entries) == 1:
        return [Edit(parent.span.start, parent.span.end, "{}")] if parent.span.start < parent.span.end else []
    if _is_block(document, parent):
        return [_delete_lines(document, entry)]
    edits: list[Edit] = []
    text = document.text
    start, end = entry.key.start, entry.value.span.end
    comma = _comma_after(text, end)
    if comma is not None:
        end = comma + 1
    if number == len(parent.entries) - 1:
        before = _comma_after(text, parent.entries[number - 1].value.span.end)
        if before is not None and comma is None:
            edits.append(Edit(before, before + 1, ""))
    line_start, line_end = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    if not text[line_start:start].strip() and not text[end:line_end].strip():
        return [*edits, Edit(line_start, min(line_end, len(text)), "")]
    if number == len(parent.entries) - 1:
        start = edits[0].end if edits else parent.entries[number - 1].value.span.end
        if text[start : entry.key.start].strip():
            start = entry.key.start
    else:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    return [*edits, Edit(start, end, "")]


def _delete_lines(document: Document, entry: Entry) -> Edit:
    """A block entry of YAML goes with its lines; the first of a list item leaves the dash to the next."""
    text = document.text
    line_start, line_end = text.rfind("\n", 0, entry.key.start) + 1, _line_end(text, entry.value.span.end)
    if not text[line_start : entry.key.start].strip():
        return Edit(line_start, line_end, "")
    rest = text[line_end:]
    return Edit(entry.key.start, line_end + len(rest) - len(rest.lstrip(" ")), "")


def _rename(document: Document, change: Change) -> list[Edit]:
    _, entry = _entry(document, change.path)
    return [Edit(*entry.key, _quoted_like(document.text[slice(*entry.key)], str(change.to[-1])))]


def _quoted_like(written: str, name: str) -> str:
    quote = written[:1]
    return f"{quote}{name}{quote}" if quote in ("'", '"') else name


def _move(document: Document, change: Change) -> list[Edit]:
    _, entry = _entry(document, change.path)
    if document.node(change.to) is not None:
        raise _Withheld
    value = to_python(entry.value)
    text = document.text[slice(*entry.value.span)] if isinstance(entry.value, Scalar) else None
    gone = load(document.file, encode(document, _spliced(document.text, _delete(document, change))), document.syntax)
    if gone.root is None:
        raise _Withheld
    final = _spliced(gone.text, _insert(gone, change.to, value, text))
    return [Edit(0, len(document.text), final)]


def _spliced(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


# --- files of lines ---


def _of_lines(document: Document, change: Change) -> list[Edit]:
    """The change in a file of one variable (or host) a line."""
    text = document.text
    if change.kind == "set" and document.node(change.path) is None:
        parent = document.node(change.path[:-1])
        if document.syntax != "env" or not isinstance(parent, Mapping) or not isinstance(change.value, str):
            raise _Withheld
        newline = "\r\n" if "\r\n" in text else "\n"
        if not parent.entries:
            return [Edit(len(text), len(text), f"{'' if text.endswith(newline) or not text else newline}{_line(change)}{newline}")]
        start = text.rfind("\n", 0, parent.entries[-1].key.start) + 1
        end = _line_end(text, parent.entries[-1].value.span.end, keep_break=True)
        return [Edit(end, end, f"{newline}{text[start : parent.entries[-1].key.start]}{_line(change)}")]
    _, entry = _entry(document, change.path)
    if change.kind == "set":
        return [Edit(*entry.value.span, _word(change.value) if document.syntax == "env" else str(change.value))]
    if change.kind == "delete":
        return [Edit(text.rfind("\n", 0, entry.key.start) + 1, _line_end(text, entry.value.span.end), "")]
    if change.kind == "rename":
        return [Edit(*entry.key, str(change.to[-1]))]
    raise _Withheld


def _line(change: Change) -> str:
    return f"{change.path[-1]}={_word(change.value)}"


def _word(value: Any) -> str:
    """The value of a variable, in quotes where a shell would read it otherwise."""
    text = str(value)
    return text if text and not set(text) & set(" \t#'\"$\\") else "'" + text + "'"


# --- insertion ---


def _insert(document: Document, path: Path, value: Any, written: str | None) -> list[Edit]:
    """Add a key, with the blocks above it that are not there yet. ``written``: the value's own text where it should be kept."""
    depth = next(depth for depth in range(len(path) - 1, -1, -1) if document.node(path[:depth]) is not None)
    parent = document.node(path[:depth])
    for step in reversed(path[depth + 1 :]):
        value, written = {str(step): value}, None
    if isinstance(parent, Scalar) and parent.value is None and depth:
        _, entry = _entry(document, path[:depth])
        return [_replace(document, entry, _rendered(document, {str(path[depth]): value}, _indent(document.text, entry.key.start)))]
    if not isinstance(parent, Mapping) or isinstance(path[depth], int) or any(entry.shared for entry in parent.entries):
        raise _Withheld
    return _insert_entry(document, parent, str(path[depth]), value, written)


def _insert_entry(document: Document, parent: Mapping, name: str, value: Any, written: str | None) -> list[Edit]:
    text, newline = document.text, "\r\n" if "\r\n" in document.text else "\n"
    if not parent.entries:
        return [_fill_empty(document, parent, name, value, written, newline)]
    last = parent.entries[-1]
    own_line = not text[text.rfind("\n", 0, last.key.start) + 1 : last.key.start].strip()
    indent = _indent(text, last.key.start)
    if _is_block(document, parent):
        column = last.key.start - (text.rfind("\n", 0, last.key.start) + 1)
        end = _line_end(text, last.value.span.end, keep_break=True)
        return [Edit(end, end, f"{newline}{' ' * column}{name}: {written or _rendered(document, value, indent)}")]
    member = f"{_quoted_like(text[slice(*last.key)], name)}: {written or _rendered(document, value, indent)}"
    comma = _comma_after(text, last.value.span.end)
    after = last.value.span.end if comma is None else comma + 1
    edits = [] if comma is not None else [Edit(after, after, ",")]
    if not own_line:
        return [Edit(after, after, f"{'' if comma is not None else ','} {member}")]
    line_end = _line_end(text, after, keep_break=True)
    if parent.span.end <= line_end:  # the closing brace stands on this line
        return (
            [*edits, Edit(after, after, f"{newline}{indent}{member}")]
            if comma is not None
            else [Edit(after, after, f",{newline}{indent}{member}")]
        )
    if line_end == after:
        return [Edit(after, after, f"{'' if comma is not None else ','}{newline}{indent}{member}")]
    return [*edits, Edit(line_end, line_end, f"{newline}{indent}{member}")]


def _fill_empty(document: Document, parent: Mapping, name: str, value: Any, written: str | None, newline: str) -> Edit:
    text = document.text
    outer = _indent(text, parent.span.start)
    unit = _unit(text)
    key = name if document.syntax == "yaml" and text[parent.span.start : parent.span.start + 1] != "{" else json.dumps(name)
    if "\n" not in text.strip() or document.syntax == "yaml":
        return Edit(*parent.span, f"{{{key}: {written or _rendered(document, value, outer)}}}")
    return Edit(*parent.span, f"{{{newline}{outer}{unit}{key}: {written or _rendered(document, value, outer + unit)}{newline}{outer}}}")


# --- text ---


def _is_block(document: Document, node: Node) -> bool:
    return document.syntax == "yaml" and document.text[node.span.start : node.span.start + 1] not in ("{", "[")


def _indent(text: str, position: int) -> str:
    """The white space that begins the line of a position."""
    start = text.rfind("\n", 0, position) + 1
    line = text[start : position + 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line."""
    for line in text.splitlines():
        if line[:1] in (" ", "\t") and line.strip():
            return line[: len(line) - len(line.lstrip(" \t"))]
    return "  "


def _line_end(text: str, position: int, keep_break: bool = False) -> int:
    """The end of the line of a position: behind its line break, or before it with ``keep_break``."""
    end = text.find("\n", position)
    if end < 0:
        return len(text)
    return (end - 1 if text[end - 1 : end] == "\r" else end) if keep_break else end + 1


def _comma_after(text: str, position: int) -> int | None:
    """Where the comma stands that follows a value, comments between skipped."""
    while position < len(text):
        if text[position] in " \t\r\n":
            position += 1
        elif text[position] == "#" or text.startswith("//", position):
            position = _line_end(text, position)
        elif text.startswith("/*", position):
            position = text.find("*/", position) + 2
        else:
            return position if text[position] == "," else None
    return None


def _rendered(document: Document, value: Any, indent: str) -> str:
    """A value as text in the document's syntax; objects over several lines where the file is written so."""
    if isinstance(value, (dict, list)) and value and document.syntax == "json" and "\n" in document.text.strip():
        newline = "\r\n" if "\r\n" in document.text else "\n"
        return json.dumps(value, indent=_unit(document.text), ensure_ascii=False).replace("\n", newline + indent)
    if document.syntax == "yaml" and isinstance(value, str) and PLAIN.fullmatch(value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    if document.syntax == "yaml" and isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")  # YAML 1.1 reads an exponent without a fraction as a string
    return text


def difference(before: str, after: str) -> list[Edit]:
    """The edits that turn one text into the other, each as small as its lines allow."""
    from difflib import SequenceMatcher

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits: list[Edit] = []
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            edits.append(_smallest(before, starts[first], starts[last], "".join(new[begin:end])))
    return edits


def _smallest(before: str, start: int, end: int, text: str) -> Edit:
    old = before[start:end]
    head = _common(old, text)
    tail = _common(old[head:][::-1], text[head:][::-1])
    return Edit(start + head, end - tail, text[head : len(text) - tail])


def _common(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    return next((number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
