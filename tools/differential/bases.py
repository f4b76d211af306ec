"""Configs that DeepSpeed trains with, put together from the catalogue: a stage, an offload, a precision, an optimizer, a scheduler, other blocks."""

from __future__ import annotations

import copy
import random
from typing import Any

from tools.differential.catalogue import KEYS, OFFLOADED, OPTIMIZERS, SCHEDULERS, STAGE3, UNTESTED, ZENFLOW
from tools.differential.judges import Config

STAGES = (None, 0, 1, 2, 3)
PRECISIONS = ("fp32", "bf16", "fp16", "torch_autocast")
TOP_EXTRAS = [
    key
    for key in KEYS[""]
    if key not in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "zero_allow_untested_optimizer")
]
SHAPE = ("optimizer", "scheduler", "fp16", "bf16", "torch_autocast", "zero_optimization")
EXTRA_BLOCKS = [block for block in KEYS if block and block.split(".")[0] not in SHAPE]


def base(number: int) -> Config:
    """The base of that number, always the same one."""
    rng = random.Random(f"base {number}")
    stage = rng.choice(STAGES)
    optimizer = rng.choice(list(OPTIMIZERS))
    config = _batch(rng)
    if optimizer is not None:
        config["optimizer"] = {"type": optimizer, "params": _some(rng, OPTIMIZERS[optimizer], always=("lr",))}
    scheduler = rng.choice(list(SCHEDULERS))
    if scheduler is not None:
        required, optional = SCHEDULERS[scheduler]
        config["scheduler"] = {"type": scheduler, "params": _some(rng, required, every=True) | _some(rng, optional)}
    precision = rng.choice(PRECISIONS)
    if precision != "fp32":
        config[precision] = _some(rng, KEYS[precision], always=("enabled", "dtype"))
    if stage is not None:
        config["zero_optimization"] = _zero(rng, stage, optimizer)
    config |= _some(rng, {key: KEYS[""][key] for key in TOP_EXTRAS}, share=0.15)
    if optimizer in UNTESTED and stage:
        config["zero_allow_untested_optimizer"] = True
    for block in rng.sample(EXTRA_BLOCKS, rng.randint(0, 4)):
        _put(config, block, _some(rng, KEYS[block]))
    return _shuffled(rng, _consistent(config))


def _consistent(config: Config) -> Config:
    """What DeepSpeed refuses together, taken apart."""
    optimizer, zero = config.get("optimizer", {}), config.get("zero_optimization", {})
    params, zenflow = optimizer.get("params", {}), zero.get("zenflow")
    if params.get("torch_adam") or zenflow is not None:
        params.pop("bias_correction", None)
    if zenflow is not None:
        params.pop("adam_w_mode", None)
        params.pop("torch_adam", None)
        zero.pop("reduce_scatter", None)
        if zenflow.get("select_strategy", "auto") == "auto":
            zenflow.pop("select_interval", None)
        else:
            zenflow["select_interval"] = 4
    if "nesterov" in params:
        params.setdefault("momentum", 0.9)
    if optimizer.get("type") == "Muon" and zero.get("stage") == 3:
        zero["reduce_scatter"] = False
    if optimizer.get("type") == "Lamb" and config.get("fp16", {}).get("loss_scale"):
        config["fp16"]["loss_scale"] = 0
    if config.get("scheduler", {}).get("type") == "StepLR" and (zero.get("stage") or "fp16" in config or "bf16" in config):
        del config["scheduler"]
    if not zero.get("stage") and ("fp16" in config or "bf16" in config):
        config.get("data_types", {}).pop("grad_accum_dtype", None)
    return config


def _batch(rng: random.Random) -> Config:
    """The batch triple for 8 ranks, or the part of it that says the rest."""
    micro, accumulation = rng.choice([1, 2, 4]), rng.choice([1, 2, 4])
    triple = {
        "train_batch_size": micro * accumulation * 8,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": accumulation,
    }
    keys = rng.choice(
        [list(triple), list(triple)[:2], list(triple)[1:], [*triple][::2], ["train_batch_size"], ["train_micro_batch_size_per_gpu"]]
    )
    return {key: triple[key] for key in keys}


def _zero(rng: random.Random, stage: int, optimizer: str | None) -> Config:
    zero = {"stage": stage} | _some(rng, {key: values for key, values in KEYS["zero_optimization"].items() if key != "stage"}, share=0.3)
    if stage == 3:
        zero |= _some(rng, STAGE3, share=0.3)
    if stage and optimizer in OFFLOADED and rng.random() < 0.4:
        zero["offload_optimizer"] = _some(rng, KEYS["zero_optimization.offload_optimizer"], always=("device", "pin_memory"))
        if stage == 2 and optimizer in ("Adam", "AdamW") and rng.random() < 0.3:
            zero["zenflow"] = _some(rng, ZENFLOW, always=("overlap_step",))
    if stage == 3 and rng.random() < 0.4:
        zero["offload_param"] = _some(rng, KEYS["zero_optimization.offload_param"], always=("device", "pin_memory"))
    if stage == 3 and rng.random() < 0.1:
        zero["leaf_module"] = _some(rng, KEYS["zero_optimization.leaf_module"])
    return zero


def _some(
    rng: random.Random, keys: dict[str, list[Any]], *, always: tuple[str, ...] = (), every: bool = False, share: float = 0.5
) -> Config:
    return {key: copy.deepcopy(rng.choice(values)) for key, values in keys.items() if every or key in always or rng.random() < share}


def _put(config: Config, block: str, value: Config) -> None:
    *parents, last = block.split(".")
    here = config
    for name in parents:
        here = here.setdefault(name, {})
    here[last] = value | here.get(last, {})


def _shuffled(rng: random.Random, config: Config) -> Config:
    items = list(config.items())
    rng.shuffle(items)
    return dict(items)
