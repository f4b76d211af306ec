"""LLaMA-Factory's YAML (and, up to 0.9.4, JSON): one flat file for ``llamafactory-cli`` train, export, chat, api, webchat or eval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dslint.document import Document, Scalar
from dslint.document import Mapping as MappingNode
from dslint.formats.base import Context, Dialect, Format, Link, Stated
from dslint.formats.trainer import of_fsdp
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# top-level keys that no other tool's file has; one is enough
MARKS = frozenset(
    [
        "finetuning_type", "infer_backend", "plot_loss", "pure_bf16", "export_legacy_format", "export_quantization_bit", "pref_loss",
        "adapter_name_or_path", "freeze_trainable_layers", "freeze_vision_tower", "freeze_multi_modal_projector", "pref_beta",
        "neat_packing", "badam_mode", "use_badam", "use_galore", "use_apollo", "use_llama_pro", "video_max_pixels", "image_max_pixels",
        "mask_history", "train_on_prompt", "loraplus_lr_ratio", "visual_inputs", "vllm_maxlen", "vllm_enforce_eager", "create_new_adapter",
        "pissa_init", "ref_model_adapters", "reward_model_type", "oft_target", "use_swanlab", "dpo_ftx", "use_asft_loss", "use_eaft_loss",
        "use_dft_loss",
    ]
)  # fmt: skip
# those that scripts of others may have: two of them, or one beside the model, the template or the stage
WEAK = frozenset(["lora_target", "cutoff_len", "dataset_dir", "quantization_bit", "export_dir", "additional_target", "tokenized_path"])
BESIDE = frozenset(["model_name_or_path", "template", "stage"])
# keys whose presence says that another tool reads the file
OTHERS = frozenset(
    [
        "base_model", "sequence_len", "datasets", "compute_environment", "distributed_type", "architectures", "$schema", "dataset_mixer",
        "dataset_mixture", "dataset_name", "defaults", "hydra", "apiVersion", "services", "jobs", "dependencies", "scripts", "peft_type",
        "zero_optimization", "weight_map", "version_scheme", "repos",
    ]
)  # fmt: skip
# a file without any of these is read by the inference parser: export, chat, api, webchat
TRAINING = frozenset(
    [
        "stage", "do_train", "do_eval", "do_predict", "output_dir", "dataset", "eval_dataset", "predict_with_generate", "max_steps",
        "per_device_train_batch_size", "learning_rate", "num_train_epochs", "gradient_accumulation_steps", "deepspeed", "bf16", "fp16",
        "per_device_eval_batch_size", "save_steps", "logging_steps", "lr_scheduler_type", "warmup_ratio", "warmup_steps", "eval_strategy",
        "optim", "overwrite_output_dir",
    ]
)  # fmt: skip
EVALUATION = frozenset(["n_shot", "lang", "task_dir"])


def recognises(document: Document, _: Context | None) -> bool:
    if not isinstance(document.root, MappingNode):
        return False
    names = {entry.name for entry in document.root.entries}
    if names & OTHERS:
        return False
    if names & MARKS or len(names & WEAK) > 1 or (names & WEAK and names & BESIDE):
        return True
    return "model_name_or_path" in names and (bool(names & {"template", "stage"}) or {"do_train", "dataset"} <= names)


def root(document: Document) -> str | None:
    """The command that the file is for: ``train``, ``infer`` or ``eval``."""
    if not isinstance(document.root, MappingNode):
        return None
    names = {entry.name for entry in document.root.entries}
    if "task" in names and names & EVALUATION:
        return "eval"
    if names & {"export_dir", "infer_backend"} and not names & {"stage", "do_train", "do_eval", "do_predict", "output_dir", "dataset"}:
        return "infer"
    return "train" if names & TRAINING else "infer"


def dialect(version: str) -> Dialect:
    """0.9.4 was the first to load the file with OmegaConf; before it PyYAML did."""
    numbers = [int(part) for part in version.split(".")[:3] if part.isdigit()]
    return "omegaconf" if numbers >= [0, 9, 4] else "pyyaml"


def links(resolved: Resolved) -> Iterator[Link]:
    for key, kind in (("deepspeed", "deepspeed"), ("fsdp_config", "fsdp")):
        place = resolved.places.get(key)
        if place is None:
            continue
        if isinstance(place.node, MappingNode):
            yield Link(key, kind, place.node)
        elif isinstance(place.node, Scalar) and isinstance(place.node.value, str):
            yield Link(key, kind, place.node.value)
    for key, kind in (("model_name_or_path", "model"), ("adapter_name_or_path", "adapter")):
        value = resolved.values.get(key)
        if isinstance(value, str):
            yield Link(key, kind, value)
    folder = resolved.get("dataset_dir")
    if isinstance(folder, str) and folder != "ONLINE" and not folder.startswith("REMOTE:") and "dataset" in resolved.places:
        yield Link("dataset_dir", "data", folder)


# key -> the Plan's name of what it says
NAMES: Mapping[str, str] = {
    "per_device_train_batch_size": "batch.micro",
    "gradient_accumulation_steps": "batch.accumulation",
    "per_device_eval_batch_size": "batch.eval_micro",
    "bf16": "precision.bf16",
    "fp16": "precision.fp16",
    "fp8": "precision.fp8",
    "tf32": "precision.tf32",
    "optim": "optimizer.type",
    "learning_rate": "optimizer.lr",
    "weight_decay": "optimizer.weight_decay",
    "adam_epsilon": "optimizer.eps",
    "max_grad_norm": "optimizer.clipping",
    "lr_scheduler_type": "schedule.type",
    "warmup_ratio": "schedule.warmup_ratio",
    "max_steps": "schedule.steps",
    "num_train_epochs": "schedule.epochs",
    "val_size": "data.validation",
    "cutoff_len": "data.sequence_length",
    "packing": "data.packing",
    "streaming": "data.streaming",
    "lora_rank": "adapter.rank",
    "lora_alpha": "adapter.alpha",
    "lora_dropout": "adapter.dropout",
    "quantization_bit": "load.bits",
    "trust_remote_code": "load.trust_remote_code",
    "torch_compile": "load.compile",
    "save_strategy": "save.strategy",
    "save_steps": "save.steps",
    "save_total_limit": "save.limit",
    "save_only_model": "save.only_model",
    "load_best_model_at_end": "save.best",
    "eval_strategy": "eval.strategy",
    "eval_steps": "eval.steps",
    "use_reentrant_gc": "checkpointing.reentrant",
    "model_name_or_path": "model.path",
    "output_dir": "train.output",
    "seed": "train.seed",
    "logging_steps": "train.logging_steps",
}
TASKS = {"pt": "pretrain", "sft": "sft", "rm": "rm", "ppo": "ppo", "dpo": "dpo", "kto": "kto"}
ATTENTION = {"auto": "auto", "disabled": "eager", "sdpa": "sdpa", "fa2": "flash", "fa3": "flash3"}
LORA_KEYS = ("lora_rank", "lora_alpha", "lora_dropout")


def states(resolved: Resolved) -> Iterator[Stated]:
    if resolved.blocks[""].name != "train":
        return
    method = resolved.get("finetuning_type")
    for key, name in NAMES.items():
        if key in LORA_KEYS and method != "lora":
            continue
        if (value := resolved.get(key)) is not MISSING:
            yield Stated(name, value, key)
    yield from _derived(resolved, method)


def _derived(resolved: Resolved, method: Any) -> Iterator[Stated]:
    """What is said in other words than the Plan's."""

    def given(key: str) -> Any:
        return resolved.get(key)

    if isinstance(warmup := given("warmup_steps"), (int, float)):
        yield Stated("schedule.warmup_ratio" if 0 < warmup < 1 else "schedule.warmup_steps", warmup, "warmup_steps")
    if isinstance(beta1 := given("adam_beta1"), float) and isinstance(beta2 := given("adam_beta2"), float):
        yield Stated("optimizer.betas", [beta1, beta2], "adam_beta1" if "adam_beta1" in resolved.places else "adam_beta2")
    if given("stage") in TASKS:
        yield Stated("train.task", TASKS[given("stage")], "stage")
    if method in ("lora", "full", "freeze", "oft"):
        yield Stated(
            "adapter.type", "qlora" if method == "lora" and given("quantization_bit") is not MISSING else method, "finetuning_type"
        )
    if sets := [name for name in names_of(given("dataset")) if name]:
        yield Stated("data.sets", sets, "dataset")
    if method == "lora" and (targets := names_of(given("lora_target"))) not in ([], ["all"]):
        yield Stated("adapter.targets", targets, "lora_target")
    if given("quantization_bit") is not MISSING and isinstance(given("quantization_method"), str):
        yield Stated("load.quantization", given("quantization_method"), "quantization_method")
    if given("flash_attn") in ATTENTION:
        yield Stated("load.attention", ATTENTION[given("flash_attn")], "flash_attn")
    if isinstance(off := given("disable_gradient_checkpointing"), bool):
        yield Stated("checkpointing.on", not off, "disable_gradient_checkpointing")
    if isinstance(given("resume_from_checkpoint"), str):
        yield Stated("resume", given("resume_from_checkpoint"), "resume_from_checkpoint")
    if given("fsdp") not in (MISSING, False, "", []):
        yield from of_fsdp(resolved)
    elif isinstance(given("deepspeed"), str):
        yield Stated("engine.config", given("deepspeed"), "deepspeed")


def names_of(value: Any) -> list[str]:
    """The names in a list as LLaMA-Factory takes it: text with commas, or a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [str(part) for part in value] if isinstance(value, list) else []


def _stage(stage: int, optimizer: str = "none", parameters: str = "none") -> dict[str, Any]:
    said: dict[str, Any] = {"engine.kind": "deepspeed", "engine.zero_stage": stage}
    return said | {"engine.offload_optimizer": optimizer} | ({"engine.offload_parameters": parameters} if stage == 3 else {})


# the DeepSpeed files of its repository, with what they say
SHIPS: Mapping[str, Mapping[str, Any]] = {
    "examples/deepspeed/ds_z0_config.json": _stage(0),
    "examples/deepspeed/ds_z2_config.json": _stage(2),
    "examples/deepspeed/ds_z2_autotp_config.json": _stage(2),
    "examples/deepspeed/ds_z2_offload_config.json": _stage(2, "cpu"),
    "examples/deepspeed/ds_z3_config.json": _stage(3),
    "examples/deepspeed/ds_z3_fp8_config.json": _stage(3),
    "examples/deepspeed/ds_z3_offload_config.json": _stage(3, "cpu", "cpu"),
}

LLAMAFACTORY = Format(
    "llamafactory",
    "llamafactory",
    "LLaMA-Factory",
    ("transformers", "deepspeed", "peft", "torch"),
    recognises,
    dialect=dialect,
    root=root,
    links=links,
    states=states,
    ships=SHIPS,
    duplicates=None,
)
