"""Places of a text as editors count them: lines from 0, columns in UTF-16 units."""

from __future__ import annotations

from lsprotocol.types import Position, Range

from dslint.document import Document, Edit, Span


def position(document: Document, offset: int) -> Position:
    """Where a code point offset lies."""
    line, column = document.line_column(offset)
    before = document.text[offset - column + 1 : offset]
    return Position(line - 1, column - 1 + _surrogates(before))


def offset(document: Document, where: Position) -> int:
    """The code point offset of a position; one past the end of its line is that end."""
    if where.line >= document.text.count("\n") + 1:
        return len(document.text)
    start = document.line_start(where.line + 1)
    units = 0
    for number, letter in enumerate(document.line_text(where.line + 1)):
        if units >= where.character:
            return start + number
        units += 2 if ord(letter) > 0xFFFF else 1
    return start + len(document.line_text(where.line + 1))


def span_range(document: Document, span: Span) -> Range:
    """The range of a span."""
    return Range(position(document, span.start), position(document, span.end))


def edit_range(document: Document, edit: Edit) -> Range:
    """The range that an edit replaces."""
    return span_range(document, Span(edit.start, edit.end))


def _surrogates(text: str) -> int:
    """How many of the characters take two units."""
    return 0 if text.isascii() else sum(ord(letter) > 0xFFFF for letter in text)
