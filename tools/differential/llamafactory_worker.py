"""Asks LLaMA-Factory's own parser about configs (asking.py); runs as a script of its own, in LLaMA-Factory's environment.

A text is read by OmegaConf as the command line does, and parsed on a pretended world of 8 ranks whose GPU can do bf16 and TF32.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from asking import serve

WORLD_SIZE = 8
os.environ.update(
    HF_HUB_OFFLINE="1",
    DISABLE_VERSION_CHECK="1",
    CUDA_VISIBLE_DEVICES="",
    FORCE_TORCHRUN="1",
    WORLD_SIZE=str(WORLD_SIZE),
    RANK="0",
    LOCAL_RANK="0",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT="29678",
)
ENVIRONMENT = (
    "No package metadata",
    "No module named",
    "was not found and is required",
    "is not installed",
    "Please install",
    "requires the",
)


def prepare() -> Callable[[str], None]:
    """Everything that takes long, once: torch's fake process group, and LLaMA-Factory itself."""
    import torch.distributed as dist
    import transformers.utils
    import transformers.utils.import_utils
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=WORLD_SIZE, store=FakeStore())
    for module in (transformers.utils, transformers.utils.import_utils):
        for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
            setattr(module, name, lambda *_, **__: True)
    from llamafactory.hparams import get_train_args
    from omegaconf import OmegaConf

    def parse(text: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            container = OmegaConf.to_container(OmegaConf.merge(OmegaConf.load(file.name), OmegaConf.from_cli([])))
        get_train_args(container)

    return parse


if __name__ == "__main__":
    serve(prepare, ENVIRONMENT)
