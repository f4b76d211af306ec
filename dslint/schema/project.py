"""A version's schema as standard JSON Schema (2020-12), for editors and other validators.

Stricter than the engine where JSON Schema has no words for what it does: a key that nothing reads is refused everywhere (people's comments, ``_x``,
``//x``, ``#x``, are not, where the engine ignores them), and values that only coercion makes fit (``"3"`` for 3) are refused. Looser in one thing:
JSON Schema cannot tell 8.0 from 8.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from dslint.schema.lookup import Block, ByType, KeyInfo, VersionedSchema

JsonSchema: TypeAlias = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMMENTS = "^(_|//|#)"
BOUNDS = {
    "minimum": "minimum",
    "exclusive_minimum": "exclusiveMinimum",
    "maximum": "maximum",
    "exclusive_maximum": "exclusiveMaximum",
}


def project(schema: VersionedSchema) -> JsonSchema:
    """The JSON Schema of a whole config at one version."""
    root = _object(schema.block(schema.root))
    root["properties"] = {"$schema": {"type": "string"}, **root["properties"]}
    parts = {name: _object(schema.block(name)) for name in _reached(schema) if name != schema.root}
    return {"$schema": DIALECT, "title": f"{schema.framework} {schema.version}", **root, "$defs": parts}


def _reached(schema: VersionedSchema) -> list[str]:
    """The blocks that a config of this version can hold, the root first."""
    names = [schema.root]
    for name in names:
        for info in schema.block(name).keys.values():
            below = [info.block] if info.block else list(info.by_type.blocks.values()) if info.by_type else []
            names += [child for child in dict.fromkeys(below) if child not in names]
    return names


def _object(block: Block) -> JsonSchema:
    spellings = {alias: name for alias, name in block.aliases.items() if name in block.keys}
    projected: JsonSchema = {
        "type": "object",
        "properties": {name: _value(info) for name, info in block.keys.items()}
        | {alias: _value(block.keys[name]) for alias, name in spellings.items()},
        "additionalProperties": False,
    }
    if block.unknown == "ignored":
        projected["patternProperties"] = {COMMENTS: True}
    if required := [name for name, info in block.keys.items() if info.required]:
        projected["required"] = required
    if cases := [case for name, info in block.keys.items() if info.by_type for case in _cases(name, info.by_type)]:
        projected["allOf"] = cases
    return projected


def _cases(name: str, by_type: ByType) -> list[JsonSchema]:
    """One condition for each block that a sibling's value selects."""
    return [
        {
            "if": {
                "properties": {by_type.key: {"const": value} if by_type.exact else {"pattern": _any_case(value)}},
                "required": [by_type.key],
            },
            "then": {"properties": {name: {"anyOf": [_part(block), {"not": {"type": "object"}}]}}},
        }
        for value, block in by_type.blocks.items()
    ]


def _part(block: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{block}"}


def _value(info: KeyInfo) -> JsonSchema:
    plain = _plain(info)
    if info.block is not None:
        others = [kind for kind in info.type if kind != "object"]
        plain = {"anyOf": [_part(info.block), {**plain, "type": others}]} if others else _part(info.block)
    if info.auto is not None:
        plain = {"anyOf": [{"const": "auto"}, plain]}
    elif info.enum is None and (not info.type or "string" in info.type):
        plain |= {"not": {"const": "auto"}}
    return plain | _notes(info)


def _plain(info: KeyInfo) -> JsonSchema:
    """Types, choices and bounds."""
    if not info.type:
        return {}
    plain: JsonSchema = {"type": info.type[0] if len(info.type) == 1 else list(info.type)}
    if info.enum is not None and info.casefold:
        plain["pattern"] = "|".join(_any_case(str(choice)) for choice in info.enum)
    elif info.enum is not None:
        plain["enum"] = [*info.enum, *([None] if "null" in info.type else [])]
    plain |= {word: limit for name, word in BOUNDS.items() if (limit := getattr(info, name)) is not None}
    if info.items is not None:
        plain["items"] = _plain(info.items)
    return plain


def _notes(info: KeyInfo) -> JsonSchema:
    notes: JsonSchema = {}
    if info.default is not None:
        notes["default"] = info.default
    if info.deprecated is not None:
        notes["deprecated"] = True
        if info.deprecated.replacement:
            notes["description"] = f"Deprecated: use {info.deprecated.replacement}."
    elif info.since is not None:
        notes["description"] = f"Since {info.since}."
    return notes


def _any_case(word: str) -> str:
    """A pattern for exactly this word in upper, lower or mixed case."""
    letters = (f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else re.escape(letter) for letter in word)
    return f"^{''.join(letters)}$"
