"""The Plan as an argument file of the Hugging Face Trainer, with TRL's arguments where the run needs them."""

from __future__ import annotations

from dslint.convert.draft import Draft, Field
from dslint.convert.engines import deepspeed_beside, fsdp_of_trainer
from dslint.formats.trainer import NAMES, WRITTEN

ALWAYS = frozenset(["batch.micro", "batch.accumulation", "optimizer.lr"])
FIELDS = tuple(
    Field(name, key, always=name in ALWAYS)
    for key, name in {**NAMES, **WRITTEN}.items()
    if name != "schedule.warmup_ratio" and key != "max_seq_length"
)


def write(draft: Draft) -> None:
    draft.put("output_dir", draft.get("train.output", "output"), subject="train")
    draft.fate("train.output", "carried", "output_dir")
    warmup(draft, "warmup_steps")
    betas(draft)
    draft.carry_fields(FIELDS)
    if draft.says("checkpointing.reentrant") and draft.get("checkpointing.on") is True:
        draft.carry("checkpointing.reentrant", "gradient_checkpointing_kwargs.use_reentrant")
    adapter(draft)
    data(draft)
    if draft.wish.engine and draft.get("engine.kind") == "deepspeed":
        deepspeed_beside(draft, "deepspeed")
    elif draft.wish.engine and draft.get("engine.kind") == "fsdp":
        fsdp_of_trainer(draft)
    task(draft)


def warmup(draft: Draft, key: str) -> None:
    """Steps, or below 1 a part of all steps (transformers 5: training_args.py, warmup_steps)."""
    steps, ratio = draft.get("schedule.warmup_steps"), draft.get("schedule.warmup_ratio")
    if isinstance(ratio, (int, float)) and ratio and not (isinstance(steps, (int, float)) and steps > 0):
        draft.carry("schedule.warmup_ratio", key, ratio)
        draft.fate("schedule.warmup_steps", "implied", key)
    elif draft.says("schedule.warmup_ratio"):
        draft.fate("schedule.warmup_ratio", "implied", key)


def betas(draft: Draft) -> None:
    """Adam's two rates, a key each."""
    rates = draft.get("optimizer.betas")
    if not isinstance(rates, list) or len(rates) != 2:
        return
    for key, rate, default in zip(("adam_beta1", "adam_beta2"), rates, (0.9, 0.999), strict=True):
        if rate != default:
            draft.put(key, rate, subject="optimizer")
    draft.fate("optimizer.betas", "implied" if rates == [0.9, 0.999] else "carried", "adam_beta1")


def adapter(draft: Draft) -> None:
    """LoRA and quantised weights, in the words of TRL's ModelConfig."""
    kind, bits = draft.get("adapter.type"), draft.get("load.bits")
    if kind in ("lora", "qlora"):
        draft.put("use_peft", True, subject="adapter")
        draft.fate("adapter.type", "carried", "use_peft")
    elif kind == "full":
        draft.fate("adapter.type", "implied", "use_peft")
    else:
        draft.lose("adapter.type", "give the adapter to the training script")
    if bits in (4, 8):
        draft.carry("load.bits", f"load_in_{bits}bit", True)


def data(draft: Draft) -> None:
    """TRL's scripts take one dataset by its name on the hub."""
    sets = draft.get("data.sets")
    if isinstance(sets, list) and len(sets) == 1:
        draft.carry("data.sets", "dataset_name", sets[0], note="the script reads it as TRL does: by its columns")
    draft.lose("data.validation", "the training script splits the data")
    draft.lose("data.sets", "give the datasets to the training script")


def task(draft: Draft) -> None:
    kind = draft.get("train.task")
    draft.fate("train.task", "approximate", "", f"TRL's script decides: run its {kind} trainer with this file")
