"""A DeepSpeed and an FSDP pair made of one Axolotl file train the same, really run on two ranks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write

pytest.importorskip("deepspeed")
WORKER = Path(__file__).with_name("worker.py")
AXOLOTL = """\
base_model: tiny/llama
datasets: [{path: x, type: alpaca}]
sequence_len: 16
micro_batch_size: 2
gradient_accumulation_steps: 2
optimizer: adamw_torch
lr_scheduler: constant
learning_rate: 1.0e-2
adam_beta2: 0.95
weight_decay: 0.1
max_grad_norm: 0.5
max_steps: 5
bf16: false
tf32: false
deepspeed: ds.json
"""


def trained(*arguments: str) -> list[float]:
    """The losses of a training on two ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    world = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "DS_ACCELERATOR": "cpu"}
    ranks = [
        subprocess.Popen(
            [sys.executable, WORKER, *arguments],
            env={**os.environ, **world, "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said[0].decode()[-3000:]
    losses: list[float] = json.loads(Path(arguments[-1]).read_text())
    return losses


def test_both_train_the_same(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "axolotl.yaml", AXOLOTL)
    write(folder / "ds.json", {"zero_optimization": {"stage": 2}, "gradient_clipping": "auto", "train_micro_batch_size_per_gpu": "auto"})
    assert dslint("convert", "axolotl.yaml", "--to", "deepspeed", "-o", "ds_config.json").code == 0
    to_fsdp = ["--to", "accelerate", "--flavour", "fsdp", "--fsdp-version", "2", "--world-size", "2", "-o", "pair/"]
    assert dslint("convert", "axolotl.yaml", *to_fsdp).code == 0
    with_deepspeed = trained("deepspeed", "ds_config.json", str(folder / "a.json"))
    with_fsdp = trained("fsdp", "pair/accelerate.yaml", "pair/train.yaml", str(folder / "b.json"))
    assert with_deepspeed[-1] < with_deepspeed[0]
    assert with_fsdp == pytest.approx(with_deepspeed, abs=1e-3)
