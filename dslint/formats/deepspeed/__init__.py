"""DeepSpeed's own JSON (ds_config): read as Hjson by DeepSpeed, as strict JSON by Transformers and Accelerate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dslint.document import Document, Mapping, Scalar, Sequence
from dslint.formats.base import Context, Format, Stated
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# top-level keys that no other kind of training JSON has
MARKS = frozenset(
    [
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer",
        "wall_clock_breakdown",
        "steps_per_print",
        "prescale_gradients",
        "gradient_predivide_factor",
        "communication_data_type",
        "comms_logger",
        "sparse_gradients",
        "memory_breakdown",
        "flops_profiler",
        "csv_monitor",
        "hybrid_engine",
        "compression_training",
        "data_efficiency",
        "elasticity",
        "amp",
        "curriculum_learning",
        "dump_state",
        "fp32_allreduce",
        "disable_allgather",
        "sparse_attention",
        "progressive_layer_drop",
        "eigenvalue",
        "quantize_training",
        "aio",
        "zenflow",
        "zero_quantized_weights",
    ]
)
# those that others have too, but as something else than an object
BLOCKS = frozenset(
    [
        "fp16",
        "bf16",
        "bfloat16",
        "optimizer",
        "scheduler",
        "activation_checkpointing",
        "tensor_parallel",
        "pipeline",
        "data_types",
        "torch_autocast",
    ]
)
# keys whose presence says that another tool reads the file
OTHERS = frozenset(
    [
        "model_name_or_path",
        "base_model",
        "output_dir",
        "compute_environment",
        "architectures",
        "model_type",
        "per_device_train_batch_size",
        "fsdp",
        "fsdp_config",
        "fsdp_transformer_layer_cls_to_wrap",
        "$schema",
        "dependencies",
        "compilerOptions",
        "tokenizer_class",
        "weight_map",
    ]
)
# GPT-NeoX keeps DeepSpeed's keys among its own and takes them apart itself
OF_NEOX = frozenset(
    ["num-layers", "num_layers", "pipe-parallel-size", "pipe_parallel_size", "train-iters", "train_iters", "seq-length", "seq_length"]
)
NAME = re.compile(r"(^|[^a-z])(ds|deepspeed|zero[-_]?[0-3]?)([^a-z]|$)", re.IGNORECASE)
TEXT = re.compile(r"""["']?(zero_optimization|train_micro_batch_size_per_gpu|train_batch_size)["']?\s*:""")


def recognises(document: Document, context: Context | None) -> bool:
    if document.syntax != "json":
        return False
    named = NAME.search(document.file.replace("\\", "/").rsplit("/", 1)[-1]) is not None
    root = document.root
    if not isinstance(root, Mapping):
        return named or TEXT.search(document.text) is not None
    names = {entry.name for entry in root.entries}
    if names & OF_NEOX:
        return False
    if names & MARKS:
        return True
    if names & OTHERS:
        return False
    blocks = sum(entry.name in BLOCKS and isinstance(entry.value, Mapping) for entry in root.entries)
    return bool(blocks) or "train_batch_size" in names or named or context is not None


def context(resolved: Resolved) -> Context | None:
    """hf when any value is "auto" where DeepSpeed itself gives "auto" no meaning."""
    return "hf" if resolved.autos else None


def derives(resolved: Resolved) -> Iterator[tuple[str, str]]:
    """The devices that the switches of 2020 stand for (runtime/zero/config.py: cpu_offload, cpu_offload_param)."""
    for switch, block in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")):
        if resolved.values.get(f"zero_optimization.{switch}") is True and f"zero_optimization.{block}" not in resolved.places:
            yield f"zero_optimization.{block}.device", "cpu"


# what the autotuner tries several values of (autotuning/autotuner.py: tune, get_gas_from_user_config, tune_space)
TUNED = ("zero_optimization.", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def excuses(resolved: Resolved, path: str) -> bool:
    """A list of values to try, or "all" stages: the autotuner's launcher reads it, and each experiment gets one of them."""
    if resolved.values.get("autotuning.enabled") is not True or not path.startswith(TUNED):
        return False
    node = resolved.places[path].node
    return isinstance(node, Sequence) or (path == "zero_optimization.stage" and isinstance(node, Scalar) and node.value == "all")


# canonical key -> the Plan's name of what it says
NAMES = {
    "train_batch_size": "batch.total",
    "train_micro_batch_size_per_gpu": "batch.micro",
    "gradient_accumulation_steps": "batch.accumulation",
    "gradient_clipping": "optimizer.clipping",
    "fp16.enabled": "precision.fp16",
    "bf16.enabled": "precision.bf16",
    "optimizer.type": "optimizer.type",
    "optimizer.params.lr": "optimizer.lr",
    "optimizer.params.betas": "optimizer.betas",
    "optimizer.params.eps": "optimizer.eps",
    "optimizer.params.weight_decay": "optimizer.weight_decay",
    "scheduler.type": "schedule.type",
    "scheduler.params.warmup_min_lr": "schedule.min_lr",
    "scheduler.params.warmup_max_lr": "schedule.max_lr",
    "scheduler.params.warmup_num_steps": "schedule.warmup_steps",
    "scheduler.params.total_num_steps": "schedule.steps",
    "zero_optimization.stage": "engine.zero_stage",
    "zero_optimization.offload_optimizer.device": "engine.offload_optimizer",
    "zero_optimization.offload_param.device": "engine.offload_parameters",
    "zero_optimization.stage3_gather_16bit_weights_on_model_save": "engine.gather_on_save",
    "zero_optimization.reduce_bucket_size": "engine.reduce_bucket",
    "zero_optimization.allgather_bucket_size": "engine.allgather_bucket",
    "zero_optimization.stage3_prefetch_bucket_size": "engine.prefetch_bucket",
    "zero_optimization.stage3_max_live_parameters": "engine.live_parameters",
    "zero_optimization.stage3_param_persistence_threshold": "engine.persistence_threshold",
    "zero_optimization.sub_group_size": "engine.subgroup",
    "zero_optimization.overlap_comm": "engine.overlap",
    "zero_optimization.contiguous_gradients": "engine.contiguous_gradients",
    "zero_optimization.zero_hpz_partition_size": "engine.secondary_shard",
    "zero_optimization.offload_optimizer.ratio": "engine.offload_ratio",
    "zero_optimization.offload_optimizer.pin_memory": "engine.pin_memory",
    "data_types.grad_accum_dtype": "engine.gradient_dtype",
    "bf16.bf16_optimizer_states": "engine.low_precision_states",
    "tensor_parallel.autotp_size": "parallel.tensor",
    "sequence_parallel_size": "parallel.sequence",
}
# keys whose "auto" the Hugging Face integration replaces by what the run's other files say
FILLS = {
    **{
        key: NAMES[key]
        for key in (
            "train_batch_size",
            "train_micro_batch_size_per_gpu",
            "gradient_accumulation_steps",
            "gradient_clipping",
            "fp16.enabled",
            "bf16.enabled",
            "optimizer.params.lr",
            "optimizer.params.betas",
            "optimizer.params.eps",
            "optimizer.params.weight_decay",
            "scheduler.params.warmup_num_steps",
            "scheduler.params.total_num_steps",
        )
    },
    "scheduler.params.warmup_max_lr": "optimizer.lr",
}
# what the integration fills in from the model's width
BUCKETS = frozenset(
    f"zero_optimization.{key}" for key in ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold")
)


def states(resolved: Resolved) -> Iterator[Stated]:
    yield Stated("engine.kind", "deepspeed", "")
    for key, name in NAMES.items():
        if key in resolved.values and resolved.values[key] is not MISSING:
            yield Stated(name, resolved.values[key], key)
    for key in ("bf16.bf16_master_weights_and_grads", "fp16.fp16_master_weights_and_grads"):
        if resolved.values.get(key) is True:
            yield Stated("engine.low_precision_master", True, key)
    for key in BUCKETS.intersection(resolved.autos):
        yield Stated(NAMES[key], "auto", key)


DEEPSPEED = Format(
    "deepspeed",
    "deepspeed",
    "DeepSpeed",
    ("transformers", "accelerate"),
    recognises,
    context,
    states=states,
    excuses=excuses,
    derives=lambda resolved: dict(derives(resolved)),
    fills=FILLS,
    strict_json=False,
    duplicates=None,
)
