"""One line a finding, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterable

from dslint.engine.run import Report
from dslint.report.safe import printable


def render(reports: Iterable[Report]) -> str:
    lines = []
    for report in reports:
        for diagnostic in report.diagnostics:
            line, column = diagnostic.document.line_column(diagnostic.span.start)
            message = printable(diagnostic.message)
            lines.append(f"{printable(diagnostic.document.file)}:{line}:{column}: {diagnostic.severity} {diagnostic.code} {message}")
    return "\n".join(lines)
