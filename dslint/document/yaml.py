"""YAML with spans: libyaml composes the nodes, scalars are resolved as PyYAML's SafeLoader (YAML 1.1) does, nothing is constructed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import yaml

from dslint.document.codes import CODES, MAXIMUM_DEPTH
from dslint.document.tree import Document, Entry, Mapping, Node, Path, Problem, Scalar, Sequence, Span

MAXIMUM_NODES = 100_000
FASTEST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE = "tag:yaml.org,2002:merge"


RESOLVER: Any = yaml.SafeLoader("")


@lru_cache(maxsize=10_000)
def _scalar_tag(value: str, implicit: tuple[bool, bool]) -> str:
    return str(RESOLVER.resolve(yaml.ScalarNode, value, implicit))


class Loader(FASTEST):  # type: ignore[misc]
    """Remembers the tags of scalars: the same words come again in every config."""

    def resolve(self, kind: type, value: Any, implicit: Any) -> Any:
        return _scalar_tag(value, implicit) if kind is yaml.ScalarNode else super().resolve(kind, value, implicit)

    def descend_resolver(self, node: Any, index: Any) -> None:
        """No tag depends on where a node stands."""

    def ascend_resolver(self) -> None:
        """No tag depends on where a node stands."""


class _Stop(Exception):
    def __init__(self, code: str, span: Span, message: str) -> None:
        self.problem = Problem(code, CODES[code][0], span, message)


def load_yaml(document: Document) -> None:
    """Fill in root, problems and duplicates of a document from its text."""
    loader = Loader(document.text)
    try:
        composed = loader.get_node() if loader.check_node() else None
        if composed is not None:
            document.root = _Reader(document).node(composed, (), shared=False)
        if loader.check_node():
            start = loader.get_node().start_mark.index
            message = "the file holds several documents; only the first is read"
            document.problems.append(Problem("PA013", CODES["PA013"][0], Span(start, start + 1), message, "warning"))
    except _Stop as stop:
        document.root = None
        document.problems.append(stop.problem)
    except RecursionError:
        document.root = None
        document.problems.append(Problem("PA007", CODES["PA007"][0], Span(0, 1), f"nested more than {MAXIMUM_DEPTH} levels deep"))
    except yaml.YAMLError as error:
        document.root = None
        mark = getattr(error, "problem_mark", None)
        start = min(mark.index if mark else 0, max(0, len(document.text) - 1))
        what = getattr(error, "problem", None) or str(error)
        context = getattr(error, "context", None)
        message = f"{context}: {what}" if context else str(what)
        document.problems.append(Problem("PA002", CODES["PA002"][0], Span(start, start + 1), message))
    finally:
        loader.dispose()


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.count = 0
        self.open: set[int] = set()
        self.seen: set[int] = set()

    def node(self, composed: Any, path: Path, shared: bool) -> Node:
        span = Span(composed.start_mark.index, composed.end_mark.index)
        self.count += 1
        if self.count > MAXIMUM_NODES:
            raise _Stop("PA011", span, f"aliases and merge keys expand the file beyond {MAXIMUM_NODES:,} nodes")
        if len(path) > MAXIMUM_DEPTH or id(composed) in self.open:
            raise _Stop("PA007", span, f"nested more than {MAXIMUM_DEPTH} levels deep (or inside itself through an alias)")
        shared = shared or id(composed) in self.seen
        self.seen.add(id(composed))
        if isinstance(composed, yaml.ScalarNode):
            return Scalar(span, self.scalar(composed, span))
        self.open.add(id(composed))
        try:
            if isinstance(composed, yaml.SequenceNode):
                self.known_tag(composed, span, "seq")
                items = [self.node(item, (*path, number), shared) for number, item in enumerate(composed.value)]
                return Sequence(self.trimmed(span, composed), items)
            self.known_tag(composed, span, "map")
            return Mapping(self.trimmed(span, composed), self.entries(composed, path, shared))
        finally:
            self.open.discard(id(composed))

    def entries(self, composed: Any, path: Path, shared: bool) -> list[Entry]:
        merged: list[Entry] = []
        own: list[Entry] = []
        first: dict[str, Span] = {}
        for key, value in composed.value:
            span = Span(key.start_mark.index, key.end_mark.index)
            if key.tag == MERGE:
                merged += self.merge(value, path)
                continue
            name = self.name(key, span)
            if name in first:
                self.duplicate(path, name, first[name], span)
            first[name] = span
            own.append(Entry(name, span, self.node(value, (*path, name), shared), shared))
        names = {entry.name for entry in own}
        inherited: dict[str, Entry] = {}
        for entry in merged:
            if entry.name not in names:
                inherited.setdefault(entry.name, entry)
        return [*inherited.values(), *own]

    def merge(self, value: Any, path: Path) -> list[Entry]:
        sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
        found: list[Entry] = []
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise _Stop(
                    "PA002", Span(source.start_mark.index, source.end_mark.index), "a merge key << takes a mapping or a list of mappings"
                )
            node = self.node(source, path, shared=True)
            assert isinstance(node, Mapping)
            found += [Entry(entry.name, entry.key, entry.value, shared=True) for entry in node.entries]
        return found

    def name(self, key: Any, span: Span) -> str:
        if not isinstance(key, yaml.ScalarNode):
            raise _Stop("PA002", span, "a key is a plain word or a string, not a list or mapping")
        value = self.scalar(key, span)
        return value if isinstance(value, str) else str(key.value)

    def scalar(self, composed: Any, span: Span) -> str | int | float | bool | None:
        tag = composed.tag
        kind = tag.removeprefix("tag:yaml.org,2002:")
        if kind in ("str", "timestamp", "binary", "value", "merge"):
            return str(composed.value)
        if kind not in ("null", "bool", "int", "float"):
            raise _Stop("PA012", span, f"the tag {tag} builds an object: safe loaders refuse it")
        try:
            value: int | float | bool | None = RESOLVER.yaml_constructors[tag](RESOLVER, composed)
        except (ValueError, KeyError, IndexError, OverflowError):
            raise _Stop("PA002", span, f"{str(composed.value)[:40]!r} is no {kind}") from None
        return value

    def known_tag(self, composed: Any, span: Span, kind: str) -> None:
        if composed.tag != f"tag:yaml.org,2002:{kind}":
            raise _Stop("PA012", span, f"the tag {composed.tag} builds an object: safe loaders refuse it")

    def trimmed(self, span: Span, composed: Any) -> Span:
        """A block collection's end mark lies behind the comments that follow it; its own end is that of its last line of content."""
        if composed.flow_style:
            return span
        last = composed.value[-1] if composed.value else None
        if isinstance(last, tuple):
            last = last[1]
        end = last.end_mark.index if last is not None else span.start
        body = self.document.text[span.start : end]
        return Span(span.start, span.start + len(body.rstrip()))

    def duplicate(self, path: Path, name: str, first: Span, second: Span) -> None:
        lines = [self.document.line_column(span.start)[0] for span in (first, second)]
        message = f"{name} is written twice in this block (lines {lines[0]} and {lines[1]})"
        related = ((first, f"{name} is first written here"),)
        self.document.duplicates.append(Problem("PA005", CODES["PA005"][0], second, message, path=(*path, name), related=related))
