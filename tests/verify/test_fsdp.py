"""Launches that shard with FSDP, trained for real by torch's own on CPU ranks."""

from __future__ import annotations

from typing import Any

import pytest

from dslint.verify.outcome import Outcome
from dslint.verify.pool import Pool
from dslint.verify.runner import Wish, verify_subject
from dslint.verify.subject import Subject

pytest.importorskip("transformers")


def sharded(pool: Pool, **plan: Any) -> Outcome:
    named = {"engine.kind": "fsdp", **{name.replace("__", "."): value for name, value in plan.items()}}
    return verify_subject(Subject("fsdp.yaml", "fsdp", "accelerate", plan=named), Wish(240), pool)


@pytest.mark.parametrize(
    "plan",
    [
        {"engine__fsdp_version": 2},
        {"engine__fsdp_version": 2, "precision__mixed": "bf16", "optimizer__clipping": 0.5},
        {"engine__fsdp_version": 2, "engine__reshard_after_forward": False, "batch__accumulation": 4},
        {"engine__fsdp_version": 2, "engine__offload_parameters": "cpu"},
        {"engine__fsdp_version": 2, "engine__activation_checkpointing": True},
        {"engine__fsdp_version": 2, "engine__wrap_classes": ["Qwen2DecoderLayer"]},
        {"engine__fsdp_version": 1},
        {"engine__fsdp_version": 1, "precision__mixed": "bf16", "optimizer__clipping": 0.5},
        {"engine__fsdp_version": 1, "engine__sharding": "grad_op"},
    ],
)
def test_each_way_of_sharding_trains(pool: Pool, plan: dict[str, Any]) -> None:
    outcome = sharded(pool, **plan)
    assert outcome.status == "pass", outcome.render()
    found = {row.what: row.found for row in outcome.table}
    assert found["engine"] == f"FSDP{plan['engine__fsdp_version']}"
    assert "parameters on a rank" in found


def test_the_optimizer_is_the_one_that_is_named(pool: Pool) -> None:
    outcome = sharded(pool, engine__fsdp_version=2, optimizer__type="sgd")
    assert outcome.status == "pass", outcome.render()
    found = {row.what: row.found for row in outcome.table}
    assert found["optimizer"] == "SGD"
    assert "checkpoint on 1 rank" in found


def test_an_optimizer_that_torch_has_not_is_said(pool: Pool) -> None:
    outcome = sharded(pool, engine__fsdp_version=2, optimizer__type="adamw_bnb_8bit")
    assert (outcome.status, outcome.ranks) == ("unverified", 2), outcome.render()
    assert "adamw_bnb_8bit" in outcome.reason


def test_a_class_of_another_model_is_refused(pool: Pool) -> None:
    outcome = sharded(pool, engine__fsdp_version=2, model__type="llama", engine__wrap_classes=["Qwen2DecoderLayer"])
    assert outcome.status == "fail"
    assert "Could not find the transformer layer class" in str(outcome.error)
