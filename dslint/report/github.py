"""Annotations of GitHub Actions: workflow commands that show each finding beside its line of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from dslint.engine.run import Report
from dslint.report.fingerprint import posix
from dslint.report.safe import printable

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(reports: Iterable[Report]) -> str:
    lines = []
    for report in reports:
        for diagnostic in report.diagnostics:
            line, column = diagnostic.document.line_column(diagnostic.span.start)
            end_line, end_column = diagnostic.document.line_column(diagnostic.span.end)
            place = {"file": posix(diagnostic.document.file), "line": line, "endLine": end_line}
            if end_line == line:  # GitHub takes columns within one line only
                place |= {"col": column, "endColumn": end_column}
            place["title"] = f"{diagnostic.code} {diagnostic.name}"
            properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
            lines.append(f"::{LEVELS[diagnostic.severity]} {properties}::{_data(diagnostic.message)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(value: object) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")
