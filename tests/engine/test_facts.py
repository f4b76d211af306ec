from __future__ import annotations

import pytest

from dslint.engine.facts import Facts


def test_variables_of_a_launch_become_facts_with_their_types() -> None:
    facts = Facts.from_env({"WORLD_SIZE": "8", "CUDA_CAPABILITY": "7.0", "GPU_NAME": "Tesla V100", "NCCL_DEBUG": "INFO", "NUM_GPUS": ""})
    assert (facts.get("world_size"), facts.get("cuda_capability"), facts.get("gpu_name")) == (8, 7.0, "Tesla V100")
    assert facts.get("num_gpus") is None
    assert facts.env["NCCL_DEBUG"] == "INFO"


@pytest.mark.parametrize(
    ("env", "world"),
    [
        ({"NUM_GPUS": "4"}, 4),
        ({"NUM_GPUS": "4", "WORLD_SIZE": "16"}, 16),
        ({"GPUS_PER_NODE": "8"}, None),
        ({}, None),
    ],
)
def test_the_world_size_follows_where_it_can(env: dict[str, str], world: int | None) -> None:
    assert Facts.from_env(env).get("world_size") == world


def test_nodes_times_gpus_is_the_world() -> None:
    assert Facts({"num_nodes": 2, "gpus_per_node": 8}).get("world_size") == 16


@pytest.mark.parametrize("text", ["unlimited", "UNLIMITED", "-1", "inf"])
def test_a_limit_may_be_without_one(text: str) -> None:
    assert Facts.from_env({"MEMLOCK_KB": text}).get("memlock_kb") == float("inf")


@pytest.mark.parametrize(
    ("variable", "text"),
    [("WORLD_SIZE", "0"), ("WORLD_SIZE", "-1"), ("GPU_MEM_GB", "nan"), ("HOST_RAM_GB", "inf"), ("NUM_GPUS", "-2"), ("MEMLOCK_KB", "-5")],
)
def test_what_no_machine_has_is_refused(variable: str, text: str) -> None:
    with pytest.raises(ValueError, match=rf"{variable} must be a (whole )?number (above 0|of 0 or more), not '{text}'"):
        Facts.from_env({variable: text})


def test_no_gpu_is_no_world() -> None:
    assert Facts.from_env({"NUM_GPUS": "0"}).get("world_size") is None


def test_what_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match="WORLD_SIZE must be a whole number, not 'eight'"):
        Facts.from_env({"WORLD_SIZE": "eight"})
