"""The differential run against LLaMA-Factory, as far as it needs no LLaMA-Factory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.differential.judges import Verdict
from tools.differential.llamafactory import Case, Figures, Mutant, base, checked, mutants


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for stage in (0, 2, 3):
        (tmp_path / f"z{stage}.json").write_text(
            json.dumps({"zero_optimization": {"stage": stage}, "train_micro_batch_size_per_gpu": "auto"})
        )
    return tmp_path


def test_the_same_seed_makes_the_same_mutants() -> None:
    assert mutants(3, 50) == mutants(3, 50)
    assert mutants(3, 50) != mutants(4, 50)


def test_no_base_has_an_error(folder: Path) -> None:
    for number in range(150):
        said = checked(Mutant(number, "none", "", "", base(number)), folder)
        assert not [found for found in said if found[0] == "error"], said


def test_figures() -> None:
    odd = Mutant(1, "quoted", "bf16", "", {}, odd=True)
    plain = Mutant(1, "deleted", "bf16", "", {})
    error = (("error", "SC005", "bf16", "wrong"),)
    cases = [
        Case(plain, Verdict(False), error),
        Case(plain, Verdict(False), ()),
        Case(plain, Verdict(True), ()),
        Case(plain, Verdict(True), error),
        Case(odd, Verdict(True), error),
        Case(odd, Verdict(True), ()),
        Case(plain, Verdict(False, environment=True), ()),
    ]
    assert Figures.of(cases) == Figures(2, 1, 2, 1, 2, 1, 1)
