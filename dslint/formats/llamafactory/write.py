"""The Plan as a file for ``llamafactory-cli train``."""

from __future__ import annotations

import re

from dslint.convert.draft import Draft, Field
from dslint.convert.engines import deepspeed_beside, fsdp_of_trainer
from dslint.formats.llamafactory import ATTENTION, NAMES, TASKS
from dslint.formats.trainer.write import betas, warmup
from dslint.schema.missing import MISSING

STAGES = {task: stage for stage, task in TASKS.items()}
FLASH = {"flash_attention_2": "fa2", "flash_attention_3": "fa3", "sdpa": "sdpa", "eager": "disabled"} | {"auto": "auto"}
ALWAYS = frozenset(["batch.micro", "batch.accumulation", "optimizer.lr"])
FIELDS = (
    *(
        Field(name, key, always=name in ALWAYS)
        for key, name in NAMES.items()
        if name not in ("schedule.warmup_ratio", "checkpointing.reentrant", "load.bits")
    ),
    Field("schedule.warmup_steps", "warmup_steps"),
)


def write(draft: Draft) -> None:
    assert set(FLASH.values()) <= ATTENTION.keys()
    draft.put("output_dir", draft.get("train.output", "saves"), subject="train")
    draft.fate("train.output", "carried", "output_dir")
    task = draft.get("train.task", "sft")
    if task in STAGES:
        draft.put("stage", STAGES[task], subject="train")
        draft.fate("train.task", "carried", "stage")
    else:
        draft.lose("train.task", f"LLaMA-Factory has no stage for {task}")
        draft.put("stage", "sft", subject="train")
    draft.put("do_train", True, subject="train")
    adapter(draft)
    data(draft)
    warmup(draft, "warmup_steps")
    betas(draft)
    if (on := draft.get("checkpointing.on")) is not MISSING:
        if on is False:
            draft.put("disable_gradient_checkpointing", True, subject="checkpointing")
        draft.fate("checkpointing.on", "carried" if on is False else "implied", "disable_gradient_checkpointing")
    elif draft.get("engine.activation_checkpointing") is not True:
        draft.put("disable_gradient_checkpointing", True, subject="checkpointing")
    if draft.says("checkpointing.reentrant"):
        draft.carry_fields([Field("checkpointing.reentrant", "use_reentrant_gc")])
    draft.carry_fields([Field("load.attention", "flash_attn", lambda word: FLASH.get(word, MISSING))])
    draft.carry_fields(FIELDS)
    if draft.get("engine.kind") == "deepspeed":
        deepspeed_beside(draft, "deepspeed")
    elif draft.get("engine.kind") == "fsdp":
        fsdp_of_trainer(draft)


def adapter(draft: Draft) -> None:
    kind, targets = draft.get("adapter.type", "full"), draft.get("adapter.targets")
    method = "lora" if kind in ("lora", "qlora") else kind if kind in ("full", "freeze", "oft") else None
    if method is None:
        draft.lose("adapter.type", f"LLaMA-Factory has no method {kind}")
        method = "full"
    draft.put("finetuning_type", method, subject="adapter")
    draft.fate("adapter.type", "carried", "finetuning_type")
    if isinstance(targets, str) and targets not in ("all", "all-linear") and not re.fullmatch(r"[\w.,\- ]+", targets):
        draft.lose("adapter.targets", "a pattern: LLaMA-Factory takes names of modules")
    elif method == "lora" and targets is not MISSING:
        names = targets if isinstance(targets, list) else [str(targets)]
        every = names in (["all-linear"], ["all"])
        draft.carry("adapter.targets", "lora_target", "all" if every else ",".join(map(str, names)))
    elif method != "lora":
        for name in ("adapter.rank", "adapter.alpha", "adapter.dropout", "adapter.targets"):
            draft.lose(name, "no adapter is trained")
    draft.carry_fields([Field("load.bits", "quantization_bit")])


def data(draft: Draft) -> None:
    """LLaMA-Factory calls datasets by the names of dataset_info.json."""
    if not draft.get("data.validation", 0) and draft.get("eval.strategy", "no") != "no":
        for name in ("eval.strategy", "eval.steps", "save.best"):
            draft.lose(name, "there is no data to evaluate on: set eval_dataset or val_size, too")
    sets = draft.get("data.sets")
    if isinstance(sets, list) and sets:
        names = [re.sub(r"\W+", "_", str(name).rstrip("/").rpartition("/")[2].partition(".")[0]).strip("_") or "data" for name in sets]
        note = f"describe {', '.join(map(str, sets))} in dataset_info.json under {'this name' if len(names) == 1 else 'these names'}"
        draft.carry("data.sets", "dataset", ",".join(dict.fromkeys(names)), note=note)
