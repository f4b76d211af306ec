"""One mistake made in a base config, of a known kind at a known place; the same seed makes the same mutants."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from dslint.checks.context import FILLED_BY_HF
from tools.differential.bases import base
from tools.differential.catalogue import KEYS, OPTIMIZERS, SCHEDULERS, STAGE3, known
from tools.differential.judges import Config

Where: TypeAlias = tuple[str, ...]
BASES = 10_000


@dataclass(frozen=True, slots=True)
class Mutant:
    """``odd``: the path of a key that DeepSpeed does not know at its place, so that accepting it means swallowing it."""

    base: int
    kind: str
    path: Where
    what: str
    config: Config
    odd: Where | None = None


# blocks of pydantic models, where a quoted boolean is a boolean
COERCED = ("zero_optimization", "fp16", "bf16", "tensorboard", "wandb", "csv_monitor", "comet", "comms_logger", "compile", "hybrid_engine", "tensor_parallel")  # fmt: skip
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")

#: keys of other versions, other tools and other blocks: (block, key, value)
FOREIGN: list[tuple[str, str, Any]] = [
    ("", "amp", {"enabled": True, "opt_level": "O1"}),
    ("", "elasticity", {"enabled": True, "max_train_batch_size": 2000, "micro_batch_sizes": [2, 4, 6]}),
    ("", "sparse_attention", {"mode": "fixed", "block": 16}),
    ("", "curriculum_learning", {"enabled": True, "curriculum_type": "seqlen"}),
    ("", "progressive_layer_drop", {"enabled": True, "theta": 0.5}),
    ("", "compression_training", {"weight_quantization": {}}),
    ("", "quantize_training", {"enabled": True}),
    ("", "eigenvalue", {"enabled": False}),
    ("", "nebula", {"enabled": True}),
    ("", "sparse_gradients", True),
    ("", "graph_harvesting", False),
    ("", "fp32_allreduce", True),
    ("", "allgather_size", 500_000_000),
    ("", "tutel", {"enabled": True}),
    ("", "checkpoint_parallel_write_pipeline", True),
    ("", "per_device_train_batch_size", 4),
    ("", "micro_batch_size", 2),
    ("", "micro_batch_size_per_gpu", 2),
    ("", "train_micro_batch_size", 2),
    ("", "global_batch_size", 32),
    ("", "gradient_accumulation", 4),
    ("", "gradient_checkpointing", True),
    ("", "learning_rate", 1e-4),
    ("", "lr", 1e-4),
    ("", "weight_decay", 0.01),
    ("", "lr_scheduler", {"type": "WarmupLR"}),
    ("", "lr_scheduler_type", "cosine"),
    ("", "num_train_epochs", 3),
    ("", "max_steps", 1000),
    ("", "warmup_steps", 100),
    ("", "warmup_ratio", 0.1),
    ("", "max_grad_norm", 1.0),
    ("", "clip_grad", 1.0),
    ("", "output_dir", "out"),
    ("", "logging_steps", 10),
    ("", "seed", 42),
    ("", "mixed_precision", "bf16"),
    ("", "num_processes", 8),
    ("", "zero3_init_flag", True),
    ("", "zero_stage", 3),
    ("", "offload_optimizer_device", "cpu"),
    ("", "fsdp_config", {"fsdp_offload_params": True}),
    ("", "model_name_or_path", "m"),
    ("", "max_seq_len", 2048),
    ("", "transformer_engine", {"enabled": True}),
    ("", "tensor_model_parallel_size", 2),
    ("", "pipeline_parallel_size", 2),
    ("", "use_cache", False),
    ("", "dtype", "bfloat16"),
    ("", "stage", 3),
    ("", "enabled", True),
    ("", "loss_scale", 0),
    ("", "overlap_comm", True),
    ("", "reduce_bucket_size", 500_000_000),
    ("", "offload_optimizer", {"device": "cpu"}),
    ("", "offload_param", {"device": "cpu"}),
    ("", "betas", [0.9, 0.95]),
    ("", "bfloat16", {"enabled": True}),
    ("", "float16", {"enabled": True}),
    ("zero_optimization", "cpu_offload", True),
    ("zero_optimization", "cpu_offload_params", True),
    ("zero_optimization", "cpu_offload_use_pin_memory", True),
    ("zero_optimization", "stage3_gather_fp16_weights_on_model_save", True),
    ("zero_optimization", "mics_shard_size", 8),
    ("zero_optimization", "zeropp_loco_param", {"err_beta": 0.8}),
    ("zero_optimization", "grad_hooks", True),
    ("zero_optimization", "gather_fp16_weights_on_model_save", True),
    ("zero_optimization", "enabled", True),
    ("zero_optimization", "device", "cpu"),
    ("zero_optimization", "pin_memory", True),
    ("zero_optimization", "gradient_clipping", 1.0),
    ("zero_optimization", "aio", {"block_size": 1048576}),
    ("zero_optimization", "zero_allow_untested_optimizer", True),
    ("zero_optimization.offload_optimizer", "max_in_cpu", 1_000_000_000),
    ("zero_optimization.offload_optimizer", "buffer_size", 100_000_000),
    ("zero_optimization.offload_param", "ratio", 0.5),
    ("fp16", "fp16_opt_level", "O2"),
    ("fp16", "opt_level", "O2"),
    ("fp16", "loss_scale_power", 16),
    ("fp16", "min_scale", 1),
    ("bf16", "auto_cast", False),
    ("bf16", "loss_scale", 0),
    ("bf16", "check_overflow", True),
    ("aio", "thread_count", 1),
    ("aio", "pin_memory", True),
    ("activation_checkpointing", "enabled", True),
    ("activation_checkpointing", "checkpoint_in_cpu", True),
    ("activation_checkpointing", "partitioned_activations", True),
    ("optimizer", "lr", 1e-3),
    ("optimizer", "max_grad_norm", 1.0),
    ("optimizer", "freeze_step", 100),
    ("optimizer.params", "max_grad_norm", 1.0),
    ("optimizer.params", "freeze_step", 400),
    ("optimizer.params", "cuda_aware", False),
    ("optimizer.params", "correct_bias", True),
    ("optimizer.params", "warmup_num_steps", 100),
    ("optimizer.params", "momentum", 0.9),
    ("scheduler", "warmup_num_steps", 100),
    ("scheduler.params", "lr", 1e-3),
    ("scheduler.params", "total_num_steps", 1000),
    ("scheduler.params", "num_warmup_steps", 100),
    ("scheduler.params", "cosine_min_ratio", 0.1),
    ("scheduler.params", "warmup_ratio", 0.1),
    ("flops_profiler", "profile", True),
    ("tensorboard", "log_dir", "logs"),
    ("wandb", "name", "run"),
    ("wandb", "entity", "team"),
    ("comms_logger", "log_ops", True),
    ("pipeline", "num_stages", 2),
    ("data_types", "param_type", "bf16"),
    ("checkpoint", "async_save", True),
    ("tensor_parallel", "tp_size", 2),
]


def mutants(seed: int, count: int) -> list[Mutant]:
    """``count`` different mutants. Raises nothing; a kind that finds no place in its base is drawn again."""
    rng = random.Random(f"mutants {seed}")
    numbers = rng.sample(range(BASES), min(BASES, max(10, count // 10)))
    made: dict[str, Mutant] = {}
    while len(made) < count:
        number = rng.choice(numbers)
        kind = rng.choice(list(KINDS))
        mutant = KINDS[kind](rng, number, base(number))
        if mutant is not None and mutant.config != base(number):
            made.setdefault(repr(mutant.config), mutant)
    return list(made.values())


def places(config: Config, prefix: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Every key of the config with its value, blocks included."""
    for key, value in config.items():
        yield (*prefix, key), value
        if isinstance(value, dict):
            yield from places(value, (*prefix, key))


def parent(config: Config, path: Where) -> Config:
    here = config
    for name in path[:-1]:
        here = here[name]
    return here


def legal(config: Config, path: Where) -> list[Any]:
    """The values that the catalogue lists at a path; empty for a block."""
    *block, key = path
    if block == ["optimizer", "params"]:
        return OPTIMIZERS.get(config["optimizer"].get("type"), {}).get(key, [])
    if block == ["scheduler", "params"]:
        required, optional = SCHEDULERS.get(config["scheduler"].get("type"), ({}, {}))
        return (required | optional).get(key, [])
    return KEYS.get(".".join(block), {}).get(key, []) or STAGE3.get(key, [])


def knows(config: Config, block: Where, key: str) -> bool:
    """Whether DeepSpeed knows the key in that block; yes in a block that the catalogue does not list."""
    if block in (("optimizer", "params"), ("scheduler", "params")):
        return bool(legal(config, (*block, key)))
    names = known(".".join(block))
    return not names or key in names


def means_nothing(config: Config, path: Where) -> bool:
    """Whether what is written there cannot be what is trained, even where DeepSpeed takes it: a key that it does not know at that
    place, ``auto`` where only the HF integration gives it a meaning, a quoted ``false`` that counts as true, a batch with half a sample."""
    block, key = path[:-1], path[-1]
    here: Any = config
    for name in block:
        here = here.get(name) if isinstance(here, dict) else None
    if not isinstance(here, dict) or key not in here:
        return False
    value = here[key]
    if not knows(config, block, key):
        return True
    if isinstance(value, str):
        return (value == "auto" and ".".join(path) in FILLED_BY_HF) or (value.lower() == "false" and path[0] not in COERCED)
    fraction = isinstance(value, float) and not value.is_integer() and key in BATCH
    return fraction


def _changed(number: int, config: Config, kind: str, path: Where, value: Any) -> Mutant:
    config = copy.deepcopy(config)
    here = parent(config, path)
    what = f"{_short(here.get(path[-1]))} → {_short(value)}"
    here[path[-1]] = value
    return Mutant(number, kind, path, what, config)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _leaf(rng: random.Random, config: Config, wanted: Callable[[Any], bool] = lambda value: True) -> tuple[Where, Any] | None:
    found = [(path, value) for path, value in places(config) if not isinstance(value, dict) and wanted(value)]
    return rng.choice(found) if found else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def wrong_type(rng: random.Random, number: int, config: Config) -> Mutant | None:
    path, value = rng.choice(list(places(config)))
    others: list[Any] = ["abc", "", 7, 0.5, True, False, [1, 2], [], {"a": 1}, {}, None]
    return _changed(number, config, "wrong type", path, rng.choice([other for other in others if type(other) is not type(value)]))


def bound(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if (found := _leaf(rng, config, _is_number)) is None:
        return None
    path, value = found
    return _changed(number, config, "bound", path, type(value)(rng.choice([-1, 0, -10, value * 1000, -value, value + 1, 10**15])))


def enum(rng: random.Random, number: int, config: Config) -> Mutant | None:
    found = _leaf(rng, config, lambda value: isinstance(value, str))
    if found is None:
        return None
    path, value = found
    return _changed(
        number, config, "enum", path, rng.choice(["none", "best", misspell(rng, value), value.upper(), value.lower(), "gpu", "bf32"])
    )


def misspell(rng: random.Random, name: str) -> str:
    at = rng.randrange(len(name)) if name else 0
    swapped = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    return rng.choice(
        [
            name[:at] + name[at + 1 :],
            swapped,
            name[:at] + name[at : at + 1] + name[at:],
            name[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + name[at + 1 :],
            name.replace("_", "", 1),
            name + "s",
            name.removesuffix("s"),
            name.upper(),
            name.title().replace("_", ""),
            name.replace("_", "-"),
        ]
    )


def misspelt(rng: random.Random, number: int, config: Config) -> Mutant | None:
    path, _ = rng.choice(list(places(config)))
    name = misspell(rng, path[-1])
    config = copy.deepcopy(config)
    here = parent(config, path)
    if not name or name in here or knows(config, path[:-1], name):
        return None
    items = [(name if key == path[-1] else key, value) for key, value in here.items()]
    here.clear()
    here.update(items)
    odd = (*path[:-1], name)
    return Mutant(number, "misspelt", odd, f"{path[-1]} → {name}", config, odd)


def misplaced(rng: random.Random, number: int, config: Config) -> Mutant | None:
    config = copy.deepcopy(config)
    path, value = rng.choice(list(places(config)))
    blocks: list[Where] = [(), *(where for where, block in places(config) if isinstance(block, dict) and where[: len(path)] != path)]
    target = rng.choice(blocks)
    if target == path[:-1] or knows(config, target, path[-1]):
        return None
    del parent(config, path)[path[-1]]
    parent(config, (*target, ""))[path[-1]] = value
    odd = (*target, path[-1])
    return Mutant(number, "misplaced", odd, f"{'.'.join(path)} → {'.'.join(odd)}", config, odd)


def deleted(rng: random.Random, number: int, config: Config) -> Mutant | None:
    config = copy.deepcopy(config)
    path, _ = rng.choice(list(places(config)))
    del parent(config, path)[path[-1]]
    return Mutant(number, "deleted", path, "deleted", config)


def other_stage(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if "zero_optimization" not in config:
        return None
    return _changed(number, config, "other stage", ("zero_optimization", "stage"), rng.choice([0, 1, 2, 3, 3, 2, 4, -1]))


def foreign(rng: random.Random, number: int, config: Config) -> Mutant | None:
    block, key, value = rng.choice(FOREIGN)
    where: Where = tuple(block.split(".")) if block else ()
    config = copy.deepcopy(config)
    try:
        here = parent(config, (*where, key))
    except KeyError:
        return None
    if key in here:
        return None
    here[key] = copy.deepcopy(value)
    path = (*where, key)
    return Mutant(number, "foreign key", path, f"added {_short(value)}", config, None if knows(config, where, key) else path)


def known_key(rng: random.Random, number: int, config: Config) -> Mutant | None:
    """A real key of a block that the base left out."""
    block = rng.choice([name for name in KEYS if not name or name.split(".")[0] in config])
    keys = KEYS[block] | (STAGE3 if block == "zero_optimization" else {})
    where: Where = tuple(block.split(".")) if block else ()
    config = copy.deepcopy(config)
    try:
        here = parent(config, (*where, ""))
    except KeyError:
        return None
    key = rng.choice(list(keys))
    if key in here:
        return None
    return _changed(number, config, "real key added", (*where, key), copy.deepcopy(rng.choice(keys[key])))


def switched(rng: random.Random, number: int, config: Config) -> Mutant | None:
    config = copy.deepcopy(config)
    first, value = rng.choice(list(places(config)))
    siblings = [key for key in parent(config, first) if key != first[-1]]
    if not siblings:
        return None
    here, second = parent(config, first), rng.choice(siblings)
    here[first[-1]], here[second] = here[second], value
    return Mutant(number, "switched", first, f"with {second}: {_short(here[first[-1]])} ↔ {_short(value)}", config)


def quoted(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if (found := _leaf(rng, config, lambda value: isinstance(value, (int, float)))) is None:
        return None
    path, value = found
    text = rng.choice([str(value), str(value).lower()]) if isinstance(value, bool) else str(value)
    return _changed(number, config, "quoted", path, text)


def float_for_int(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if (found := _leaf(rng, config, lambda value: isinstance(value, int) and not isinstance(value, bool))) is None:
        return None
    path, value = found
    return _changed(number, config, "float", path, rng.choice([float(value), float(value), value + 0.5]))


def auto(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if (found := _leaf(rng, config)) is None:
        return None
    path, _ = found
    made = _changed(number, config, "auto", path, "auto")
    return None if "auto" in legal(config, path) else made


def on_off(rng: random.Random, number: int, config: Config) -> Mutant | None:
    if (found := _leaf(rng, config, lambda value: isinstance(value, bool))) is None:
        return None
    path, value = found
    return _changed(number, config, "on/off", path, not value)


KINDS: dict[str, Callable[[random.Random, int, Config], Mutant | None]] = {
    "wrong type": wrong_type,
    "bound": bound,
    "enum": enum,
    "misspelt": misspelt,
    "misplaced": misplaced,
    "deleted": deleted,
    "other stage": other_stage,
    "foreign key": foreign,
    "real key added": known_key,
    "switched": switched,
    "quoted": quoted,
    "float": float_for_int,
    "auto": auto,
    "on/off": on_off,
}
