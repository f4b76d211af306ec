"""Axolotl's YAML: read by PyYAML, then by pydantic, which drops keys that it does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dslint.document import Document, Mapping
from dslint.formats.base import Context, Format, Link, Stated
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# keys that, beside base_model, only an Axolotl file has
MARKS = frozenset(
    [
        "micro_batch_size", "sequence_len", "sample_packing", "datasets", "val_set_size", "dataset_prepared_path", "num_epochs", "lora_target_linear",
        "adapter", "pad_to_sequence_len", "flash_attention", "saves_per_epoch", "evals_per_epoch", "strict", "gradient_accumulation_steps",
        "pretraining_dataset", "rl", "plugins", "chat_template", "wandb_project", "deepspeed", "fsdp_config", "learning_rate", "optimizer",
    ]
)  # fmt: skip
OTHERS = frozenset(
    [
        "stage",
        "finetuning_type",
        "distributed_type",
        "merge_method",
        "slices",
        "model_name_or_path",
        "apiVersion",
        "per_device_train_batch_size",
    ]
)
TEXT = re.compile(r"^base_model\s*:", re.MULTILINE)
# legacy switches of attention -> the implementation
ATTENTION = {
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "flex_attention": "flex_attention",
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
}
# canonical key -> the Plan's name of what it says
NAMES = {
    "micro_batch_size": "batch.micro",
    "gradient_accumulation_steps": "batch.accumulation",
    "eval_batch_size": "batch.eval_micro",
    "learning_rate": "optimizer.lr",
    "optimizer": "optimizer.type",
    "weight_decay": "optimizer.weight_decay",
    "adam_epsilon": "optimizer.eps",
    "max_grad_norm": "optimizer.clipping",
    "lr_scheduler": "schedule.type",
    "warmup_steps": "schedule.warmup_steps",
    "warmup_ratio": "schedule.warmup_ratio",
    "max_steps": "schedule.steps",
    "num_epochs": "schedule.epochs",
    "val_set_size": "data.validation",
    "sequence_len": "data.sequence_length",
    "sample_packing": "data.packing",
    "streaming": "data.streaming",
    "adapter": "adapter.type",
    "lora_r": "adapter.rank",
    "lora_alpha": "adapter.alpha",
    "lora_dropout": "adapter.dropout",
    "lora_target_modules": "adapter.targets",
    "base_model": "model.path",
    "trust_remote_code": "load.trust_remote_code",
    "torch_compile": "load.compile",
    "attn_implementation": "load.attention",
    "device_map": "load.device_map",
    "save_strategy": "save.strategy",
    "save_steps": "save.steps",
    "save_total_limit": "save.limit",
    "save_only_model": "save.only_model",
    "load_best_model_at_end": "save.best",
    "eval_strategy": "eval.strategy",
    "eval_steps": "eval.steps",
    "resume_from_checkpoint": "resume",
    "output_dir": "train.output",
    "seed": "train.seed",
    "logging_steps": "train.logging_steps",
    "tensor_parallel_size": "parallel.tensor",
    "context_parallel_size": "parallel.context",
    "dp_shard_size": "parallel.shard",
    "dp_replicate_size": "parallel.replicate",
    "fp16": "precision.fp16",
    "tf32": "precision.tf32",
}
# what Axolotl fills in where the file says nothing, and the Trainer's own defaults behind it
DEFAULTS: dict[str, Any] = {
    "batch.micro": 1,
    "batch.accumulation": 1,
    "optimizer.clipping": 1.0,
    "optimizer.weight_decay": 0.0,
    "optimizer.eps": 1e-8,
    "optimizer.betas": [0.9, 0.999],
    "precision.fp16": False,
}


def recognises(document: Document, context: Context | None) -> bool:
    root = document.root
    if document.syntax != "yaml":
        return False
    if not isinstance(root, Mapping):
        return TEXT.search(document.text) is not None
    names = {entry.name for entry in root.entries}
    return ("base_model" in names or {"micro_batch_size", "datasets"} <= names) and bool(names & MARKS) and not names & OTHERS


def links(resolved: Resolved) -> Iterator[Link]:
    place = resolved.places.get("deepspeed")
    if place is not None and isinstance(place.node, Mapping):
        yield Link("deepspeed", "deepspeed", place.node)
    elif isinstance(path := resolved.get("deepspeed"), str) and path:
        yield Link("deepspeed", "deepspeed", path)
    model = resolved.get("base_model_config")
    model, at = (model, "base_model_config") if isinstance(model, str) else (resolved.get("base_model"), "base_model")
    if isinstance(model, str):
        yield Link(at, "model", model)


def states(resolved: Resolved) -> Iterator[Stated]:
    said = set()
    for key, name in NAMES.items():
        if (value := resolved.get(key)) is not MISSING:
            said.add(name)
            yield Stated(name, value, key)
    betas = [resolved.get(key) for key in ("adam_beta1", "adam_beta2")]
    if betas != [MISSING, MISSING]:
        said.add("optimizer.betas")
        both = [default if beta is MISSING else beta for beta, default in zip(betas, DEFAULTS["optimizer.betas"], strict=True)]
        yield Stated("optimizer.betas", both, "adam_beta2" if betas[0] is MISSING else "adam_beta1")
    for name, value in DEFAULTS.items():
        if name not in said:
            yield Stated(name, value, _key_of(name))
    if sets := paths_of(resolved.get("datasets")):
        yield Stated("data.sets", sets, "datasets")
    if isinstance(bf16 := resolved.get("bf16"), bool):
        yield Stated("precision.bf16", bf16, "bf16")
    checkpointing = resolved.get("gradient_checkpointing")
    if checkpointing is not MISSING:
        yield Stated("checkpointing.on", bool(checkpointing), "gradient_checkpointing")
    kwargs = resolved.get("gradient_checkpointing_kwargs")
    if isinstance(kwargs, dict) and isinstance(kwargs.get("use_reentrant"), bool):
        yield Stated("checkpointing.reentrant", kwargs["use_reentrant"], "gradient_checkpointing_kwargs")
    for key, bits in (("load_in_8bit", 8), ("load_in_4bit", 4)):
        if resolved.get(key) is True:
            yield Stated("load.bits", bits, key)
    if isinstance(task := resolved.get("rl"), str):
        yield Stated("train.task", task, "rl")
    if resolved.get("deepspeed") is not MISSING:
        yield Stated("engine.kind", "deepspeed", "deepspeed")
    elif resolved.get("fsdp_config") is not MISSING or resolved.get("fsdp") is not MISSING:
        yield from _of_fsdp(resolved)
    for flag, implementation in ATTENTION.items():
        if resolved.get(flag) is True:
            yield Stated("load.attention", implementation, flag)


def paths_of(datasets: Any) -> list[str]:
    """The paths of a list of datasets."""
    paths = [entry.get("path") for entry in datasets if isinstance(entry, dict)] if isinstance(datasets, list) else []
    return [path for path in paths if isinstance(path, str)]


def _key_of(name: str) -> str:
    return next((key for key, other in NAMES.items() if other == name), "adam_beta1")


def _of_fsdp(resolved: Resolved) -> Iterator[Stated]:
    yield Stated("engine.kind", "fsdp", "fsdp_config" if "fsdp_config" in resolved.places else "fsdp")
    version = resolved.get("fsdp_config.fsdp_version")
    version = version if version is not MISSING else resolved.get("fsdp_version")
    if isinstance(version, int):
        yield Stated("engine.fsdp_version", version, "fsdp_version")
    for key, name in (
        ("reshard_after_forward", "engine.reshard_after_forward"),
        ("activation_checkpointing", "engine.activation_checkpointing"),
        ("cpu_ram_efficient_loading", "engine.ram_efficient"),
    ):
        if isinstance(value := resolved.get(f"fsdp_config.{key}"), bool):
            yield Stated(name, value, f"fsdp_config.{key}")
    if isinstance(offload := resolved.get("fsdp_config.offload_params"), bool):
        place = "cpu" if offload else "none"
        yield Stated("engine.offload_parameters", place, "fsdp_config.offload_params")
        yield Stated("engine.offload_optimizer", place, "fsdp_config.offload_params")
    wrapped = resolved.get("fsdp_config.transformer_layer_cls_to_wrap")
    if isinstance(wrapped, str):
        yield Stated("engine.wrap_classes", wrapped.split(","), "fsdp_config.transformer_layer_cls_to_wrap")


# the files of `axolotl fetch deepspeed_configs`, with the stage that each says
SHIPPED = {
    f"deepspeed_configs/{name}.json": {"engine.zero_stage": stage}
    for stage, names in {
        1: ("zero1", "zero1_torch_compile"),
        2: ("zero2", "zero2_torch_compile"),
        3: ("zero3", "zero3_bf16", "zero3_bf16_cpuoffload_all", "zero3_bf16_cpuoffload_params", "zero3_cpuoffload"),
    }.items()
    for name in names
}

AXOLOTL = Format(
    "axolotl",
    "axolotl",
    "Axolotl",
    ("transformers", "deepspeed", "torch"),
    recognises,
    links=links,
    states=states,
    ships=SHIPPED,
    # the older form of the diffusion plugin's settings, where a fraction is mapped to warmup_ratio
    excuses=lambda resolved, path: path == "warmup_steps" and "diffusion" in resolved.places,
)
