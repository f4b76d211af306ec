"""The arithmetic of the torch-free side."""

from __future__ import annotations

from typing import Any

import pytest

from dslint.verify import known
from dslint.verify.prepare import prepare, triple

T, M, G = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


@pytest.mark.parametrize(
    ("batch", "world_size", "meant_for", "run"),
    [
        ({T: 256, M: 4, G: 8}, None, 8, {T: 8, M: 2, G: 2}),
        ({T: 256, M: 4}, None, 2, {T: 8, M: 2}),
        ({T: 16, G: 4}, 4, 4, {T: 4, G: 2}),
        ({T: 1}, None, 1, {T: 2}),
        ({M: 1}, None, 2, {M: 1}),
        ({T: 250, M: 4, G: 8}, None, 2, {T: 250, M: 4, G: 8}),
        ({T: "256", M: 4}, None, 2, {T: "256", M: 4}),
        ({}, None, 2, {}),
        ({M: 0}, None, 2, {M: 0}),
    ],
)
def test_batch_keeps_its_shape(batch: dict[str, Any], world_size: int | None, meant_for: int, run: dict[str, Any]) -> None:
    prepared = prepare(batch, "native", world_size, gpus=0)
    assert prepared.meant_for == meant_for
    assert {name: value for name, value in prepared.config.items() if name in (T, M, G)} == run
    assert prepared.written == batch


def test_a_batch_that_fits_the_launch_still_fits_here() -> None:
    for total in range(1, 40):
        for micro in (None, 1, 2, 3, 4):
            for accumulation in (None, 1, 2, 3):
                batch = {T: total, **({M: micro} if micro else {}), **({G: accumulation} if accumulation else {})}
                for world_size in (1, 2, 3, 8):
                    fits = triple(batch, world_size) is not None
                    prepared = prepare(batch, "native", world_size, gpus=0)
                    if fits:
                        assert triple(prepared.config, prepared.ranks) is not None, (batch, world_size)
                    else:
                        assert prepared.config == batch


def test_nonsense_anywhere_is_left_to_the_engine() -> None:
    for nonsense in (None, [], "x", 3, {"enabled": {}}, float("nan")):
        for name in ("zero_optimization", "optimizer", "bf16", "fp16", "tensorboard", "wandb", "tensor_parallel", "checkpoint", T, M, G):
            assert prepare({name: nonsense, "scheduler": {"params": "auto"}}, None, None, gpus=0).written is not None


def test_a_known_error_changes_something_once() -> None:
    prepared = prepare({"fp16": {"enabled": True}}, "native", None, gpus=0)
    error = "ValueError: Type fp16 is not supported on your device."
    first = known.match(error, prepared)
    assert first is not None
    assert known.match(error, first[1]) is None


def test_an_unknown_error_changes_nothing() -> None:
    prepared = prepare({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": True}}}, None, None, gpus=0)
    assert known.match("AssertionError: Check batch related parameters.", prepared) is None
