"""What stands under the cursor: a key with its facts, and what is found there with the rule's own text."""

from __future__ import annotations

from dslint.catalogue import find
from dslint.engine.diagnostics import Diagnostic
from dslint.explanation import explained_any
from dslint.faults import Fault
from dslint.lsp.desk import Desk
from dslint.lsp.keys import described, key_at, path_at


def hover(desk: Desk, file: str, offset: int) -> str | None:
    """Markdown for a place of an open file; None where there is nothing to say."""
    document = desk.document(file)
    place = path_at(document, offset) if document is not None else None
    if place is None:
        return None
    path, _ = place
    parts: list[str] = []
    known = key_at(desk.configs(file), path)
    if known is not None and known.info is not None:
        parts.append(described(known.config, known.canonical, known.info))
    parts += [_explained(diagnostic) for diagnostic in desk.diagnostics(file) if diagnostic.path == path]
    return "\n\n---\n\n".join(parts) or None


def _explained(diagnostic: Diagnostic) -> str:
    try:
        text = explained_any(find(diagnostic.code))
    except Fault:  # of a team's own rule: its finding says all
        text = diagnostic.why
    return f"**{diagnostic.code}** {diagnostic.message}\n\n```text\n{text}\n```"
