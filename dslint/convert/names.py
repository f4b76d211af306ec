"""Optimizers and schedules in the dialect of each framework. The common tongue is that of transformers' arguments.

Sources: transformers/training_args.py OptimizerNames, transformers/trainer_utils.py SchedulerType (5.24.0);
deepspeed/runtime/engine.py _configure_basic_optimizer, deepspeed/runtime/lr_schedules.py (0.19.8).
"""

from __future__ import annotations

# DeepSpeed's optimizer.type in lower case -> transformers' name of what it does
OPTIMIZERS_OF_DEEPSPEED = {
    "adam": "adamw_torch",
    "adamw": "adamw_torch",
    "lion": "lion_32bit",
    "adagrad": "adagrad",
    "sgd": "sgd",
    "rmsprop": "rmsprop",
    "muon": "muon",
}
# transformers' name -> DeepSpeed's type, and what differs where it does
DEEPSPEED_OPTIMIZERS: dict[str, tuple[str, str]] = {
    "adamw_torch": ("AdamW", ""),
    "adamw_torch_fused": ("AdamW", ""),
    "adamw_hf": ("AdamW", ""),
    "adamw": ("AdamW", ""),
    "adamw_apex_fused": ("AdamW", ""),
    "adamw_torch_8bit": ("AdamW", "DeepSpeed keeps the optimizer states in 32 bits"),
    "adamw_bnb_8bit": ("AdamW", "DeepSpeed keeps the optimizer states in 32 bits"),
    "adamw_8bit": ("AdamW", "DeepSpeed keeps the optimizer states in 32 bits"),
    "paged_adamw": ("AdamW", "optimizer states are not paged"),
    "paged_adamw_32bit": ("AdamW", "optimizer states are not paged"),
    "paged_adamw_8bit": ("AdamW", "optimizer states are in 32 bits and not paged"),
    "lion": ("Lion", ""),
    "lion_32bit": ("Lion", ""),
    "lion_8bit": ("Lion", "DeepSpeed keeps the optimizer states in 32 bits"),
    "paged_lion_32bit": ("Lion", "optimizer states are not paged"),
    "paged_lion_8bit": ("Lion", "optimizer states are in 32 bits and not paged"),
    "adagrad": ("Adagrad", ""),
    "sgd": ("SGD", ""),
    "rmsprop": ("RMSprop", ""),
    "muon": ("Muon", ""),
}
# DeepSpeed's scheduler.type -> transformers' lr_scheduler_type of the same curve
SCHEDULES_OF_DEEPSPEED = {"WarmupLR": "constant_with_warmup", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}
DEEPSPEED_SCHEDULES = {"constant_with_warmup": "WarmupLR", "linear": "WarmupDecayLR", "cosine": "WarmupCosineLR"}


def optimizer_in_common(form: str, name: str) -> str | None:
    """transformers' name of an optimizer that a format calls ``name``; None where it has none."""
    return OPTIMIZERS_OF_DEEPSPEED.get(name.lower()) if form == "deepspeed" else name


def schedule_in_common(form: str, name: str) -> str | None:
    """transformers' name of a schedule that a format calls ``name``; None where it has none."""
    return SCHEDULES_OF_DEEPSPEED.get(name) if form == "deepspeed" else name
