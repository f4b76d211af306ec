"""Which repairs are offered: only those whose goal can take the value, and is free."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dslint.document import format_path, load
from dslint.engine.facts import Facts
from dslint.engine.project import Project, Target
from dslint.engine.run import check


def offered(config: dict[str, Any], path: str) -> list[tuple[str, str]]:
    """Code and titles of the repairs of what is said at a path."""
    project = Project(targets={"deepspeed": Target("0.19.8", "test")}, facts=Facts({"world_size": 8}), context="native")
    report = check(load("ds_config.json", json.dumps(config).encode()), project)
    assert report is not None
    return [(found.code, fix.title) for found in report.diagnostics if format_path(found.path) == path for fix in found.fixes]


@pytest.mark.parametrize(
    ("config", "path", "repairs"),
    [
        # a switch is no block
        ({"zero_optimization": {"stage": 3, "cpu_offload_params": True}}, "zero_optimization.cpu_offload_params", ["remove cpu_offload_params"]),
        ({"zero_optimization": {"stage": 2, "overlap_com": True}}, "zero_optimization.overlap_com", ["rename it to overlap_comm"]),
        # a block whose keys are those of another
        ({"curriculum_learning": {"enabled": True, "curriculum_type": "seqlen"}}, "curriculum_learning", ["remove curriculum_learning"]),
        # the goal is written already
        ({"gradient_clipping": 1.0, "optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}}, "optimizer.params.max_grad_norm", ["remove it"]),
        # a path as one key
        ({"zero_optimization.stage": 2}, '["zero_optimization.stage"]', ["write it as blocks", "remove zero_optimization.stage"]),
        ({"zero_optimization.stage": 2, "zero_optimization": {"stage": 1}}, '["zero_optimization.stage"]', ["remove zero_optimization.stage"]),
        # a number however it is quoted
        ({"zero_optimization": {"stage": 2, "reduce_bucket_size": "5e8"}}, "zero_optimization.reduce_bucket_size", ["write 500000000"]),
    ],
)  # fmt: skip
def test_a_repair_fits_its_goal(config: dict[str, Any], path: str, repairs: list[str]) -> None:
    assert [title for _, title in offered({"train_batch_size": 8, **config}, path)] == repairs
