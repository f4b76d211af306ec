"""The differential run against LLaMA-Factory, as far as it needs no LLaMA-Factory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.differential.llamafactory import LLAMAFACTORY, base, mutants
from tools.differential.parsers import Mutant, checked, put_linked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put_linked(LLAMAFACTORY, tmp_path)
    return tmp_path


def test_the_same_seed_makes_the_same_mutants() -> None:
    assert mutants(3, 50) == mutants(3, 50)
    assert mutants(3, 50) != mutants(4, 50)


def test_no_base_has_an_error(folder: Path) -> None:
    for number in range(150):
        said = checked(LLAMAFACTORY, Mutant(number, "none", "", "", base(number)), folder)
        assert not [found for found in said if found[0] == "error"], said
