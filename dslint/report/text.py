"""The output for people: the lines around each finding with a caret, why it matters, and how to mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dslint.document import Document, Span, format_path
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.run import Report
from dslint.report.safe import printable

if TYPE_CHECKING:
    from dslint.engine.fixes import Applied

WIDTH = 110
COLOURS = {"error": "31;1", "warning": "33;1", "info": "36;1", "bold": "1", "dim": "2", "green": "32"}


class Painter(NamedTuple):
    colour: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if self.colour else text


def render(reports: Sequence[Report], *, mended: Sequence[Applied] = (), colour: bool) -> str:
    """The findings of all files, what was not checked for want of a fact, and a last line that counts. ``mended``: the repairs already made."""
    paint = Painter(colour)
    blocks = [_diagnostic(diagnostic, paint) for report in reports for diagnostic in report.diagnostics]
    repairs = ["\n".join(_mended(applied, paint) for applied in mended)] if mended else []
    return "\n\n".join([*repairs, *blocks, _summary(reports, len(mended), paint)])


def _diagnostic(diagnostic: Diagnostic, paint: Painter) -> str:
    line, column = diagnostic.document.line_column(diagnostic.span.start)
    place = printable(f"{diagnostic.document.file}:{line}:{column}")
    severity = paint(diagnostic.severity, diagnostic.severity)
    lines = [f"{paint(place, 'bold')}: {severity}: {printable(diagnostic.message)} [{diagnostic.code} {diagnostic.name}]"]
    lines += snippet(diagnostic.document, diagnostic.span, paint, diagnostic.severity)
    for related in diagnostic.related:
        other_line, other_column = related.document.line_column(related.span.start)
        lines.append(f"  see {printable(related.document.file)}:{other_line}:{other_column}: {printable(related.message)}")
    if diagnostic.why:
        lines.append(f"  why: {printable(' '.join(diagnostic.why.split()))}")
    for number, fix in enumerate(diagnostic.fixes):
        flags = "--fix" if fix.safety == "safe" else "--fix --unsafe-fixes"
        word = "fix" if number == 0 else "or"
        shown = f" ({flags})" if number == 0 else ""
        lines.append(f"  {paint(word, 'green')}: {printable(fix.title)}{shown}")
    return "\n".join(lines)


def _mended(applied: Applied, paint: Painter) -> str:
    diagnostic = applied.diagnostic
    place = printable(f"{diagnostic.document.file}: {format_path(diagnostic.path)}")
    return f"{paint('mended', 'green')} {place}: {printable(applied.fix.title)} [{diagnostic.code} {diagnostic.name}]"


def snippet(document: Document, span: Span, paint: Painter, style: str) -> list[str]:
    """The line of the span with one before and after it, and carets below; long lines are cut to the part around it."""
    if not document.text:
        return []
    line, column = document.line_column(span.start)
    end_line, end_column = document.line_column(span.end)
    shift = max(0, column - 1 - WIDTH // 2) if len(document.line_text(line)) > WIDTH else 0
    gutter = len(str(line + 1)) + 2
    shown = []
    around = () if document.syntax == "env" else (line - 1, line + 1)  # the lines beside a variable may hold a secret
    for number in sorted((line, *around)):
        text = document.line_text(number)
        if number == line or text.strip():
            shown.append(f"{number:>{gutter}} | {_cut(text, shift)}".rstrip())
        if number == line:
            end = end_column if end_line == line else len(text) + 1
            width = max(1, min(end - column, WIDTH - (column - 1 - shift)))
            shown.append(f"{'':>{gutter}} | {' ' * (column - 1 - shift + bool(shift))}{paint('^' * width, style)}")
    return shown


def _cut(text: str, shift: int) -> str:
    part = text[shift : shift + WIDTH]
    return f"{'…' if shift else ''}{printable(part)}{'…' if len(text) > shift + WIDTH else ''}"


def _summary(reports: Sequence[Report], mended: int, paint: Painter) -> str:
    diagnostics = [diagnostic for report in reports for diagnostic in report.diagnostics]
    lines = []
    if skipped := _skipped(reports):
        lines.append(paint(f"not checked, for want of facts: {skipped}", "dim"))
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    found = ", ".join(_count(counts[severity], severity) for severity in ("error", "warning", "info") if counts[severity])
    checked = f"{_count(len(reports), 'file')} checked{_targets(reports)}"
    lines.append(f"{found}; {checked}" if found else f"{checked}: nothing found")
    if mended:
        lines.append(f"{_count(mended, 'repair')} made")
    if fixable := _fixable(diagnostics):
        lines.append(fixable)
    return "\n".join(lines)


def _skipped(reports: Iterable[Report]) -> str:
    """``world_size (3 rules), gpu_memory_gb (1 rule)``."""
    rules: dict[str, set[str]] = {}
    for report in reports:
        for skipped in report.skipped:
            rules.setdefault(skipped.fact, set()).add(skipped.code)
    return ", ".join(f"{fact} ({_count(len(codes), 'rule')})" for fact, codes in sorted(rules.items()))


def _targets(reports: Iterable[Report]) -> str:
    seen = {f"{name} {target.version} ({target.origin})": None for report in reports for name, target in report.targets.items()}
    return f" for {', '.join(seen)}" if seen else ""


def _fixable(diagnostics: Iterable[Diagnostic]) -> str:
    safe = unsafe = 0
    for diagnostic in diagnostics:
        if diagnostic.severity == "info" or not diagnostic.fixes:
            continue
        if any(fix.safety == "safe" for fix in diagnostic.fixes):
            safe += 1
        else:
            unsafe += 1
    parts = ([f"{safe} with --fix"] if safe else []) + ([f"{unsafe} with --fix --unsafe-fixes"] if unsafe else [])
    return f"can be mended: {', '.join(parts)}" if parts else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 or noun == "info" else f"{number} {noun}s"
