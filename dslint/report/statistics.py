"""How often each code was said, in place of the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dslint.engine.diagnostics import RANK
from dslint.engine.run import Report


def render(reports: Iterable[Report]) -> str:
    """One line a code, the most frequent first: count, code, severity, ``F`` where --fix repairs one (``f`` with --unsafe-fixes), name."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    severities: dict[str, str] = {}
    marks: dict[str, str] = {}
    for report in reports:
        for diagnostic in report.diagnostics:
            code = diagnostic.code
            counts[code] += 1
            names[code] = diagnostic.name
            severities[code] = max(severities.get(code, "info"), diagnostic.severity, key=lambda severity: RANK[severity])
            safeties = {fix.safety for fix in diagnostic.fixes}
            marks[code] = "F" if "safe" in safeties or marks.get(code) == "F" else "f" if safeties else marks.get(code, " ")
    if not counts:
        return "nothing found"
    width = len(str(max(counts.values())))
    ordered = sorted(counts, key=lambda code: (-counts[code], code))
    return "\n".join(f"{counts[code]:>{width}}  {code}  {severities[code]:7}  {marks[code]}  {names[code]}" for code in ordered)
