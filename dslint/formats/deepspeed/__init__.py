"""DeepSpeed's own JSON (ds_config): read as Hjson by DeepSpeed, as strict JSON by Transformers and Accelerate."""

from __future__ import annotations

import re

from dslint.document import Document, Mapping
from dslint.formats.base import Context, Format
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
        "fsdp_config",
        "fsdp_transformer_layer_cls_to_wrap",
        "$schema",
        "dependencies",
        "compilerOptions",
        "tokenizer_class",
        "weight_map",
    ]
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
    if names & MARKS:
        return True
    if names & OTHERS:
        return False
    blocks = sum(entry.name in BLOCKS and isinstance(entry.value, Mapping) for entry in root.entries)
    return bool(blocks) or "train_batch_size" in names or named or context is not None


def context(resolved: Resolved) -> Context | None:
    """hf when any value is "auto" where DeepSpeed itself gives "auto" no meaning."""
    return "hf" if resolved.autos else None


DEEPSPEED = Format("deepspeed", "deepspeed", ("transformers", "accelerate"), recognises, context)
