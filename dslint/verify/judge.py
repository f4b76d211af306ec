"""From what the ranks wrote down to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslint.verify.known import ECHO
from dslint.verify.outcome import EngineError, Row, Status

Notes = Sequence[dict[str, Any]]


def last_phase(ranks: Sequence[Notes]) -> str:
    phases = [note["phase"] for notes in ranks for note in notes if "phase" in note]
    return phases[-1] if phases else "start"


def first_error(ranks: Sequence[Notes]) -> EngineError | None:
    """The error that was raised first; one that only echoes another rank's end comes last."""
    errors = []
    for notes in ranks:
        phase = "start"
        for note in notes:
            phase = note.get("phase", phase)
            if "error" in note:
                errors.append((bool(ECHO.search(note["error"]["message"])), note["at"], _error(note["error"], phase)))
    return min(errors, key=lambda entry: entry[:2])[2] if errors else None


def _error(note: dict[str, Any], phase: str) -> EngineError:
    return EngineError(**{**note, "causes": tuple(note["causes"])}, phase=phase)


def reports(ranks: Sequence[Notes], name: str = "report") -> list[dict[str, Any]]:
    """What the ranks measured: ``report`` of training, ``resumed`` and ``reshaped`` of what was loaded."""
    return [note[name] for notes in ranks for note in notes if name in note]


def signals(ranks: Sequence[Notes]) -> list[int]:
    """The signals that ended ranks, SIGKILL by the server aside."""
    return [-note["exit"] for notes in ranks for note in notes if note.get("exit", 0) < 0]


def verdict(rows: Sequence[Row], reservations: Sequence[str]) -> tuple[Status, str]:
    """Status and reason of a run that came to its end: the worst of its checks."""
    wrong = [row for row in rows if row.status == "fail"]
    if shown := [row for row in wrong if not row.reason]:
        return "fail", "declared, but the run did not show it: " + "; ".join(f"{row.what} {row.found}, not {row.declared}" for row in shown)
    for status in ("fail", "unverified"):
        for row in rows:
            if row.status == status:
                return row.status, row.reason
    return ("unverified", "; ".join(reservations)) if reservations else ("pass", "")
