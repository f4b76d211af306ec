"""The keys and values that could stand where someone is typing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from dslint.document import Mapping, Span
from dslint.lsp.cursor import Cursor, cursor_in
from dslint.lsp.desk import Desk
from dslint.lsp.keys import block_at, described, holder, shown, takes
from dslint.schema.lookup import KeyInfo


class Proposal(NamedTuple):
    """``text`` replaces ``word`` of the open text; ``detail`` is a line about it, ``about`` Markdown."""

    label: str
    text: str
    word: Span
    is_key: bool
    detail: str = ""
    about: str = ""


def complete(desk: Desk, file: str, offset: int) -> list[Proposal]:
    """What could be typed at a place of an open file, in the order of the schema."""
    document = desk.document(file)
    if document is None:
        return []
    cursor = cursor_in(document.text, offset, document.syntax)
    config = holder(desk.configs(file), cursor.path) if cursor is not None else None
    place = block_at(config, cursor.path) if cursor is not None and config is not None else None
    if cursor is None or config is None or place is None:
        return []
    quoted = document.syntax == "json" or document.text.lstrip().startswith("{")
    canonical, block = place
    if cursor.key is not None:
        info = block.keys.get(block.aliases.get(cursor.key, cursor.key))
        return [] if info is None else list(_values(info, cursor, config.resolved.schema.autos, quoted=quoted))
    node = (config.document if document.root is None else document).node(cursor.path)
    written = {entry.name for entry in node.entries} if isinstance(node, Mapping) else set()
    has_colon = document.text[cursor.word.end :].lstrip(" \t").startswith(":")
    ending = "" if has_colon else ": "
    return [
        Proposal(
            name,
            (json.dumps(name) if quoted else name) + ending,
            cursor.word,
            True,
            takes(info).replace("`", ""),
            described(config, f"{canonical}.{name}" if canonical else name, info),
        )
        for name, info in block.keys.items()
        if name not in written and info.deprecated is None
    ]


def _values(info: KeyInfo, cursor: Cursor, autos: bool, *, quoted: bool) -> Iterator[Proposal]:
    choices = list(info.enum or ())
    if "boolean" in info.type:
        choices += [True, False]
    if autos and info.auto is not None:
        choices.append("auto")
    for choice in dict.fromkeys(map(shown, choices)):
        text = json.dumps(choice) if quoted and not _is_bare(choice) else choice
        yield Proposal(choice, text, cursor.word, False, "default" if info.default is not None and shown(info.default) == choice else "")


def _is_bare(choice: str) -> bool:
    """Is it written without quotes in JSON?"""
    return choice in ("true", "false", "null") or choice.lstrip("-").replace(".", "", 1).isdigit()
