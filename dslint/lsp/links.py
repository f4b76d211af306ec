"""Where a key of an open file leads."""

from __future__ import annotations

import os

from dslint.lsp.desk import Desk
from dslint.lsp.keys import key_at, path_at


def linked_file(desk: Desk, file: str, offset: int) -> str | None:
    """The file (an absolute path) that the key at a place brings in; None where it brings in none."""
    document = desk.document(file)
    place = path_at(document, offset) if document is not None else None
    known = key_at(desk.configs(file), place[0]) if place is not None else None
    if known is None:
        return None
    for child in known.config.children:
        if child.at == known.canonical and child.document.file != file:
            return os.path.abspath(child.document.file)
    for link in known.config.form.links(known.config.resolved):
        if link.at == known.canonical and (found := known.config.companions.get(link.format)) is not None:
            return os.path.abspath(found.file)
    return None
