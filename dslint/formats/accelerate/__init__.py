"""The file of ``accelerate launch``: YAML or JSON, read by PyYAML or json into ClusterConfig (SageMakerConfig)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dslint.document import Document, Mapping, Scalar
from dslint.formats.base import Context, Format, Link, Stated
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# top-level keys that no other training file has
MARKS = frozenset(
    [
        "compute_environment",
        "distributed_type",
        "main_training_function",
        "downcast_bf16",
        "rdzv_backend",
        "tpu_use_cluster",
        "tpu_use_sudo",
        "megatron_lm_config",
        "mpirun_config",
        "deepspeed_config",
    ]
)
# keys whose presence says that another tool reads the file
OTHERS = frozenset(
    ["base_model", "stage", "finetuning_type", "zero_optimization", "micro_batch_size", "apiVersion", "services", "defaults"]
)
TEXT = re.compile(r"^(compute_environment|distributed_type)\s*:", re.MULTILINE)
SHARDING = {
    "FULL_SHARD": "full",
    "1": "full",
    "SHARD_GRAD_OP": "grad_op",
    "2": "grad_op",
    "NO_SHARD": "none",
    "3": "none",
    "HYBRID_SHARD": "hybrid",
    "4": "hybrid",
    "HYBRID_SHARD_ZERO2": "hybrid_grad_op",
    "_HYBRID_SHARD_ZERO2": "hybrid_grad_op",
    "5": "hybrid_grad_op",
}
WRAPPING = {"TRANSFORMER_BASED_WRAP": "transformer", "SIZE_BASED_WRAP": "size", "NO_WRAP": "none"}
STATE_DICTS = {"FULL_STATE_DICT": "full", "SHARDED_STATE_DICT": "sharded", "LOCAL_STATE_DICT": "local"}
# canonical key -> the Plan's name of what it says
NAMES = {
    "num_processes": "launch.processes",
    "num_machines": "launch.machines",
    "mixed_precision": "precision.mixed",
}
OF_DEEPSPEED = {
    "deepspeed_config.zero_stage": "engine.zero_stage",
    "deepspeed_config.offload_optimizer_device": "engine.offload_optimizer",
    "deepspeed_config.offload_param_device": "engine.offload_parameters",
    "deepspeed_config.gradient_accumulation_steps": "batch.accumulation",
    "deepspeed_config.gradient_clipping": "optimizer.clipping",
    "deepspeed_config.zero3_save_16bit_model": "engine.gather_on_save",
}
OF_FSDP = {
    "fsdp_config.fsdp_version": "engine.fsdp_version",
    "fsdp_config.fsdp_min_num_params": "engine.wrap_size",
    "fsdp_config.fsdp_cpu_ram_efficient_loading": "engine.ram_efficient",
    "fsdp_config.fsdp_activation_checkpointing": "engine.activation_checkpointing",
}
PARALLEL = {
    "parallelism_config.parallelism_config_dp_replicate_size": "parallel.replicate",
    "parallelism_config.parallelism_config_dp_shard_size": "parallel.shard",
    "parallelism_config.parallelism_config_tp_size": "parallel.tensor",
    "parallelism_config.parallelism_config_cp_size": "parallel.context",
    "parallelism_config.parallelism_config_sp_size": "parallel.sequence",
}


def recognises(document: Document, context: Context | None) -> bool:
    root = document.root
    if not isinstance(root, Mapping):
        return TEXT.search(document.text) is not None
    names = {entry.name for entry in root.entries}
    return bool(names & MARKS) and not names & OTHERS


def root(document: Document) -> str | None:
    entry = document.root.get("compute_environment") if isinstance(document.root, Mapping) else None
    amazon = entry is not None and isinstance(entry.value, Scalar) and entry.value.value == "AMAZON_SAGEMAKER"
    return "sagemaker" if amazon else None


def links(resolved: Resolved) -> Iterator[Link]:
    path = resolved.get("deepspeed_config.deepspeed_config_file")
    if isinstance(path, str) and path != "none":
        yield Link("deepspeed_config.deepspeed_config_file", "deepspeed", path)


def states(resolved: Resolved) -> Iterator[Stated]:
    kind = resolved.get("distributed_type")
    yield from _stated(resolved, NAMES)
    if kind == "DEEPSPEED":
        yield Stated("engine.kind", "deepspeed", "distributed_type")
        if resolved.get("deepspeed_config.deepspeed_config_file") is MISSING:
            yield from _stated(resolved, OF_DEEPSPEED)
    elif kind == "FSDP":
        yield Stated("engine.kind", "fsdp", "distributed_type")
        yield from _stated(resolved, OF_FSDP)
        yield from _of_fsdp(resolved)
    elif isinstance(kind, str) and kind.startswith("MULTI_"):
        yield Stated("engine.kind", "ddp", "distributed_type")
    if "parallelism_config" in resolved.blocks:
        yield from _stated(resolved, PARALLEL)


def _stated(resolved: Resolved, names: dict[str, str]) -> Iterator[Stated]:
    for key, name in names.items():
        if (value := resolved.get(key)) is not MISSING:
            yield Stated(name, value, key)


def _of_fsdp(resolved: Resolved) -> Iterator[Stated]:
    """What needs a translation: sharding (which FSDP2 does not read), offload, wrapping, the form of checkpoints."""
    key = "fsdp_config.fsdp_sharding_strategy"
    if resolved.get("fsdp_config.fsdp_version") == 2:
        again = resolved.get("fsdp_config.fsdp_reshard_after_forward")
        if isinstance(again, bool):
            yield Stated("engine.reshard_after_forward", again, "fsdp_config.fsdp_reshard_after_forward")
        yield Stated("engine.sharding", "grad_op" if again is False else "full", "fsdp_config.fsdp_reshard_after_forward")
    elif (sharding := SHARDING.get(str(resolved.get(key)).upper())) is not None:
        yield Stated("engine.sharding", sharding, key)
    if isinstance(offload := resolved.get("fsdp_config.fsdp_offload_params"), bool):
        place = "cpu" if offload else "none"
        yield Stated("engine.offload_parameters", place, "fsdp_config.fsdp_offload_params")
        yield Stated("engine.offload_optimizer", place, "fsdp_config.fsdp_offload_params")
    for name, key, words in (
        ("engine.wrap_policy", "fsdp_config.fsdp_auto_wrap_policy", WRAPPING),
        ("engine.state_dict", "fsdp_config.fsdp_state_dict_type", STATE_DICTS),
    ):
        if (word := words.get(str(resolved.get(key)).upper())) is not None:
            yield Stated(name, word, key)
    if classes := class_names(resolved.get("fsdp_config.fsdp_transformer_layer_cls_to_wrap")):
        yield Stated("engine.wrap_classes", classes, "fsdp_config.fsdp_transformer_layer_cls_to_wrap")


def class_names(written: Any) -> list[str]:
    """The classes of a comma separated text."""
    return [name for name in written.split(",") if name] if isinstance(written, str) else []


ACCELERATE = Format(
    "accelerate",
    "accelerate",
    "Accelerate",
    ("deepspeed", "torch"),
    recognises,
    root=root,
    links=links,
    states=states,
)
