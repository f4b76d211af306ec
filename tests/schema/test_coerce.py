"""Coercion against the real pydantic models of the installed DeepSpeed: the same verdict, and the same value, on every key."""

from __future__ import annotations

import enum
import importlib
import math
from importlib.metadata import version
from typing import Any

import pytest

from dslint.schema.coerce import coerce
from dslint.schema.lookup import Schema
from tools.extract_deepspeed import MODELS

pytest.importorskip("deepspeed")
VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 3, 4, -1, 0.0, 0.5, 1.0, 1.5, 3.0, 1e9, 5e8, 1e-10, "", "0", "1", "3", "-2", "3.0", "0.5", "1e3", " 4 ", "1_000",
    "true", "False", "yes", "off", "T", "none", "cpu", "nvme", "abc", [], [1], ["a"], {}, {"a": 1}, 10**12,
]  # fmt: skip
# a validator over two keys (a rule says it); compared as it is written before the model sees it
RULED = {"compute_grad_norm", "autotp_size"}
BLOCKS = [name for name in MODELS if name != "weight_quantization"]


def model_of(block: str) -> Any:
    for place in MODELS[block]:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise AssertionError(block)


@pytest.mark.parametrize("block", BLOCKS)
def test_each_key_takes_what_the_model_takes(block: str) -> None:
    import pydantic

    model = model_of(block)
    schema = Schema.load("deepspeed").at(version("deepspeed"))
    wrong: list[str] = []
    for key, info in schema.block(block).keys.items():
        if info.block or info.type == ("object",) or info.deprecated:
            continue
        if key in RULED:
            continue
        field = info.aliases[0] if info.aliases else key
        for value in VALUES:
            try:
                held = getattr(model(**{key: value}), field)
                accepted = True
            except (pydantic.ValidationError, ValueError, AssertionError, TypeError):
                held, accepted = None, False
            outcome = coerce(info, value)
            if outcome.ok != accepted:
                wrong.append(f"{key}: {value!r}: model {accepted}, dslint {outcome}")
            elif accepted and value is not None and not same(held, outcome.value):
                wrong.append(f"{key}: {value!r}: model holds {held!r}, dslint {outcome.value!r}")
    assert not wrong, "\n".join(wrong)


def same(held: Any, mine: Any) -> bool:
    if isinstance(held, enum.Enum):
        held = held.value
    if isinstance(held, (tuple, list)):
        return list(held) == list(mine)
    if isinstance(held, float) and isinstance(mine, (int, float)):
        return math.isclose(held, mine)
    return bool(held == mine or str(held) == str(mine) or (held is not None and mine is not None and type(held).__name__ == "dtype"))


@pytest.mark.parametrize(
    ("block", "key", "value", "held"),
    [
        ("zero_optimization", "stage", 3.0, 3),
        ("zero_optimization", "stage", True, 1),
        ("zero_optimization", "stage", "3", None),
        ("zero_optimization", "stage", 0.5, None),
        ("zero_optimization", "reduce_bucket_size", 1.5, 1),
        ("zero_optimization", "reduce_bucket_size", "3", 3),
        ("zero_optimization", "reduce_bucket_size", "3.0", None),
        ("zero_optimization", "overlap_comm", "yes", True),
        ("tensorboard", "job_name", 3, "3"),
        ("fp16", "loss_scale", "0", None),
        ("bf16", "enabled", True, True),
    ],
)
def test_what_0_14_5_made_of_values(block: str, key: str, value: Any, held: Any) -> None:
    """pydantic 1 took the whole part of floats and wrote strings itself; fp16 and bf16 were read as they were written (seen on 0.14.5)."""
    outcome = coerce(Schema.load("deepspeed").at("0.14.5").block(block).keys[key], value)
    assert outcome.ok is (held is not None)
    assert outcome.value == held


@pytest.mark.parametrize(("value", "held"), [("true", True), ("no", False), ("auto", "auto"), (True, True)])
def test_a_word_or_a_switch_takes_quoted_booleans_as_pydantic_does(value: Any, held: Any) -> None:
    bf16 = Schema.load("axolotl").at("0.21.0").block("config").keys["bf16"]
    assert coerce(bf16, value).value == held
    assert not coerce(bf16, "full speed").ok
