"""What the schema knows of a place in an open file."""

from __future__ import annotations

import json
from collections.abc import Sequence as Many
from typing import Any, NamedTuple

from dslint.document import Document, Mapping, Node, Path, Sequence
from dslint.engine.config import Config
from dslint.plan.vocabulary import VOCABULARY
from dslint.schema.lookup import Block, KeyInfo
from dslint.schema.resolve import joined


class Known(NamedTuple):
    """A key of a config: its canonical path, and its facts where the schema has them."""

    config: Config
    canonical: str
    info: KeyInfo | None


def path_at(document: Document, offset: int) -> tuple[Path, bool] | None:
    """The innermost key whose name or value holds the offset, and whether it is the name; None where there is none."""
    path: list[str | int] = []
    node: Node | None = document.root
    while node is not None:
        below: Node | None = None
        if isinstance(node, Mapping):
            for entry in node.entries:
                if entry.key.start <= offset <= entry.key.end:
                    return (*path, entry.name), True
                if entry.value.span.start <= offset <= entry.value.span.end:
                    path.append(entry.name)
                    below = entry.value
                    break
        elif isinstance(node, Sequence):
            for number, item in enumerate(node.items):
                if item.span.start <= offset <= item.span.end:
                    path.append(number)
                    below = item
                    break
        node = below
    return (tuple(path), False) if path else None


def holder(configs: Many[Config], path: Path) -> Config | None:
    """The innermost config of a file that holds a place."""
    inside = [config for config in configs if path[: len(config.mount)] == config.mount]
    return max(inside, key=lambda config: len(config.mount), default=None)


def key_at(configs: Many[Config], path: Path) -> Known | None:
    """The key that is written at a path."""
    config = holder(configs, path)
    if config is None:
        return None
    for canonical, written in config.resolved.places.items():
        if written.path == path:
            return Known(config, canonical, written.info)
    return None


def block_at(config: Config, path: Path) -> tuple[str, Block] | None:
    """The canonical path and the block of the mapping at a path, whether it is written yet or not; None where no schema is known of it."""
    resolved = config.resolved
    canonical, block = "", resolved.blocks[""]
    info: KeyInfo | None = None
    for step in path[len(config.mount) :]:
        if isinstance(step, int):
            info, canonical = (info.items if info else None), f"{canonical}[{step}]"
        else:
            name = block.aliases.get(step, step)
            info, canonical = block.keys.get(name), joined(canonical, name)
        if canonical in resolved.blocks:
            block = resolved.blocks[canonical]
        elif info is not None and info.block is not None:
            block = resolved.schema.block(info.block)
        elif not (info is not None and info.items is not None and info.items.block is not None):
            return None
    return canonical, block


def described(config: Config, canonical: str, info: KeyInfo) -> str:
    """A key in Markdown: what it is, what it takes, and since when."""
    lines = [f"**{canonical}** · {config.form.title} {config.target.version}"]
    lines += [meaning for name in meant(config, canonical) if (meaning := VOCABULARY[name].meaning)]
    lines += [f"Takes {takes(info)}."]
    if info.default is not None:
        lines += [f"Default: `{shown(info.default)}`"]
    if info.auto is not None:
        lines += ['"auto" is filled in.' if info.auto != "engine" else '"auto" is worked out by the engine.']
    if info.deprecated is not None:
        lines += [f"Deprecated: use `{info.deprecated.replacement}`." if info.deprecated.replacement else "Deprecated."]
    if info.since is not None:
        lines += [f"Since {info.since}."]
    if info.removed is not None:
        lines += [f"Gone since {info.removed}."]
    return "\n\n".join(lines)


def takes(info: KeyInfo) -> str:
    """Types, choices and bounds in words."""
    if info.enum is not None:
        return "one of " + ", ".join(f"`{shown(choice)}`" for choice in info.enum)
    kinds = " or ".join(info.type) or "any value"
    bounds = [
        f"{word} {shown(limit)}"
        for word, limit in (
            ("at least", info.minimum),
            ("above", info.exclusive_minimum),
            ("at most", info.maximum),
            ("below", info.exclusive_maximum),
        )
        if limit is not None
    ]
    return ", ".join([kinds, *bounds])


def shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def meant(config: Config, canonical: str) -> list[str]:
    """The names of the Plan that a key states."""
    return list(dict.fromkeys(statement.name for statement in config.statements if statement.key == canonical))
