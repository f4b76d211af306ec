"""Keys that mean the same in two frameworks under one name, and need no place in the Plan."""

from __future__ import annotations

from dslint.convert.draft import Draft, Fate
from dslint.convert.run import leaves
from dslint.document import to_python
from dslint.engine.config import Config
from dslint.schema.coerce import coerce
from dslint.schema.lookup import Schema

# the newest transformers that LLaMA-Factory 0.9.5 takes
BOTH_KNOW = "5.6.0"
OF_TRANSFORMERS = ("trainer", "llamafactory")
# arguments of the Trainer that Axolotl hands on as they are (axolotl/core/builders/base.py, axolotl/utils/schemas/*.py: 0.21.0)
AXOLOTL_TOO = frozenset(
    [
        "auto_find_batch_size", "dataloader_drop_last", "dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor",
        "ddp_broadcast_buffers", "ddp_bucket_cap_mb", "ddp_find_unused_parameters", "ddp_timeout", "do_bench_eval", "greater_is_better",
        "group_by_length", "hub_model_id", "hub_strategy", "include_tokens_per_second", "lr_scheduler_kwargs", "metric_for_best_model",
        "neftune_noise_alpha", "optim_args", "optim_target_modules", "remove_unused_columns", "save_safetensors", "torch_empty_cache_steps",
    ]
)  # fmt: skip


def pass_over(draft: Draft, target: str) -> None:
    """Take over the keys of the source that the target knows by the same name and that nothing else has spoken of."""
    tree = draft.files[""]
    for config in draft.run.family.configs:
        if config.mount or config.form.name not in (*OF_TRANSFORMERS, "axolotl", "accelerate"):
            continue
        stated = {statement.key.split(".")[0].split("[")[0] for statement in config.statements}
        for path in leaves(config):
            top = path.split(".")[0].split("[")[0]
            place = config.resolved.places.get(top)
            if place is None or top in stated or not _same(config, target, top):
                continue
            info = draft.block.keys.get(top)
            if info is None or info.deprecated is not None or (top in tree and (config.document.file, path) not in draft.kept):
                continue
            value = to_python(place.node)
            outcome = coerce(info, value)
            if value is None or not (outcome.ok or info.block is not None):
                continue
            draft.put(top, value, subject="other")
            draft.kept[config.document.file, path] = Fate("carried", path)


def _same(config: Config, target: str, key: str) -> bool:
    """Does a top-level key mean the same to the target?"""
    source = config.form.name
    if source == target:
        return key not in ("deepspeed", "fsdp", "fsdp_config")
    both = {source, target}
    if both <= {*OF_TRANSFORMERS}:
        info = Schema.load("transformers").at(BOTH_KNOW).block("arguments").keys.get(key)
        return info is not None and info.source.startswith("transformers/")
    known = Schema.load("transformers").at(BOTH_KNOW).block("arguments").keys
    return both <= {*OF_TRANSFORMERS, "axolotl"} and key in AXOLOTL_TOO and (target == "axolotl" or key in known)
