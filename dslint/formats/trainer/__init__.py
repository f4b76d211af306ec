"""Argument files of the Hugging Face Trainer and of TRL's trainers: YAML or JSON that HfArgumentParser or TrlParser reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dslint.document import Document, Mapping, Scalar
from dslint.formats.base import Context, Format, Link, Stated
from dslint.schema.coerce import coerce
from dslint.schema.lookup import Schema
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# arguments that hardly anything but a file for the Trainer has
MARKS = frozenset(
    [
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "lr_scheduler_type",
        "num_train_epochs",
        "gradient_checkpointing_kwargs",
        "load_best_model_at_end",
        "evaluation_strategy",
        "eval_strategy",
        "save_total_limit",
        "metric_for_best_model",
        "ddp_find_unused_parameters",
        "lora_target_modules",
        "attn_implementation",
        "warmup_ratio",
        "max_grad_norm",
        "adam_epsilon",
        "save_strategy",
    ]
)
# keys whose presence says that another tool reads the file
OTHERS = frozenset(
    [
        "base_model", "finetuning_type", "template", "distributed_type", "compute_environment", "micro_batch_size", "zero_optimization",
        "model_type", "architectures", "peft_type", "train_micro_batch_size_per_gpu", "log_history", "defaults", "services", "apiVersion",
        "jobs", "on", "_target_", "_component_", "trainer", "pipeline_model_parallel_size", "num-layers",
    ]
)  # fmt: skip
ALONE = 2
# canonical key -> the Plan's name of what it says; for these the Trainer's defaults count as said
NAMES = {
    "per_device_train_batch_size": "batch.micro",
    "gradient_accumulation_steps": "batch.accumulation",
    "max_grad_norm": "optimizer.clipping",
    "learning_rate": "optimizer.lr",
    "adam_epsilon": "optimizer.eps",
    "weight_decay": "optimizer.weight_decay",
    "optim": "optimizer.type",
    "lr_scheduler_type": "schedule.type",
    "warmup_steps": "schedule.warmup_steps",
    "max_steps": "schedule.steps",
    "num_train_epochs": "schedule.epochs",
    "bf16": "precision.bf16",
    "fp16": "precision.fp16",
    "gradient_checkpointing": "checkpointing.on",
    "save_strategy": "save.strategy",
    "save_steps": "save.steps",
    "save_only_model": "save.only_model",
    "load_best_model_at_end": "save.best",
    "eval_strategy": "eval.strategy",
}
# those that are said only where they are written
WRITTEN = {
    "per_device_eval_batch_size": "batch.eval_micro",
    "warmup_ratio": "schedule.warmup_ratio",
    "tf32": "precision.tf32",
    "eval_steps": "eval.steps",
    "save_total_limit": "save.limit",
    "resume_from_checkpoint": "resume",
    "torch_compile": "load.compile",
    "packing": "data.packing",
    "max_length": "data.sequence_length",
    "max_seq_length": "data.sequence_length",
    "model_name_or_path": "model.path",
    "attn_implementation": "load.attention",
    "trust_remote_code": "load.trust_remote_code",
    "device_map": "load.device_map",
    "lora_r": "adapter.rank",
    "lora_alpha": "adapter.alpha",
    "lora_dropout": "adapter.dropout",
    "lora_target_modules": "adapter.targets",
    "output_dir": "train.output",
    "seed": "train.seed",
    "logging_steps": "train.logging_steps",
}
SHARDING = {
    "full_shard": "full",
    "shard_grad_op": "grad_op",
    "hybrid_shard": "hybrid",
    "hybrid_shard_zero2": "hybrid_grad_op",
    "no_shard": "none",
}


@cache
def _arguments() -> frozenset[str]:
    schema = Schema.load("transformers")
    return frozenset(schema.blocks["arguments"]["keys"])


def recognises(document: Document, context: Context | None) -> bool:
    root = document.root
    if not isinstance(root, Mapping):
        return False
    names = {entry.name for entry in root.entries}
    if names & OTHERS or not names & (MARKS | {"output_dir"}):
        return False
    known = names & _arguments()
    return len(known) >= ALONE and ("output_dir" in names or len(names & MARKS) >= ALONE) and 3 * len(known) >= len(names)


def links(resolved: Resolved) -> Iterator[Link]:
    for key, form in (("deepspeed", "deepspeed"), ("fsdp_config", "fsdp")):
        place = resolved.places.get(key)
        if place is None:
            continue
        if isinstance(place.node, Mapping):
            yield Link(key, form, place.node)
        elif isinstance(path := resolved.get(key), str) and path and not path.lstrip().startswith("{"):
            yield Link(key, form, path)
    if isinstance(model := resolved.get("model_name_or_path"), str):
        yield Link("model_name_or_path", "model", model)


def states(resolved: Resolved) -> Iterator[Stated]:
    for key, name in NAMES.items():
        if (value := resolved.get(key)) is not MISSING:
            part = key == "warmup_steps" and isinstance(value, float) and 0 < value < 1
            yield Stated("schedule.warmup_ratio" if part else name, value, key)
    for key, name in WRITTEN.items():
        if key in resolved.values and (value := resolved.values[key]) is not MISSING:
            yield Stated(name, value, key)
    betas = [resolved.get(key) for key in ("adam_beta1", "adam_beta2")]
    if MISSING not in betas:
        yield Stated("optimizer.betas", betas, "adam_beta1" if "adam_beta1" in resolved.places else "adam_beta2")
    if resolved.get("deepspeed") is not MISSING:
        yield Stated("engine.kind", "deepspeed", "deepspeed")
    elif _given(resolved.get("fsdp")):
        yield from of_fsdp(resolved)
    for key, bits in (("load_in_8bit", 8), ("load_in_4bit", 4)):
        if resolved.get(key) is True:
            yield Stated("load.bits", bits, key)
    if isinstance(data := resolved.values.get("dataset_name"), str):
        yield Stated("data.sets", [data], "dataset_name")
    if resolved.get("use_peft") is True:
        yield Stated("adapter.type", "lora", "use_peft")
    kwargs = resolved.get("gradient_checkpointing_kwargs")
    if isinstance(kwargs, dict) and isinstance(kwargs.get("use_reentrant"), bool):
        yield Stated("checkpointing.reentrant", kwargs["use_reentrant"], "gradient_checkpointing_kwargs")


def _given(value: object) -> bool:
    return value is not MISSING and bool(value)


def options(fsdp: object) -> list[str]:
    """The words of the ``fsdp`` argument."""
    return fsdp.split() if isinstance(fsdp, str) else [str(word) for word in fsdp] if isinstance(fsdp, list) else []


def of_fsdp(resolved: Resolved) -> Iterator[Stated]:
    """What the argument ``fsdp`` says."""
    yield Stated("engine.kind", "fsdp", "fsdp")
    for word in options(resolved.get("fsdp")):
        if word in SHARDING:
            yield Stated("engine.sharding", SHARDING[word], "fsdp")
        elif word == "offload":
            yield Stated("engine.offload_parameters", "cpu", "fsdp")
            yield Stated("engine.offload_optimizer", "cpu", "fsdp")


# keys of TRL that many scripts without TRL have too
NOT_ONLY_TRL = frozenset(["model_name_or_path", "model_revision", "trust_remote_code", "torch_dtype", "dtype", "attn_implementation"])


def excuses(resolved: Resolved, path: str) -> bool:
    """TrlParser makes the file's values defaults of argparse, which converts texts by the argument's type (trl/scripts/utils.py: set_defaults_with_config);
    HfArgumentParser alone leaves them as they are.
    """
    place = resolved.places.get(path)
    value = place.node.value if place is not None and isinstance(place.node, Scalar) else None
    info = place.info if place is not None else None
    if not isinstance(value, str) or info is None or not _of_trl(resolved):
        return False
    return coerce(info._replace(coerce="text"), value).ok


def _of_trl(resolved: Resolved) -> bool:
    """Does a key say that TRL's own parser reads the file?"""
    return any(
        place.info is not None and place.info.source.startswith("trl/") and path not in NOT_ONLY_TRL
        for path, place in resolved.places.items()
    )


TRAINER = Format(
    "trainer",
    "transformers",
    "the Trainer's parser",
    ("trl", "deepspeed", "accelerate", "torch"),
    recognises,
    links=links,
    states=states,
    excuses=excuses,
)
