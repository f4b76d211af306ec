"""What a rule sees of one config: values as the engine resolves them, and the places where they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from dslint.document import Document, Node, Path, Scalar, to_python
from dslint.document import Mapping as MappingNode
from dslint.engine.diagnostics import Fix, Severity
from dslint.engine.project import Project
from dslint.engine.versions import Version
from dslint.formats.base import Context
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

UNDEFINED = object()


class Finding(NamedTuple):
    """What a check yields. ``at``: canonical path. ``values``: more names for the message. The rest replaces the rule's own."""

    at: str
    values: Mapping[str, object] = {}
    message: str | None = None
    severity: Severity | None = None
    fixes: tuple[Fix, ...] | None = None


class Place(NamedTuple):
    """``it`` of a rule with ``each``: a written key. ``value`` is resolved."""

    path: str
    name: str
    value: Any


class View:
    """One config seen with its target versions, facts and context. Paths are canonical, dotted, relative to the mount."""

    def __init__(self, document: Document, resolved: Resolved, project: Project, context: Context | None, version: Version) -> None:
        self.document = document
        self.resolved = resolved
        self.project = project
        self.context = context
        self.version = version
        self._values: dict[str, Any] = dict(resolved.values)
        self.asked: set[str] = set()

    def get(self, path: str) -> Any:
        """The value that the engine will see, or MISSING."""
        value = self._values.get(path, UNDEFINED)
        if value is UNDEFINED:
            value = self._values[path] = self.resolved.default(path)
        return value

    def written(self, path: str) -> bool:
        return path in self.resolved.places

    def absent(self, path: str) -> bool:
        return path not in self.resolved.places

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
        value = self.project.facts.get(name)
        if value is None:
            self.asked.add(name)
            return MISSING
        return value

    def env(self, name: str) -> Any:
        return self.project.facts.env.get(name, MISSING)

    def each(self, patterns: tuple[tuple[str, str], ...]) -> Iterator[Place]:
        """The written keys that match any of the patterns, as (path, "") or (path of the block with its dot, pattern of the name)."""
        places = self.resolved.places
        for start, pattern in patterns:
            if not pattern:
                if start in places:
                    yield Place(start, start.rpartition(".")[2], self.get(start))
                continue
            for path in list(places):
                name = path[len(start) :]
                if path.startswith(start) and "." not in name and fnmatchcase(name, pattern):
                    yield Place(path, name, self.get(path))

    def path(self, canonical: str) -> Path:
        """The absolute path in the document: of the key as it is written, else where the canonical one would be."""
        return self.resolved.path(canonical)
