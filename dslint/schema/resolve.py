"""A config laid against the schema of its version: what the engine will see of each key, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from dslint.document import Mapping, Node, Path, Scalar, Sequence, to_python
from dslint.schema.coerce import coerce
from dslint.schema.lookup import Block, KeyInfo, VersionedSchema
from dslint.schema.missing import MISSING

IssueKind: TypeAlias = Literal["unknown", "type", "bound", "enum", "auto", "removed", "deprecated", "required"]


class Written(NamedTuple):
    """A key as it is written: its path in the document, its value, and what the schema knows of it (None: unknown)."""

    path: Path
    node: Node
    info: KeyInfo | None


class Issue(NamedTuple):
    """Something that the schema alone can say. ``canonical``: the dotted path; ``block``: the one that holds the key."""

    kind: IssueKind
    canonical: str
    path: Path
    block: Block
    info: KeyInfo | None
    node: Node | None
    detail: str = ""


@dataclass(slots=True)
class Resolved:
    """``values`` and ``places`` by canonical path; ``blocks``: those that are written, the root as ``""``."""

    root: Mapping
    mount: Path
    schema: VersionedSchema
    values: dict[str, Any]
    places: dict[str, Written]
    blocks: dict[str, Block]
    issues: list[Issue]
    autos: list[str]
    placeholders: list[str]

    def get(self, path: str) -> Any:
        """The value that the engine will see: as written and coerced, else the default; MISSING where there is neither."""
        return self.values[path] if path in self.values else self.default(path)

    def default(self, path: str) -> Any:
        """The value of a key that is not written: its default where its block is, else MISSING."""
        if path in self.places:
            return MISSING
        parent, _, name = path.rpartition(".")
        block = self.blocks.get(parent)
        info = block.keys.get(name) if block else None
        return MISSING if info is None or info.default is None else info.default

    def path(self, canonical: str) -> Path:
        """The absolute path of a canonical one: as written, else below its nearest written ancestor; ``""`` is the config itself."""
        if not canonical:
            return self.mount
        if place := self.places.get(canonical):
            return place.path
        parent, _, name = canonical.rpartition(".")
        return (*(self.path(parent) if parent else self.mount), name)


def resolve(root: Mapping, mount: Path, schema: VersionedSchema, block: str | None = None) -> Resolved:
    """Lay the mapping at ``mount`` against a version's schema, from ``block`` on (the schema's own root where none is given)."""
    resolved = Resolved(root, mount, schema, {}, {}, {}, [], [], [])
    _block(resolved, root, mount, "", schema.block(block or schema.root))
    return resolved


def joined(block: str, name: str) -> str:
    """The canonical path of a key; one with a dot in its own name stands in brackets, so that it is never taken for a path."""
    if "." in name:
        return f'{block}["{name}"]'
    return f"{block}.{name}" if block else name


def _block(resolved: Resolved, node: Mapping, path: Path, prefix: str, block: Block) -> None:
    resolved.blocks[prefix] = block
    entries = node.entries
    if block.deciding:
        entries = sorted(entries, key=lambda entry: block.aliases.get(entry.name, entry.name) not in block.deciding)
    for entry in entries:
        name = block.aliases.get(entry.name, entry.name)
        info = block.keys.get(name)
        here, canonical = (*path, entry.name), joined(prefix, name)
        resolved.places[canonical] = Written(here, entry.value, info)
        if info is None and block.unknown == "open":
            continue
        if info is None:
            _note(resolved, "unknown", canonical, here, block, None, entry.value)
            if resolved.schema.autos and isinstance(entry.value, Scalar) and entry.value.value == "auto":
                resolved.autos.append(canonical)
            continue
        if info.deprecated is not None:
            _note(resolved, "deprecated", canonical, here, block, info, entry.value)
        _value(resolved, entry.value, here, canonical, block, info)
    for name in block.required:
        if (canonical := joined(prefix, name)) not in resolved.places:
            _note(resolved, "required", canonical, (*path, name), block, block.keys[name], None)


def _value(resolved: Resolved, node: Node, path: Path, canonical: str, block: Block, info: KeyInfo) -> None:
    if resolved.schema.autos and isinstance(node, Scalar) and node.value == "auto":
        if info.auto != "engine":
            resolved.autos.append(canonical)
            _note(resolved, "auto", canonical, path, block, info, node)
        else:
            resolved.values[canonical] = "auto"
        return
    child = _child_block(resolved, canonical, info)
    if isinstance(node, Mapping) and child is not None:
        resolved.values[canonical] = to_python(node)
        _block(resolved, node, path, canonical, child)
        return
    if isinstance(node, Mapping):
        _record(resolved, node, path, canonical)
    if isinstance(node, Sequence) and info.items is not None and (info.items.block is not None or info.items.by_type is not None):
        resolved.values[canonical] = to_python(node)
        for number, item in enumerate(node.items):
            _item(resolved, item, (*path, number), f"{canonical}[{number}]", block, info.items)
        return
    outcome = coerce(info, to_python(node))
    if outcome.ok:
        resolved.values[canonical] = MISSING if outcome.value is None else outcome.value
    elif is_placeholder(node) and not _is_choice(info, node) and not _is_auto(resolved, node):
        resolved.placeholders.append(canonical)
    else:
        _note(resolved, outcome.kind, canonical, path, block, info, node, outcome.expected)


def _item(resolved: Resolved, node: Node, path: Path, canonical: str, block: Block, info: KeyInfo) -> None:
    """One element of a list of objects: ``datasets[0]``."""
    resolved.places[canonical] = Written(path, node, info)
    _value(resolved, node, path, canonical, block, info)


def _record(resolved: Resolved, node: Mapping, path: Path, canonical: str) -> None:
    """Where the keys of a block stand of which no schema is known."""
    for entry in node.entries:
        resolved.places[f"{canonical}.{entry.name}"] = Written((*path, entry.name), entry.value, None)


def _child_block(resolved: Resolved, canonical: str, info: KeyInfo) -> Block | None:
    """The block of an object key; of one that depends on its sibling's value, the one that the value names."""
    if info.block is not None:
        return resolved.schema.block(info.block)
    if info.by_type is None:
        return None
    parent = canonical.rpartition(".")[0]
    named = resolved.values.get(f"{parent}.{info.by_type.key}" if parent else info.by_type.key)
    chosen = named if info.by_type.exact or not isinstance(named, str) else named.lower()
    name = info.by_type.blocks.get(chosen, info.by_type.default) if isinstance(chosen, str) else info.by_type.default
    return resolved.schema.block(name) if name else None


def _note(
    resolved: Resolved, kind: IssueKind, canonical: str, path: Path, block: Block, info: KeyInfo | None, node: Node | None, detail: str = ""
) -> None:
    resolved.issues.append(Issue(kind, canonical, path, block, info, node, detail))


PLACEHOLDER = re.compile(
    r"\$\{.+\}|\$\(.+\)|\$\w+|\{\{.+\}\}|<[^<>]+>|%\w+%|__\w+__|@\w+@|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z]{4,}[0-9]*", re.DOTALL
)


def _is_choice(info: KeyInfo, node: Node) -> bool:
    """One of the key's own choices in another case, or as plain a word as they are."""
    value = node.value if isinstance(node, Scalar) else None
    words = {choice.lower() for choice in info.enum or () if isinstance(choice, str)}
    return isinstance(value, str) and (value.lower() in words or (bool(words) and value.isalnum()))


def _is_auto(resolved: Resolved, node: Node) -> bool:
    return resolved.schema.autos and isinstance(node, Scalar) and str(node.value).lower() == "auto"


def is_placeholder(node: Node) -> bool:
    """Does this look like a template's gap (``${X}``, ``{{ x }}``, ``<x>``, ``GB_SIZE``) that a launcher fills before the engine reads it?"""
    return isinstance(node, Scalar) and isinstance(node.value, str) and PLACEHOLDER.fullmatch(node.value.strip().rstrip(",")) is not None
