"""Spans as lines, columns and bytes."""

from __future__ import annotations

from typing import TypedDict

from dslint.document import Document, Span


class Place(TypedDict):
    """Lines and columns from 1, columns in code points, ends exclusive, offsets in bytes of the file."""

    line: int
    column: int
    end_line: int
    end_column: int
    offset: int
    end_offset: int


class Places:
    """The places of one document. Offsets are counted on from the last one asked for, so that a long file is not counted again and again."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._last = (0, document.byte_offset(0))

    def of(self, span: Span) -> Place:
        line, column = self.document.line_column(span.start)
        end_line, end_column = self.document.line_column(span.end)
        return {
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "offset": self.byte(span.start),
            "end_offset": self.byte(span.end),
        }

    def byte(self, offset: int) -> int:
        """The offset in bytes of a code point offset."""
        last, counted = self._last
        text = self.document.text
        if offset >= last:
            counted += len(text[last:offset].encode("utf-8"))
        else:
            counted -= len(text[offset:last].encode("utf-8"))
        self._last = (offset, counted)
        return counted
