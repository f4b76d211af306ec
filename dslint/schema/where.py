"""Where a key belongs that stands in the wrong block."""

from __future__ import annotations

from functools import cache

from dslint.schema.lookup import VersionedSchema

# names that say nothing of the block they come from
GENERIC = frozenset(
    [
        "enabled",
        "params",
        "type",
        "name",
        "stage",
        "device",
        "version",
        "seed",
        "lr",
        "eps",
        "betas",
        "buffer_size",
        "buffer_count",
        "group",
        "team",
        "project",
        "job_name",
    ]
)


def belongs(schema: VersionedSchema, name: str, written: str) -> tuple[str, ...]:
    """The canonical paths at which exactly this key is read, other than ``written``; none for names that many blocks share."""
    if name in GENERIC:
        return ()
    places = tuple(place for place in _places(schema.framework, schema.version).get(name, ()) if place != written)
    return places if len(places) <= 2 else ()


@cache
def _places(framework: str, version: str) -> dict[str, tuple[str, ...]]:
    """Every key of a version with the paths at which it is read, those inside of by-type blocks under their common path."""
    from dslint.schema.lookup import Schema

    schema = Schema.load(framework).at(version)
    found: dict[str, dict[str, None]] = {}
    stack, seen = [(schema.root, "")], {("", schema.root)}
    while stack:
        block_name, prefix = stack.pop()
        for key, info in schema.block(block_name).keys.items():
            path = f"{prefix}.{key}" if prefix else key
            found.setdefault(key, {})[path] = None
            children = [info.block] if info.block else list(info.by_type.blocks.values()) if info.by_type else []
            for child in children:
                if (path, child) not in seen:
                    seen.add((path, child))
                    stack.append((child, path))
    return {key: tuple(paths) for key, paths in found.items()}
