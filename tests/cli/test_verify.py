"""check --verify: real training, before and after the repair, and what it does to the exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from dslint.cli.proofs import behind
from dslint.document import load
from dslint.engine.diagnostics import Diagnostic
from tests.conftest import TYPO, write

ROOT = Path(__file__).parents[2]


def test_the_broken_example_fails_before_its_repair_and_trains_after(dslint, folder: Path) -> None:
    shutil.copy(ROOT / "examples" / "broken" / "ds_config.json", folder)
    done = dslint("check", "--fix", "--unsafe-fixes", "--verify", "--format", "json", "ds_config.json")
    jsonschema.validate(done.json, json.loads((ROOT / "docs" / "output.schema.json").read_text()))
    before, now = done.json["verify"]
    assert (before["state"], before["status"]) == ("before", "fail")
    assert before["cause"]["code"] in ("SC001", "SC007")
    assert (now["state"], now["status"]) == ("now", "pass")
    assert now["losses"][-1] < now["losses"][0]
    assert done.code == 0


def test_a_failed_verification_is_1_and_names_the_line(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", {**TYPO, "zero_optimization": {"stage": 2, "contigous_gradients": True}})
    done = dslint("check", "--verify", "--ignore", "SC", "ds_config.json")
    assert done.code == 1
    assert "ds_config.json: FAIL" in done.out
    shown = dslint("check", "--verify", "--exit-zero", "ds_config.json")
    assert "contigous_gradients" in shown.out
    assert shown.code == 0


def test_what_cannot_be_parsed_is_not_trained(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", '{"train_batch_size": ')
    done = dslint("check", "--verify", "--format", "json", "ds_config.json")
    assert done.json["verify"] == []
    assert done.code == 1


def test_a_difference_is_not_verified(dslint, folder: Path) -> None:
    assert dslint("check", "--diff", "--verify").code == 2


TEXT = b'{"optimizer": {"type": "AdamWW", "params": {"lr": "x"}}, "zero_optimization": {"stage": 7, "reduce_bucket": 1}}'
PATHS = (("optimizer", "type"), ("optimizer", "params", "lr"), ("zero_optimization", "stage"), ("zero_optimization", "reduce_bucket"))


@pytest.mark.parametrize(
    ("error", "path"),
    [
        ("AssertionError: AdamWW is not a supported DeepSpeed Optimizer", ("optimizer", "type")),
        ("ValidationError: reduce_bucket\n  Extra inputs [type=extra_forbidden]", ("zero_optimization", "reduce_bucket")),
        ("KeyError: zero_optimization.stage", ("zero_optimization", "stage")),
        ("RuntimeError: the type of a stage is wrong", None),
    ],
)
def test_the_finding_behind_an_error(error: str, path: tuple[str, ...] | None) -> None:
    document = load("ds_config.json", TEXT)
    findings = [Diagnostic(document, "SC001", "x", "error", path, document.key_span(path), "m") for path in PATHS]
    found = behind(error, findings)
    assert (found.path if found else None) == path
    assert behind("whatever", findings[:1]) is findings[0]
