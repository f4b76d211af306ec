"""Asks transformers about an fsdp_config (asking.py); runs as a script of its own.

``TrainingArguments(fsdp=True, fsdp_config=FILE)`` on a pretended world of 8 ranks, then the plugin that the Trainer builds of it.
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
    CUDA_VISIBLE_DEVICES="",
    HF_HUB_OFFLINE="1",
    WORLD_SIZE=str(WORLD_SIZE),
    RANK="0",
    LOCAL_RANK="0",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT="29679",
)


def prepare() -> Callable[[str], None]:
    import torch
    import torch.distributed as dist
    from accelerate.utils import FullyShardedDataParallelPlugin
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from transformers import TrainingArguments

    dist.init_process_group("fake", rank=0, world_size=WORLD_SIZE, store=FakeStore())

    def ask(text: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            arguments = TrainingArguments(output_dir="out", fsdp=True, fsdp_config=file.name)
        torch.cuda.is_available, torch.cuda.current_device = (lambda: True), (lambda: 0)  # the plugin asks for a kind of device only
        if arguments.fsdp_plugin_args is not None:
            FullyShardedDataParallelPlugin(**arguments.fsdp_plugin_args)

    return ask


if __name__ == "__main__":
    serve(prepare, ("No module named",))
