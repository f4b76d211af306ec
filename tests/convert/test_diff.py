"""What two runs would train differently, whichever frameworks they are for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write
from tests.convert.test_convert import AXOLOTL, DEEPSPEED

TRAINER = """\
output_dir: out
model_name_or_path: NousResearch/Llama-3.2-1B
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2.0e-4
optim: adamw_bnb_8bit
lr_scheduler_type: cosine
max_steps: 200
warmup_steps: 20
bf16: true
gradient_checkpointing: true
max_length: 2048
use_peft: true
lora_r: 16
lora_alpha: 32
deepspeed: ds.json
"""


@pytest.fixture
def both(folder: Path) -> Path:
    write(folder / "axolotl.yaml", AXOLOTL)
    write(folder / "train.yaml", TRAINER)
    write(folder / "ds.json", DEEPSPEED)
    return folder


def test_the_same_run_in_two_frameworks_is_no_difference(dslint: Callable[..., Any], both: Path) -> None:
    done = dslint("diff", "axolotl.yaml", "train.yaml", "--format", "json")
    assert (done.code, done.json["differences"]) == (0, [])


def test_a_difference_is_shown_with_both_places(dslint: Callable[..., Any], both: Path) -> None:
    write(both / "train.yaml", TRAINER.replace("gradient_accumulation_steps: 4", "gradient_accumulation_steps: 2"))
    done = dslint("diff", "axolotl.yaml", "train.yaml")
    assert done.code == 1
    assert "batch.accumulation" in done.out
    assert "axolotl.yaml:11 gradient_accumulation_steps" in done.out
    assert "train.yaml:4 gradient_accumulation_steps" in done.out


def test_a_file_is_no_different_from_itself(dslint: Callable[..., Any], both: Path) -> None:
    for file in ("axolotl.yaml", "train.yaml", "ds.json"):
        done = dslint("diff", file, file)
        assert (done.code, done.out) == (0, "")


def test_a_value_of_the_command_line_counts(dslint: Callable[..., Any], both: Path) -> None:
    assert dslint("diff", "axolotl.yaml", "axolotl.yaml", "--set", "learning_rate=1e-3").code == 0, "it holds for both"
