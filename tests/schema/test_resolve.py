"""A config laid against its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dslint.document import Mapping, load
from dslint.schema.lookup import Schema
from dslint.schema.resolve import resolve

SCHEDULER = {"type": "WarmupDecayLR", "params": {"total_num_steps": 10, "warmup_num_steps": 2}}


@pytest.mark.parametrize("scheduler", [SCHEDULER, dict(reversed(SCHEDULER.items()))])
def test_a_block_that_depends_on_its_sibling_is_known_in_either_order(scheduler: dict[str, Any]) -> None:
    document = load("ds.json", json.dumps({"scheduler": scheduler}).encode())
    assert isinstance(document.root, Mapping)
    resolved = resolve(document.root, (), Schema.load("deepspeed").at("0.19.8"))
    assert resolved.values["scheduler.params.total_num_steps"] == 10
