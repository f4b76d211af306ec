"""Repairs as text splices: what a change of the tree means for the text, touching no byte it need not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from dslint.document.tree import Path


@dataclass(frozen=True, slots=True)
class Change:
    """One operation on the tree. ``set`` needs ``value``; ``rename`` (same block) and ``move`` need ``to``, an absolute path."""

    kind: Literal["set", "delete", "rename", "move"]
    path: Path
    value: object = None
    to: Path = ()


class Edit(NamedTuple):
    """Replace the code points ``[start, end)`` of the text."""

    start: int
    end: int
    text: str
