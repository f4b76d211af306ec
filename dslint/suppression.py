"""Comments that silence findings: ``# dslint: ignore[DS104] reason`` on the line or above it, ``# dslint: ignore-file[DS104] reason`` anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dslint.document import Document, Mapping, Node, Scalar, Span
from dslint.document.edits import whole
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.rules import Rule
from dslint.engine.run import Report
from dslint.faults import Fault
from dslint.selection import Ignore, parse_ignore

CODES: dict[str, tuple[str, str]] = {
    "SU001": ("unused-suppression", "A comment silences a finding that is not there: remove it, so that it does not hide the next one."),
    "SU002": ("unreadable-suppression", "A comment for dslint is misspelt or names no known code, so it silences nothing."),
}
MARK = "dslint:"
COMMENT = re.compile(r"(?:(?<=\s)|^)(?:#|//|/\*)[ \t]*dslint:[ \t]*([^\n\r]*)", re.MULTILINE)
KIND = re.compile(r"(ignore-file|ignore)(?:\[([^\]\n]*)\])?(?=\s|\*/|$)")
COMMENT_LINE = re.compile(r"\s*(?:#|//|/\*)")


class Suppression(NamedTuple):
    """``line``: the one whose findings it silences; None for the whole file. ``code``: None for every code."""

    code: Ignore | None
    line: int | None
    span: Span

    def silences(self, diagnostic: Diagnostic) -> bool:
        if self.line is not None and diagnostic.document.line_column(diagnostic.span.start)[0] != self.line:
            return False
        return self.code is None or self.code.matches(diagnostic)


class Unreadable(NamedTuple):
    span: Span
    message: str


def suppressed(reports: Sequence[Report], rules: Callable[[str], tuple[Rule, ...]], judged: Callable[[str, Ignore], bool]) -> list[Report]:
    """The reports without what their files' comments silence, and with what is wrong with those comments.

    ``rules``: a project's own rules, by file. ``judged``: would a finding of this code be shown in this file, were there one?
    """
    by_file: dict[str, list[Suppression]] = {}
    used: set[tuple[str, Suppression]] = set()
    skipped: dict[str, set[str]] = {}
    silent: list[Report] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for report in reports:
        document = report.document
        if MARK not in document.text:
            silent.append(report)
            continue
        if document.file not in by_file:
            read = list(_read(document, rules(document.file)))
            by_file[document.file] = [found for found in read if isinstance(found, Suppression)]
            wrong[document.file] = [
                _diagnostic(document, "SU002", found.span, found.message) for found in read if isinstance(found, Unreadable)
            ]
        skipped.setdefault(document.file, set()).update(skip.code for skip in report.skipped)
        kept = []
        for diagnostic in report.diagnostics:
            silencing = [found for found in by_file[document.file] if found.silences(diagnostic)]
            used.update((document.file, found) for found in silencing)
            if not silencing:
                kept.append(diagnostic)
        silent.append(report._replace(diagnostics=tuple(kept)))
    finished = []
    for report in silent:
        more = wrong.pop(report.document.file, [])
        for found in by_file.pop(report.document.file, []):
            unknown = found.code is not None and any(code.startswith(found.code.rule) for code in skipped[report.document.file])
            if (
                (report.document.file, found) not in used
                and found.code is not None
                and judged(report.document.file, found.code)
                and not unknown
            ):
                where = "in this file" if found.line is None else f"on line {found.line}"
                message = f"nothing {where} says {found.code.rule}: remove this comment"
                more.append(_diagnostic(report.document, "SU001", found.span, message))
        ordered = sorted((*report.diagnostics, *more), key=lambda diagnostic: diagnostic.span.start) if more else report.diagnostics
        finished.append(report._replace(diagnostics=tuple(ordered)))
    return finished


def _diagnostic(document: Document, code: str, span: Span, message: str) -> Diagnostic:
    return Diagnostic(document, code, CODES[code][0], "warning", (), span, message, CODES[code][1])


def _read(document: Document, rules: tuple[Rule, ...]) -> Iterator[Suppression | Unreadable]:
    """The comments for dslint in a text; what stands inside of a value or a key is no comment."""
    comments = list(COMMENT.finditer(document.text))
    if not comments:
        return
    root = whole(document).root
    written = sorted(_written(root)) if root is not None else []
    for comment in comments:
        if any(start <= comment.start() < end for start, end in written):
            continue
        span = Span(comment.start(), comment.start() + len(comment.group().rstrip()))
        kind = KIND.match(comment.group(1))
        if kind is None:
            yield Unreadable(span, "write `dslint: ignore[CODE] reason` or `dslint: ignore-file[CODE] reason`")
            continue
        line = None if kind.group(1) == "ignore-file" else _line_meant(document, comment.start())
        codes = [code.strip() for code in (kind.group(2) or "").split(",") if code.strip()]
        if not codes and kind.group(1) == "ignore-file" and kind.group(2) is None:
            yield Suppression(None, None, span)
        elif not codes:
            yield Unreadable(span, "it names no code: write for example `dslint: ignore[DS104] reason`")
        for code in codes:
            try:
                yield Suppression(parse_ignore(code, "the comment", rules), line, span)
            except Fault as fault:
                yield Unreadable(span, str(fault).removeprefix("the comment: "))


def _line_meant(document: Document, start: int) -> int:
    """The comment's own line; of one that stands alone, the next line that is no comment."""
    line, column = document.line_column(start)
    if document.line_text(line)[: column - 1].strip():
        return line
    last = document.line_column(len(document.text))[0]
    following = line + 1
    while following < last and (not (text := document.line_text(following)).strip() or COMMENT_LINE.match(text)):
        following += 1
    return following


def _written(node: Node) -> Iterable[Span]:
    """The spans of keys and plain values."""
    if isinstance(node, Scalar):
        yield node.span
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.key
            yield from _written(entry.value)
    else:
        for item in node.items:
            yield from _written(item)
