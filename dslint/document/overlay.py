"""Values laid over a tree: those of the command line above those of a file."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any, NamedTuple

from dslint.document.tree import Entry, Mapping, Node, Path, Scalar, Sequence, Span

NOWHERE = Span(0, 0)


class Override(NamedTuple):
    path: Path
    value: Any

    @property
    def key(self) -> str:
        return ".".join(map(str, self.path))


def overlaid(root: Mapping, overrides: SequenceOf[Override]) -> Mapping:
    """The mapping with the values put in; the entries have no place in the text and are never edited."""
    for override in overrides:
        root = _put(root, override.path, override.value)
    return root


def _put(node: Mapping, path: Path, value: Any) -> Mapping:
    name, rest = str(path[0]), path[1:]
    entry = node.get(name)
    if rest:
        below = entry.value if entry is not None and isinstance(entry.value, Mapping) else Mapping(node.span, [])
        new: Node = _put(below, rest, value)
    else:
        new = _node(value)
    others = [other for other in node.entries if other.name != name]
    return Mapping(node.span, [*others, Entry(name, entry.key if entry else node.span, new, shared=True)])


def _node(value: Any) -> Node:
    if isinstance(value, dict):
        return Mapping(NOWHERE, [Entry(str(name), NOWHERE, _node(inner), shared=True) for name, inner in value.items()])
    if isinstance(value, list):
        return Sequence(NOWHERE, [_node(item) for item in value])
    return Scalar(NOWHERE, value)
