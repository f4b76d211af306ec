"""What a rule sees of one config: values as the engine resolves them, and the places where they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from dslint.document import Document, Node, Path, Scalar, to_python
from dslint.document import Mapping as MappingNode
from dslint.engine.config import Config
from dslint.engine.diagnostics import Fix, Severity
from dslint.plan import Plan
from dslint.schema.missing import MISSING

UNDEFINED = object()


class Finding(NamedTuple):
    """What a check yields. ``at``: canonical path. ``values``: more names for the message. ``plan``: names of the Plan that it rests on.

    The rest replaces the rule's own.
    """

    at: str
    values: Mapping[str, object] = {}
    message: str | None = None
    severity: Severity | None = None
    fixes: tuple[Fix, ...] | None = None
    plan: tuple[str, ...] = ()


class Place(NamedTuple):
    """``it`` of a rule with ``each``: a written key. ``value`` is resolved."""

    path: str
    name: str
    value: Any


@cache
def _every_element(pattern: str) -> Callable[[str], re.Match[str] | None]:
    parts = (re.escape(part).replace(r"\*", r"[^.\[\]]*") for part in pattern.split("[*]"))
    return re.compile(r"\[\d+\]".join(parts)).fullmatch


class View:
    """One config seen with its target versions, facts, context and what the run's other files say (``plan``).

    Paths are canonical, dotted, relative to the mount.
    """

    def __init__(self, config: Config, plan: Plan) -> None:
        self.config = config
        self.document = config.document
        self.resolved = config.resolved
        self.project = config.project
        self.context = config.context
        self.version = config.version
        self.plan = plan
        self.title = config.form.title
        self._values: dict[str, Any] = dict(config.resolved.values)
        self.asked: set[str] = set()
        if plan and config.parent is not None:
            self._fill_autos()

    def _fill_autos(self) -> None:
        fills = self.config.form.fills
        for path in self.resolved.autos:
            if path in fills and (value := self.plan.get(fills[path])) is not MISSING:
                self._values[path] = value

    def get(self, path: str) -> Any:
        """The value that the engine will see, or MISSING. ``plan.NAME`` is what the run's other files say."""
        value = self._values.get(path, UNDEFINED)
        if value is UNDEFINED:
            value = self.plan.get(path[5:]) if path.startswith("plan.") else self.resolved.default(path)
            self._values[path] = value
        return value

    def written(self, path: str) -> bool:
        """Is the key written in this file (a name of the Plan: in one of the run's other files, or on the command line)?"""
        if path.startswith("plan."):
            statement = self.plan.statement(path[5:])
            return statement is not None and statement.origin in ("written", "override")
        return path in self.resolved.places

    def absent(self, path: str) -> bool:
        return not self.written(path)

    def node(self, path: str) -> Node | None:
        """The node written at a canonical path, or None."""
        place = self.resolved.places.get(path)
        return None if place is None else place.node

    def raw(self, path: str) -> Any:
        """The plain Python value as written, or MISSING."""
        node = self.node(path)
        return MISSING if node is None else to_python(node)

    def auto(self, path: str) -> bool:
        node = self.node(path)
        return isinstance(node, Scalar) and node.value == "auto"

    def on(self, path: str) -> bool:
        return self.get(path) is True

    def off(self, path: str) -> bool:
        """Absent, null or false (by default or as written); never for "auto" or a value of the wrong type."""
        value = self.get(path)
        if value is not MISSING:
            return not value
        node = self.node(path)
        return node is None or (isinstance(node, Scalar) and node.value is None)

    def keys(self, path: str) -> Any:
        """The names written in a block (the whole config for ``""``), or MISSING."""
        node = self.resolved.root if path == "" else self.node(path)
        return [entry.name for entry in node.entries] if isinstance(node, MappingNode) else MISSING

    def fact(self, name: str) -> Any:
        """What is known of the hardware and the launch; how many processes it has the run's files may say."""
        value = self.project.facts.get(name)
        if value is None and name == "world_size":
            value = next((v for v in (self.get("plan.launch.processes"), self._own("launch.processes")) if v is not MISSING), None)
        if value is None:
            self.asked.add(name)
            return MISSING
        return value

    def _own(self, name: str) -> Any:
        return next((statement.value for statement in self.config.statements if statement.name == name), MISSING)

    def env(self, name: str) -> Any:
        return self.project.facts.env.get(name, MISSING)

    def each(self, patterns: tuple[tuple[str, str], ...]) -> Iterator[Place]:
        """The written keys that match any of the patterns, as (path, "") or (path of the block with its dot, pattern of the name).

        ``[*]`` in a path stands for every element of a list.
        """
        places = self.resolved.places
        for start, pattern in patterns:
            if "[*]" in start:
                matching = _every_element(start + pattern)
                yield from (Place(path, path.rpartition(".")[2], self.get(path)) for path in list(places) if matching(path))
                continue
            if not pattern:
                if start in places:
                    yield Place(start, start.rpartition(".")[2], self.get(start))
                continue
            for path in list(places):
                name = path[len(start) :]
                if path.startswith(start) and "." not in name and fnmatchcase(name, pattern):
                    yield Place(path, name, self.get(path))

    def companion(self, kind: str) -> Document | None:
        """The document behind a link that is no config: ``data``, ``adapter``, ``model``."""
        return self.config.companions.get(kind)

    def path(self, canonical: str) -> Path:
        """The absolute path in the document: of the key as it is written, else where the canonical one would be."""
        return self.resolved.path(canonical)
