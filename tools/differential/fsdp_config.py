"""The Trainer's fsdp_config in the run of tools/differential/accelerate.py: self-made JSON files with one mistake each."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tools.differential.judges import Config
from tools.differential.makers import Makers, chosen
from tools.differential.parsers import Framework

TARGETS = {"transformers": "5.24.0", "accelerate": "1.15.0", "torch": "2.13.0"}
T, F = True, False

#: key -> values that the Trainer works with; read by hand from TrainingArguments, independent of dslint's schema
SHARED: dict[str, list[Any]] = {
    "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer", ["Qwen2DecoderLayer", "Qwen3DecoderLayer"]],
    "cpu_offload": [F, T],
    "auto_wrap_policy": ["TRANSFORMER_BASED_WRAP", "NO_WRAP"],
    "cpu_ram_efficient_loading": [T, F],
    "state_dict_type": ["FULL_STATE_DICT", "SHARDED_STATE_DICT"],
    "activation_checkpointing": [T, F],
    "xla": [F],
}
FIRST: dict[str, list[Any]] = {
    "reshard_after_forward": ["full_shard", "shard_grad_op", "hybrid_shard"],
    "forward_prefetch": [T, F],
    "backward_prefetch": ["backward_pre", "backward_post", "no_prefetch"],
    "use_orig_params": [T, F],
    "sync_module_states": [T],
    "limit_all_gathers": [T, F],
}
SECOND: dict[str, list[Any]] = {"reshard_after_forward": [T, F]}


def base(number: int) -> Config:
    rng = random.Random(f"fsdp_config {number}")
    version = rng.choice([1, 2, None])
    config = chosen(rng, SHARED, 0.6) | chosen(rng, FIRST if version == 1 else SECOND, 0.6)
    if version is not None:
        config["version"] = version
    if rng.random() < 0.4:
        config = {f"fsdp_{key}" if not key.startswith(("xla", "version")) else key: value for key, value in config.items()}
    if not config:
        config["cpu_offload"] = F
    items = list(config.items())
    rng.shuffle(items)
    return dict(items)


ADDED: list[tuple[str, Any]] = [
    ("version", 1), ("version", 2), ("reshard_after_forward", F), ("reshard_after_forward", T), ("reshard_after_forward", "full_shard"),
    ("reshard_after_forward", "FULL_SHARD"), ("reshard_after_forward", "hybrid_shard_zero2"), ("state_dict_type", "LOCAL_STATE_DICT"),
    ("state_dict_type", "SHARDED_STATE_DICT"), ("auto_wrap_policy", "SIZE_BASED_WRAP"), ("auto_wrap_policy", "NO_WRAP"), ("min_num_params", 2000),
    ("min_num_params", 0), ("forward_prefetch", T), ("backward_prefetch", "backward_pre"), ("sync_module_states", F), ("use_orig_params", F),
    ("cpu_ram_efficient_loading", T), ("activation_checkpointing", T), ("cpu_offload", T), ("limit_all_gathers", T), ("xla", T),
    ("xla_fsdp_v2", T), ("xla_fsdp_grad_ckpt", T), ("xla_fsdp_settings", {"compute_dtype": "bfloat16"}), ("transformer_layer_cls_to_wrap", "LlamaDecoderLayer"),
    ("fsdp_version", 1), ("fsdp_min_num_params", 1000),
]  # fmt: skip
FOREIGN: list[tuple[str, Any]] = [
    ("offload_params", T), ("fsdp_offload_params", T), ("sharding_strategy", "FULL_SHARD"), ("fsdp_sharding_strategy", "HYBRID_SHARD"),
    ("mixed_precision", "bf16"), ("gradient_checkpointing", T), ("activation_cpu_offload", T), ("fsdp", "full_shard"), ("wrap_policy", "NO_WRAP"),
    ("transformer_cls_names_to_wrap", ["LlamaDecoderLayer"]), ("backward_prefetch_policy", "BACKWARD_PRE"), ("zero_stage", 3), ("fsdp_cpu_offloading", T),
    ("dp_shard_size", 8), ("state_dict_config", {"offload_to_cpu": T}), ("activation_checkpointing_offload", T), ("ignored_modules", ".*embed.*"),
]  # fmt: skip
CHOICES = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "fsdp_")
    for name in ("auto_wrap_policy", "state_dict_type", "backward_prefetch", "reshard_after_forward")
)
LATER: frozenset[str] = frozenset()
BOOLEANS = ("cpu_ram_efficient_loading", "activation_checkpointing", "reshard_after_forward", "forward_prefetch", "use_orig_params")
READ_AS_TEXT = (*BOOLEANS, "sync_module_states", "limit_all_gathers", "version")


def meant(key: str, value: Any) -> bool:
    """Some booleans and the version are read through their text: quoted, they say the same."""
    return key.removeprefix("fsdp_") in READ_AS_TEXT and value in ("true", "false", "1", "2")


FSDP_CONFIG = Framework(
    name="transformers",
    tool="fsdp-config",
    release=TARGETS["transformers"],
    worker=Path(__file__).with_name("fsdp_config_worker.py"),
    input_format="fsdp",
    file="fsdp.json",
    targets=TARGETS,
    facts={"world_size": 8},
    mutants=Makers("fsdp_config", base, ADDED, FOREIGN, CHOICES, meant).mutants,
    text_of=lambda config: json.dumps(config, indent=2),
    later=LATER,
    linked={},
    about=(
        "## The Trainer's fsdp_config",
        "",
        "Self-made JSON files, judged by transformers 5.24.0: `TrainingArguments(fsdp=True, fsdp_config=…)` on a pretended world of 8 ranks, and the",
        "plugin of Accelerate 1.15.0 that the Trainer builds of it.",
    ),
)
