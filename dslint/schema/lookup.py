"""The keys of a framework by version, from ``schemas/<framework>.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from dslint.schema.data import data_path
from dslint.schema.suggest import Known


class ByType(NamedTuple):
    """A block that depends on a sibling key: ``blocks`` by the value of ``key``, lower-cased unless ``exact``, else ``default``."""

    key: str
    blocks: Mapping[str, str]
    exact: bool = False
    default: str | None = None


class Deprecated(NamedTuple):
    replacement: str | None = None
    note: str = ""


class KeyInfo(NamedTuple):
    """What a version knows of one key; the fields are described in docs/schema.md."""

    type: tuple[str, ...] = ()
    coerce: str = "pydantic"
    default: Any = None
    required: bool = False
    minimum: float | None = None
    exclusive_minimum: float | None = None
    maximum: float | None = None
    exclusive_maximum: float | None = None
    enum: tuple[Any, ...] | None = None
    aliases: tuple[str, ...] = ()
    block: str | None = None
    by_type: ByType | None = None
    items: KeyInfo | None = None
    auto: str | None = None
    native_auto: str | None = None
    deprecated: Deprecated | None = None
    renamed_to: str | None = None
    since: str | None = None
    removed: str | None = None
    removed_effect: str | None = None
    tolerant: bool = False
    casefold: bool = False
    source: str = ""


NAMES = frozenset(KeyInfo._fields)


class Block(NamedTuple):
    """One object of the config. ``unknown``: what happens to a key that is not in ``keys``. ``gone``: keys of other versions. ``required``: names.
    ``deciding``: keys whose value says which block a sibling is.
    """

    name: str
    unknown: str
    keys: Mapping[str, KeyInfo]
    aliases: Mapping[str, str]
    gone: Mapping[str, KeyInfo]
    required: tuple[str, ...]
    deciding: frozenset[str] = frozenset()


@dataclass
class VersionedSchema:
    """A schema seen from one version; blocks are built when they are asked for. ``autos``: the word "auto" stands for a value that someone fills in."""

    framework: str
    version: str
    root: str
    autos: bool
    _raw: Mapping[str, Any]
    _blocks: dict[str, Block] = field(default_factory=dict)
    _near: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _known: dict[str, Known] = field(default_factory=dict)

    def block(self, name: str) -> Block:
        """Raises KeyError for a name that the schema does not have."""
        if name not in self._blocks:
            self._blocks[name] = self._build(name)
        return self._blocks[name]

    def key(self, path: str, root: str | None = None) -> KeyInfo | None:
        """The facts of a key by its path from ``root`` (the schema's own) on; None where there is none, or it depends on a sibling."""
        block: Block | None = self.block(root or self.root)
        *parents, name = path.split(".")
        for parent in parents:
            info = block.keys.get(parent) if block else None
            block = self.block(info.block) if info and info.block else None
        return block.keys.get(name) if block else None

    def near(self, block: Block, name: str) -> str | None:
        """The key of a block that a name which it does not have plainly stands for."""
        if (block.name, name) not in self._near:
            if block.name not in self._known:
                self._known[block.name] = Known(key for key, info in block.keys.items() if info.deprecated is None)
            self._near[block.name, name] = self._known[block.name].near(name)
        return self._near[block.name, name]

    def block_names(self) -> tuple[str, ...]:
        return tuple(self._raw)

    def _build(self, name: str) -> Block:
        raw = self._raw[name]
        version = _numbers(self.version)
        keys: dict[str, KeyInfo] = {}
        gone: dict[str, KeyInfo] = {}
        for key, facts in raw["keys"].items():
            info = key_info(facts, self.version)
            live = (info.since is None or _numbers(info.since) <= version) and (info.removed is None or version < _numbers(info.removed))
            (keys if live else gone)[key] = info
        aliases = {alias: key for key, info in keys.items() for alias in info.aliases}
        unknown = raw["unknown"]
        for change in raw.get("unknown_changes", ()):
            unknown = change["unknown"] if _numbers(change["since"]) <= version else unknown
        required = tuple(key for key, info in keys.items() if info.required)
        deciding = frozenset(info.by_type.key for info in keys.values() if info.by_type is not None)
        return Block(name, unknown, keys, aliases, gone, required, deciding)


@dataclass(frozen=True)
class Schema:
    framework: str
    versions: tuple[str, ...]
    root: str
    blocks: Mapping[str, Any]
    autos: bool = False

    @classmethod
    @cache
    def load(cls, framework: str) -> Schema:
        """Raises FileNotFoundError for a framework without a schema."""
        with open(os.path.join(data_path("schemas"), f"{framework}.json"), "rb") as file:
            raw = json.load(file)
        return cls(framework, tuple(raw["versions"]), raw["root"], raw["blocks"], raw.get("autos", False))

    @property
    def newest(self) -> str:
        return self.versions[-1]

    def at(self, version: str) -> VersionedSchema:
        """The schema of a version; one between two that were extracted follows the ``since`` and ``removed`` of each key."""
        return _at(self.framework, version)


@cache
def _at(framework: str, version: str) -> VersionedSchema:
    schema = Schema.load(framework)
    return VersionedSchema(framework, version, schema.root, schema.autos, schema.blocks)


def key_info(facts: Mapping[str, Any], version: str) -> KeyInfo:
    """A key's facts as written in the schema, with the changes up to a version laid over them."""
    values = dict(facts)
    for change in values.pop("changes", ()):
        if _numbers(change["since"]) <= _numbers(version):
            values.update({name: value for name, value in change.items() if name != "since"})
    for name in ("type", "enum", "aliases"):
        if values.get(name) is not None:
            values[name] = (values[name],) if isinstance(values[name], str) else tuple(values[name])
    if values.get("items"):
        values["items"] = key_info({"coerce": values.get("coerce", "pydantic"), **values["items"]}, version)
    if values.get("by_type"):
        values["by_type"] = ByType(**values["by_type"])
    if values.get("deprecated") is not None:
        values["deprecated"] = Deprecated(**values["deprecated"])
    return KeyInfo(**{name: value for name, value in values.items() if name in NAMES and value is not None})


@cache
def _numbers(version: str) -> tuple[int, ...]:
    """``0.16.4`` as ``(0, 16, 4)``; anything that is not a number ends it."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers + [0] * (3 - len(numbers)))
