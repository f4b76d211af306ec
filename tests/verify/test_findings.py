"""What a config declares and the run does not show is found by a verdict of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dslint.verify.outcome import Outcome

BASE: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": 2,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
    "zero_optimization": {"stage": 2},
}


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}, "optimizer offload"),
        ({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}, "parameter offload"),
        (
            {"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-4, "warmup_max_lr": 1e-4, "warmup_num_steps": 100}}},
            "learning rate",
        ),
    ],
)
def test_a_declared_key_without_effect_fails(proved: Callable[..., Outcome], more: dict[str, Any], what: str) -> None:
    outcome = proved({**BASE, **more}, context="native")
    assert outcome.status == "fail", outcome.render()
    assert [row.what for row in outcome.table if row.status == "fail"] == [what]


@pytest.mark.parametrize(
    "more",
    [
        {"gradient_clipping": 0.1},
        {"gradient_clipping": 1.0, "gradient_accumulation_steps": 4},
        {"communication_data_type": "fp32"},
        {"data_types": {"grad_accum_dtype": "fp32"}},
        {"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 20, "warmup_max_lr": 1e-4, "warmup_num_steps": 3}}},
        {"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 1e-4, "warmup_num_steps": 3, "warmup_type": "linear"}}},
        {"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}},
        {"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu"}}},
    ],
)
def test_what_has_its_effect_passes(proved: Callable[..., Outcome], more: dict[str, Any]) -> None:
    outcome = proved({**BASE, **more}, context="native")
    assert outcome.status == "pass", outcome.render()
