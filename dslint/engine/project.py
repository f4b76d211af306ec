"""What a config is checked against: target versions, facts, context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dslint.engine.facts import Facts
from dslint.formats.base import Context


class Target(NamedTuple):
    """A framework's version and where it was learnt from, such as ``--target`` or ``newest known``."""

    version: str
    origin: str


@dataclass(frozen=True, slots=True)
class Project:
    """``context`` is None when nobody said whether DeepSpeed itself or the HF integration reads the file."""

    targets: Mapping[str, Target] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    context: Context | None = None
