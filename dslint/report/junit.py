"""JUnit's XML: a suite for each file, a case for each finding; what fails the run is a failure, the rest passes with its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from dslint.engine.diagnostics import Diagnostic
from dslint.engine.run import Report
from dslint.report.fingerprint import posix
from dslint.report.safe import printable


def render(reports: Sequence[Report], *, strict: bool) -> str:
    failing = ("error", "warning") if strict else ("error",)
    suites: dict[str, list[Diagnostic]] = {}
    for report in reports:
        suites.setdefault(posix(report.document.file), []).extend(report.diagnostics)
    failures = sum(_fails(diagnostics, failing) for diagnostics in suites.values())
    tests = sum(max(1, len(diagnostics)) for diagnostics in suites.values())
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="dslint" tests="{tests}" failures="{failures}">']
    for file, diagnostics in suites.items():
        count = f'tests="{max(1, len(diagnostics))}" failures="{_fails(diagnostics, failing)}" errors="0" skipped="0"'
        lines.append(f"  <testsuite name={_attribute(file)} {count}>")
        lines += [_case(file, diagnostic, failing) for diagnostic in diagnostics]
        if not diagnostics:
            lines.append(f'    <testcase name="no finding" classname={_attribute(file)} time="0"/>')
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"])


def _fails(diagnostics: Iterable[Diagnostic], failing: Sequence[str]) -> int:
    return sum(diagnostic.severity in failing for diagnostic in diagnostics)


def _case(file: str, diagnostic: Diagnostic, failing: Sequence[str]) -> str:
    line, column = diagnostic.document.line_column(diagnostic.span.start)
    text = _text(" ".join(f"{file}:{line}:{column}: {diagnostic.message}. {diagnostic.why}".split()))
    if diagnostic.severity in failing:
        inner = f'<failure type="{diagnostic.severity}" message={_attribute(diagnostic.message)}>{text}</failure>'
    else:
        inner = f"<system-out>{diagnostic.severity}: {text}</system-out>"
    name = _attribute(f"{diagnostic.code} {diagnostic.name} {line}:{column}")
    return f'    <testcase name={name} classname={_attribute(file)} time="0">{inner}</testcase>'


def _text(text: str) -> str:
    return escape(_legal(text))


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    """Text that XML can hold: no control characters, no halves of surrogate pairs, no U+FFFE and U+FFFF."""
    whole = printable(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
