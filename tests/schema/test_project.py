"""The JSON Schema of a version is valid, and what it accepts, the lookup accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dslint.document import Mapping, load
from dslint.schema.lookup import KeyInfo, Schema, VersionedSchema
from dslint.schema.project import project
from dslint.schema.resolve import resolve

SCHEMA = Schema.load("deepspeed")
NEWEST = SCHEMA.at(SCHEMA.newest)
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.json"))
VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 3, -1, 5.5, -0.5, 1e-8, "auto", "fp16", "BF16", "cpu", "nvme", "none", "mean", "Warn", "wrong", "1", "true",
    [], [1], [0.9, 0.99], ["a"], {}, {"a": 1}, {"enabled": True}, {"type": "Adam", "params": {"lr": 1}}, {"type": "WarmupLR", "params": {"lr": 1}},
    {"type": "LION", "params": {"eps": 1}}, {"type": "Other", "params": {"any": 1}}, {"type": "warmuplr", "params": {"any": 1}}, {"stage": 3},
    {"_note": "x"}, {"device": "cpu", "ratio": 2},
]  # fmt: skip


def complaints(schema: VersionedSchema, config: dict[str, Any]) -> list[str]:
    """What the lookup refuses: ``auto`` in a place that the HF integration fills is no complaint."""
    document = load("config.json", json.dumps(config).encode(), None)
    assert isinstance(document.root, Mapping)
    issues = resolve(document.root, (), schema).issues
    kept = [
        issue for issue in issues if issue.kind != "deprecated" and not (issue.kind == "auto" and issue.info and issue.info.auto == "hf")
    ]
    return [f"{issue.kind} {issue.canonical}" for issue in kept if not str(issue.path[-1]).startswith(("_", "$", "//", "#"))]


@pytest.mark.parametrize("version", SCHEMA.versions)
def test_it_is_a_valid_schema_of_every_version(version: str) -> None:
    Draft202012Validator.check_schema(project(SCHEMA.at(version)))


def configs(schema: VersionedSchema) -> st.SearchStrategy[dict[str, Any]]:
    """Configs of real keys two blocks deep, with values right and wrong, and now and then a key that is not one."""
    return block_of(schema, schema.root, 3)


def block_of(schema: VersionedSchema, name: str, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    keys = {key: value_of(schema, info, depth) for key, info in schema.block(name).keys.items()}
    pairs = [st.tuples(st.just(key), value) for key, value in keys.items()]
    stray = st.tuples(st.sampled_from(["_note", "enbled", "nonsense", "stage"]), st.just(1))
    return st.lists(st.one_of(*pairs, *pairs, stray), max_size=4).map(dict)


def value_of(schema: VersionedSchema, info: KeyInfo, depth: int) -> st.SearchStrategy[Any]:
    plain = st.sampled_from([*VALUES, *(info.enum or ()), *([info.default] if info.default is not None else [])])
    return st.one_of(plain, block_of(schema, info.block, depth - 1)) if info.block and depth > 1 else plain


@pytest.mark.parametrize("version", ["0.14.5", "0.16.9", SCHEMA.newest])
def test_what_it_accepts_the_lookup_accepts(version: str) -> None:
    schema = SCHEMA.at(version)
    validator = Draft202012Validator(project(schema))
    accepted = 0

    @settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(configs(schema))
    def run(config: dict[str, Any]) -> None:
        nonlocal accepted
        if validator.is_valid(config):
            accepted += bool(config)
            assert complaints(schema, config) == []

    run()
    assert accepted > 20  # the generator must reach what is legal


def test_each_value_of_each_key_by_itself() -> None:
    """Key by key, in a config that is otherwise empty: the projection is never looser than the lookup."""
    validator = Draft202012Validator(project(NEWEST))
    for key, info in NEWEST.block(NEWEST.root).keys.items():
        for value in VALUES:
            if validator.is_valid({key: value}):
                assert complaints(NEWEST, {key: value}) == [], (key, value)
        if info.block is None or info.type != ("object",):
            continue
        for inner in NEWEST.block(info.block).keys:
            for value in VALUES:
                if validator.is_valid(config := {key: {inner: value}}):
                    assert complaints(NEWEST, config) == [], config


@pytest.mark.parametrize(
    ("config", "valid"),
    [
        ({"train_batch_size": 8, "zero_optimization": {"stage": 2}}, True),
        ({"$schema": "deepspeed.schema.json", "_comment": "mine", "train_batch_size": "auto"}, True),
        ({"bfloat16": {"enabled": True}}, True),
        ({"communication_data_type": "FP16"}, True),
        ({"optimizer": {"type": "adamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}}}, True),
        ({"optimizer": {"type": "AdamW", "params": {"learning_rate": 1e-4}}}, False),
        ({"scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 10}}}, False),
        ({"zero_optimisation": {"stage": 2}}, False),
        ({"zero_optimization": {"stage": 4}}, False),
        ({"zero_optimization": {"_comment": "refused in a block that forbids what it does not know"}}, False),
        ({"fp16": {"enabled": "auto", "loss_scale": -1}}, False),
        ({"train_batch_size": 0}, False),
        ({"amp": {"enabled": True}}, False),
    ],
)
def test_by_hand(config: dict[str, Any], valid: bool) -> None:
    assert Draft202012Validator(project(SCHEMA.at("0.19.8"))).is_valid(config) is valid


def test_examples_that_are_whole_are_valid() -> None:
    good = [path for path in EXAMPLES if "broken" not in path.parts]
    validator = Draft202012Validator(project(NEWEST))
    for path in good:
        config = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(config, dict) and "zero_optimization" in config:
            assert [error.message for error in validator.iter_errors(config)] == [], path
