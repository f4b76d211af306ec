"""The schema by version: what came, what went, what changed, and what is never there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dslint.schema.data import data_path
from dslint.schema.lookup import NAMES, KeyInfo, Schema

SCHEMA = Schema.load("deepspeed")


def info(version: str, block: str, key: str) -> KeyInfo | None:
    return SCHEMA.at(version).block(block).keys.get(key)


def test_the_file_is_found_in_a_checkout() -> None:
    assert Path(data_path("schemas")) == Path(__file__).parents[2] / "schemas"


def test_an_unknown_framework_or_block_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        Schema.load("no_such_framework")
    with pytest.raises(KeyError):
        SCHEMA.at(SCHEMA.newest).block("no_such_block")


def test_a_schema_is_read_once() -> None:
    assert Schema.load("deepspeed") is SCHEMA
    assert SCHEMA.at("0.19.8") is SCHEMA.at("0.19.8")
    assert SCHEMA.at("0.19.8").block("config") is SCHEMA.at("0.19.8").block("config")


@pytest.mark.parametrize("series", ["0.14", "0.15", "0.16", "0.17", "0.18", "0.19"])
def test_every_series_was_read(series: str) -> None:
    assert any(version.startswith(f"{series}.") for version in SCHEMA.versions)


@pytest.mark.parametrize(
    ("block", "key", "without", "having"),
    [
        ("zero_optimization", "mics_shard_size", "0.19.7", "0.19.6"),
        ("config", "nebula", "0.19.7", "0.19.6"),
        ("config", "sparse_attention", "0.19.7", "0.19.6"),
        ("config", "compression_training", "0.19.7", "0.19.6"),
        ("config", "amp", "0.19.8", "0.19.7"),
        ("config", "elasticity", "0.19.8", "0.19.7"),
        ("zero_optimization", "zenflow", "0.17.4", "0.17.5"),
        ("config", "torch_autocast", "0.17.1", "0.17.2"),
        ("config", "gradient_allreduce_op", "0.19.5", "0.19.6"),
        ("config", "compile", "0.16.5", "0.16.6"),
        ("aio", "intra_op_parallelism", "0.16.3", "0.16.4"),
        ("aio", "thread_count", "0.16.4", "0.16.3"),
        ("config", "seq_parallel_communication_data_type", "0.16.4", "0.16.5"),
        ("bf16", "check_grad_overflow", "0.17.0", "0.17.1"),
    ],
)
def test_a_key_is_there_from_its_first_to_its_last_release(block: str, key: str, without: str, having: str) -> None:
    assert info(having, block, key) is not None
    assert info(without, block, key) is None
    assert key in SCHEMA.at(without).block(block).gone


@pytest.mark.parametrize(
    ("version", "block", "key", "fact", "value"),
    [
        ("0.19.2", "config", "gradient_clipping", "default", 0.0),
        ("0.19.3", "config", "gradient_clipping", "default", 1.0),
        ("0.15.1", "config", "steps_per_print", "default", 10),
        ("0.15.2", "config", "steps_per_print", "default", None),
        ("0.17.1", "scheduler.params.WarmupLR", "warmup_max_lr", "default", 0.001),
        ("0.17.2", "scheduler.params.WarmupLR", "warmup_max_lr", "default", None),
        ("0.17.0", "fp16", "loss_scale", "coerce", "raw"),
        ("0.17.1", "fp16", "loss_scale", "coerce", "pydantic"),
        ("0.19.8", "zero_optimization", "stage", "enum", (0, 1, 2, 3)),
        ("0.19.8", "fp16", "enabled", "auto", "hf"),
    ],
)
def test_a_fact_changes_with_the_release_that_changed_it(version: str, block: str, key: str, fact: str, value: Any) -> None:
    found = info(version, block, key)
    assert found is not None
    assert getattr(found, fact) == value


def test_blocks_that_became_models_began_to_refuse_unknown_keys() -> None:
    assert SCHEMA.at("0.17.0").block("bf16").unknown == "ignored"
    assert SCHEMA.at("0.17.1").block("bf16").unknown == "refused"


def test_a_version_between_two_releases_follows_the_earlier() -> None:
    assert SCHEMA.at("0.19.8.post1").block("config").keys == SCHEMA.at("0.19.8").block("config").keys
    assert info("0.20.0", "config", "amp") is None


def test_every_reference_of_every_key_leads_somewhere() -> None:
    blocks = json.loads(Path(data_path("schemas"), "deepspeed.json").read_bytes())["blocks"]
    for name, block in blocks.items():
        assert block["unknown"] in ("refused", "ignored", "open")
        for key, facts in block["keys"].items():
            place = f"{name}.{key}"
            below = [facts["block"]] if facts.get("block") else list(facts.get("by_type", {}).get("blocks", {}).values())
            assert set(below) <= blocks.keys(), place
            assert facts["source"], place
            renamed = facts.get("renamed_to") or (facts.get("deprecated") or {}).get("replacement")
            if renamed is not None:
                parent, _, last = renamed.rpartition(".")
                assert last in blocks[parent or "config"]["keys"], (place, renamed)
            assert set(facts) <= NAMES | {"changes"}, place
