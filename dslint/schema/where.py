"""Where a key belongs that stands in the wrong block."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from dslint.schema.coerce import coerce
from dslint.schema.lookup import KeyInfo, VersionedSchema

# names that say nothing of the block they come from, or that scripts and model configs use for something of their own
GENERIC = frozenset(
    {
        "alpha", "api_key", "betas", "block_size", "buffer_count", "buffer_size", "classes", "data_parallel", "debug", "debug_log",
        "detailed", "device", "dtype", "enabled", "eps", "experiment_key", "experiment_name", "factor", "fast", "fused", "gamma",
        "group", "hidden_size", "job_name", "last_epoch", "lr", "max_grad_norm", "max_tokens", "max_value", "maximize", "metric",
        "metric_path", "milestones", "min_value", "mode", "model_info", "model_type", "momentum", "mp_size", "mpu", "name", "names",
        "num_bits", "num_epochs", "num_layers", "num_params", "num_workers", "offload", "online", "output_file", "output_path",
        "overwrite", "params", "partition", "passes", "power", "preset_model", "profile", "project", "ratio", "results_dir",
        "schedule_config", "schedule_type", "seed", "stage", "stages", "step_size", "team", "throughput", "top_k", "total_iters",
        "tp", "type", "use_reentrant", "verbose", "version", "workspace", "writer"
    }
)  # fmt: skip


class Home(NamedTuple):
    """A path at which a key is read. ``takes``: the facts of the key there; None where something else replaced it, with values of its own."""

    path: str
    takes: KeyInfo | None


def belongs(schema: VersionedSchema, name: str, written: str, value: Any) -> tuple[Home, ...]:
    """Where exactly this key is read, other than at ``written``, and such a value with it; none for names that many blocks share.

    A deprecated key's home is that of what replaced it.
    """
    if name in GENERIC:
        return ()
    homes = _homes(schema.framework, schema.version).get(name, ())
    fitting = tuple(home for home in homes if home.path != written and (home.takes is None or _alike(home.takes, value)))
    return fitting if len(fitting) <= 2 else ()


def _alike(takes: KeyInfo, value: Any) -> bool:
    """Are both a block, or both a plain value? One mistake at a time: the value need not be right."""
    return isinstance(value, dict) == ("object" in takes.type) or coerce(takes, value).ok


@cache
def _homes(framework: str, version: str) -> dict[str, tuple[Home, ...]]:
    """Every key of a version with the paths at which it is read, those inside of by-type blocks under their common path."""
    from dslint.schema.lookup import Schema

    schema = Schema.load(framework).at(version)
    found: dict[str, dict[str, Home]] = {}
    stack, seen = [(schema.root, "")], {("", schema.root)}
    while stack:
        block_name, prefix = stack.pop()
        for key, info in schema.block(block_name).keys.items():
            path = f"{prefix}.{key}" if prefix else key
            replacement = info.deprecated.replacement if info.deprecated else None
            home = Home(path, info) if replacement is None else Home(replacement, None)
            found.setdefault(key, {}).setdefault(home.path, home)
            children = [info.block] if info.block else list(info.by_type.blocks.values()) if info.by_type else []
            for child in children:
                if (path, child) not in seen:
                    seen.add((path, child))
                    stack.append((child, path))
    return {key: tuple(homes.values()) for key, homes in found.items()}
