"""Repairs as edits of an open text: each one by itself, or all safe ones together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dslint.document import Edit, Span
from dslint.document.edits import difference, edits_for
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.fixes import fix
from dslint.lsp.desk import Desk


class Action(NamedTuple):
    """``of``: the finding that it mends; None for all safe repairs together. ``plain``: nothing but what is meant can come of it."""

    title: str
    edits: list[Edit]
    of: Diagnostic | None = None
    plain: bool = False


def quick_fixes(desk: Desk, file: str, where: Span) -> Iterator[Action]:
    """The repairs of what is found in a span of an open file; of alternatives each one."""
    document = desk.document(file)
    if document is None:
        return
    for diagnostic in desk.diagnostics(file):
        if diagnostic.document is not document or diagnostic.span.end < where.start or where.end < diagnostic.span.start:
            continue
        for repair in diagnostic.fixes:
            if (edits := edits_for(document, repair.changes)) is not None:
                title = repair.title if repair.safety == "safe" else f"{repair.title} (changes what is trained)"
                yield Action(f"{diagnostic.code}: {title}", edits, diagnostic, repair.safety == "safe" and len(diagnostic.fixes) == 1)


def fix_all(desk: Desk, file: str) -> Action | None:
    """All safe repairs of an open file, as ``dslint check --fix`` makes them; None where there is nothing to do."""
    document = desk.document(file)
    if document is None:
        return None
    fixed = fix(document, desk.refind, unsafe=False)
    if not fixed.applied:
        return None
    return Action("dslint: make all safe repairs", difference(document.text, fixed.document.text))
