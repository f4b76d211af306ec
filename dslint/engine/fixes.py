"""Repairs applied until nothing more can be repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dslint.document import Document, load
from dslint.document.edits import splice
from dslint.engine.diagnostics import Diagnostic, Fix

MAXIMUM_ROUNDS = 10
# every repair reads the text again; past this many code points the rest of a huge file's repairs is left for another run
MAXIMUM_REREAD = 20_000_000


class Applied(NamedTuple):
    diagnostic: Diagnostic
    fix: Fix


class Fixed(NamedTuple):
    """The document after all repairs, and what was repaired, in order."""

    document: Document
    applied: tuple[Applied, ...]


def fix(document: Document, diagnose: Callable[[Document], Iterable[Diagnostic]], *, unsafe: bool) -> Fixed:
    """Apply the fixes of ``diagnose``'s findings, round by round, until a round changes nothing (at most ten).

    In a round, of fixes that touch one place the first wins; of a finding's alternatives the first that is allowed. Infos are left as they are.
    """
    applied: list[Applied] = []
    for _ in range(MAXIMUM_ROUNDS if len(document.text) < MAXIMUM_REREAD // 100 else 1):
        document, done = _round(document, diagnose(document), unsafe)
        if not done:
            break
        applied += done
    return Fixed(document, tuple(applied))


def _round(document: Document, diagnostics: Iterable[Diagnostic], unsafe: bool) -> tuple[Document, list[Applied]]:
    touched: list[tuple[str | int, ...]] = []
    done: list[Applied] = []
    current = document
    for diagnostic in diagnostics:
        if len(done) * len(document.text) > MAXIMUM_REREAD:
            break
        chosen = next((fix for fix in diagnostic.fixes if unsafe or fix.safety == "safe"), None)
        if chosen is None or diagnostic.severity == "info":
            continue
        paths = [path for change in chosen.changes for path in (change.path, change.to) if path]
        if any(_overlap(path, other) for path in paths for other in touched):
            continue
        text = splice(current, chosen.changes)
        if text is None or text == current.text:
            continue
        mark = b"\xef\xbb\xbf" if current.data.startswith(b"\xef\xbb\xbf") else b""
        current = load(current.file, mark + text.encode("utf-8"), current.syntax)
        touched += paths
        done.append(Applied(diagnostic, chosen))
    return current, done


def _overlap(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
