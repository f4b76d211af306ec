"""The values that Transformers and Accelerate put in place of "auto", from the arguments of a plain run.

Read in transformers/integrations/deepspeed.py (trainer_config_process, trainer_config_finalize) and in
accelerate/utils/dataclasses.py (DeepSpeedPlugin.__post_init__). Keys that they do not fill stay "auto".
"""

from __future__ import annotations

import copy
from typing import Any

from dslint.verify import model_size
from dslint.verify.values import number, on, section, stage_of

AUTO = "auto"
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
TOTAL_STEPS = 100

# path -> value; learning rate, Adam's numbers and warm-up are the defaults of TrainingArguments
PLAIN: dict[tuple[str, ...], Any] = {
    ("gradient_clipping",): 1.0,
    ("optimizer", "params", "lr"): 5e-5,
    ("optimizer", "params", "betas"): [0.9, 0.999],
    ("optimizer", "params", "eps"): 1e-8,
    ("optimizer", "params", "weight_decay"): 0.0,
    ("scheduler", "params", "warmup_min_lr"): 0,
    ("scheduler", "params", "warmup_max_lr"): 5e-5,
    ("scheduler", "params", "warmup_num_steps"): 1,
    ("scheduler", "params", "total_num_steps"): TOTAL_STEPS,
    ("zero_optimization", "stage"): 2,
    ("zero_optimization", "reduce_bucket_size"): model_size.HIDDEN**2,
    ("zero_optimization", "offload_optimizer", "device"): "none",
    ("zero_optimization", "offload_param", "device"): "none",
    ("zero_optimization", "stage3_gather_16bit_weights_on_model_save"): False,
}
STAGE_3 = {
    ("zero_optimization", "stage3_prefetch_bucket_size"): int(0.9 * model_size.HIDDEN**2),
    ("zero_optimization", "stage3_param_persistence_threshold"): 10 * model_size.HIDDEN,
}


def fill(config: dict[str, Any], ranks: int) -> tuple[dict[str, Any], list[str]]:
    """A copy with "auto" filled in, and for each value filled "path = value"."""
    filled = copy.deepcopy(config)
    notes: list[str] = []
    for path, value in PLAIN.items():
        _put(filled, path, value, notes)
    if stage_of(filled) == 3:
        for path, value in STAGE_3.items():
            _put(filled, path, value, notes)
    _precision(filled, notes)
    _batch(filled, ranks, notes)
    return filled, notes


def _put(config: dict[str, Any], path: tuple[str, ...], value: Any, notes: list[str]) -> None:
    holder = section(config, *path[:-1])
    if holder.get(path[-1]) == AUTO:
        holder[path[-1]] = value
        notes.append(f"{'.'.join(path)} = {value}")


def _precision(config: dict[str, Any], notes: list[str]) -> None:
    """bf16 where both are left open, else the one that the file speaks of."""
    bf16 = section(config, "bf16") or section(config, "bfloat16")
    fp16 = section(config, "fp16")
    wants_bf16 = bf16.get("enabled") == AUTO and not on(fp16.get("enabled"))
    wants_fp16 = fp16.get("enabled") == AUTO and not wants_bf16 and not on(bf16.get("enabled"))
    for name, holder, value in (("bf16", bf16, wants_bf16), ("fp16", fp16, wants_fp16)):
        if holder.get("enabled") == AUTO:
            holder["enabled"] = value
            notes.append(f"{name}.enabled = {str(value).lower()}")


def _batch(config: dict[str, Any], ranks: int, notes: list[str]) -> None:
    """The triple from what of it is written; Accelerate takes a missing gradient_accumulation_steps for 1."""
    total, micro, accumulation = (number(config.get(name)) for name in BATCH)
    if config.get(BATCH[2]) is None:
        config[BATCH[2]] = accumulation = 1
    if config.get(BATCH[2]) == AUTO:
        accumulation = max(1, int(total // (micro * ranks))) if total and micro else 1
    if config.get(BATCH[1]) == AUTO:
        micro = max(1, int(total // ((accumulation or 1) * ranks))) if total else 2
    for name, value in ((BATCH[1], micro), (BATCH[2], accumulation), (BATCH[0], (micro or 1) * (accumulation or 1) * ranks)):
        if config.get(name) == AUTO:
            config[name] = value
            notes.append(f"{name} = {value}")
