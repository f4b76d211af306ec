"""Where a key belongs that stands in the wrong block."""

from __future__ import annotations

from functools import cache

from dslint.schema.lookup import VersionedSchema

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
