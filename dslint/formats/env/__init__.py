"""Variables of a launch, ``NAME=value`` a line: a dotenv file, or DeepSpeed's .deepspeed_env. Other variables than those of training are nobody's business."""

from __future__ import annotations

from dslint.document import Document, Mapping
from dslint.formats.base import Context, Format

FAMILIES = (
    "NCCL_",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "TORCH_",
    "PYTORCH_",
    "ACCELERATE_",
    "DEEPSPEED_",
    "DS_",
    "FSDP_",
    "OMP_",
    "MASTER_",
    "GLOO_",
    "WORLD_SIZE",
    "NUM_GPUS",
    "GPU_NAME",
)


def recognises(document: Document, context: Context | None) -> bool:
    node = document.node(("env",)) if document.syntax == "env" else None
    return isinstance(node, Mapping) and any(entry.name.upper().startswith(FAMILIES) for entry in node.entries)


ENV = Format(
    name="env", framework="torch", title="the launch", companions=("accelerate", "deepspeed"), recognises=recognises, duplicates=None
)
