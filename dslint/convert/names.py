"""Words of the Plan in the dialect of each framework. The common tongue is that of transformers' arguments.

Sources: transformers/training_args.py OptimizerNames, transformers/trainer_utils.py SchedulerType, transformers/modeling_utils.py (5.24.0);
deepspeed/runtime/engine.py _configure_basic_optimizer, deepspeed/runtime/lr_schedules.py (0.19.8); llamafactory/extras/constants.py AttentionFunction (0.9.5).
"""

from __future__ import annotations

from typing import Any

# DeepSpeed's optimizer.type in lower case -> transformers' name of what it does
OPTIMIZERS_OF_DEEPSPEED = {
    "adam": "adamw_torch",
    "adamw": "adamw_torch",
    "fusedadam": "adamw_torch",
    "cpuadam": "adamw_torch",
    "lion": "lion_32bit",
    "adagrad": "adagrad",
    "sgd": "sgd",
    "rmsprop": "rmsprop",
    "muon": "muon",
}
IN_32_BITS = "DeepSpeed keeps the optimizer states in 32 bits"
NOT_PAGED = "optimizer states are not paged"
# transformers' name -> DeepSpeed's type, and what differs where it does
DEEPSPEED_OPTIMIZERS: dict[str, tuple[str, str]] = {
    "adamw_torch": ("AdamW", ""),
    "adamw_torch_fused": ("AdamW", ""),
    "adamw_hf": ("AdamW", ""),
    "adamw_apex_fused": ("AdamW", ""),
    "adamw_torch_8bit": ("AdamW", IN_32_BITS),
    "adamw_torch_4bit": ("AdamW", IN_32_BITS),
    "adamw_bnb_8bit": ("AdamW", IN_32_BITS),
    "adamw_8bit": ("AdamW", IN_32_BITS),
    "paged_adamw": ("AdamW", NOT_PAGED),
    "paged_adamw_32bit": ("AdamW", NOT_PAGED),
    "paged_adamw_8bit": ("AdamW", f"{IN_32_BITS}; {NOT_PAGED}"),
    "lion": ("Lion", ""),
    "lion_32bit": ("Lion", ""),
    "lion_8bit": ("Lion", IN_32_BITS),
    "paged_lion_32bit": ("Lion", NOT_PAGED),
    "paged_lion_8bit": ("Lion", f"{IN_32_BITS}; {NOT_PAGED}"),
}
# DeepSpeed's scheduler.type -> transformers' lr_scheduler_type of the same curve
SCHEDULES_OF_DEEPSPEED = {"WarmupLR": "constant_with_warmup", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}
DEEPSPEED_SCHEDULES = {common: name for name, common in SCHEDULES_OF_DEEPSPEED.items()}
ATTENTION = {"flash": "flash_attention_2", "flash3": "flash_attention_3", "fa2": "flash_attention_2", "auto": None}


def in_common(name: str, form: str, value: Any) -> Any:
    """A value of the Plan in the common tongue; None where that has no word for it."""
    if name == "optimizer.type":
        text = str(value)
        return OPTIMIZERS_OF_DEEPSPEED.get(text.lower()) if form == "deepspeed" else text
    if name == "schedule.type":
        return SCHEDULES_OF_DEEPSPEED.get(str(value)) if form == "deepspeed" else str(value)
    if name == "precision.tf32":
        return value if isinstance(value, bool) else None
    if name == "load.attention":
        return ATTENTION.get(str(value), str(value))
    return value
