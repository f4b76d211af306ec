"""The launch of two linked files that `make demo` shows: broken, mended, proved."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("deepspeed")
LAUNCH = Path(__file__).parents[2] / "examples" / "broken" / "launch"


def test_a_broken_launch_is_found_mended_and_proved(dslint: Callable[..., Any], folder: Path) -> None:
    shutil.copytree(LAUNCH, folder / "launch")
    files = ("launch/train.yaml", "launch/ds.json")
    found = dslint("check", "--format", "concise", *files)
    assert found.code == 1
    assert "train_micro_batch_size_per_gpu is 8 here and 4 in the trainer's arguments" in found.out
    mended = dslint("check", "--fix", "--unsafe-fixes", "--verify", *files)
    assert mended.code == 0, mended.out
    assert "before the repair: launch/train.yaml: FAIL: the engine refuses it" in mended.out
    assert "\nlaunch/train.yaml: PASS" in mended.out
