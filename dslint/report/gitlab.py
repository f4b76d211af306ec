"""GitLab's code quality report: a list of issues, each known again by its fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dslint.engine.run import Report
from dslint.report.fingerprint import fingerprints, posix

SEVERITIES = {"error": "critical", "warning": "minor", "info": "info"}


def render(reports: Iterable[Report]) -> str:
    issues = []
    for diagnostic, fingerprint in fingerprints(diagnostic for report in reports for diagnostic in report.diagnostics):
        begin, _ = diagnostic.document.line_column(diagnostic.span.start)
        end, _ = diagnostic.document.line_column(diagnostic.span.end)
        issues.append(
            {
                "description": diagnostic.message,
                "check_name": f"{diagnostic.code} {diagnostic.name}",
                "fingerprint": fingerprint,
                "severity": SEVERITIES[diagnostic.severity],
                "location": {"path": posix(diagnostic.document.file), "lines": {"begin": begin, "end": end}},
            }
        )
    return json.dumps(issues, ensure_ascii=False, indent=2)
