"""The command: what it prints, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GOOD, Done, write

Dslint = Callable[..., Done]


def test_a_7b_model_fits_on_eight_large_gpus(folder: Path, dslint: Dslint) -> None:
    write(folder / "ds.json", GOOD)
    done = dslint("memory", "ds.json", "--model", "7b", "--gpu", "8xH100-80G", "--host-ram", "512GiB")
    assert done.code == 0
    assert "on 8 GPUs: fits" in done.out
    assert "weights: 2 B × 6,738,415,616" in done.out


def test_what_does_not_fit_is_an_error(folder: Path, dslint: Dslint) -> None:
    write(folder / "ds.json", {**GOOD, "zero_optimization": {"stage": 0}})
    done = dslint("memory", "ds.json", "--model", "70b", "--gpu", "8xA100-80G", "--format", "json")
    assert done.code == 1
    assert done.json["verdict"] == "does not fit"
    gpu = done.json["accounts"][0]
    assert gpu["least"] > gpu["capacity"]
    assert gpu["peak"] == max(gpu["phases"].values())


def test_the_phases_are_the_sums_of_their_items(folder: Path, dslint: Dslint) -> None:
    write(folder / "ds.json", GOOD)
    for account in dslint("memory", "ds.json", "--model", "8b", "--gpu", "8x80", "--format", "json").json["accounts"]:
        for phase, total in account["phases"].items():
            assert total == sum(item["bytes"] for item in account["items"] if phase in item["phases"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no file names the model"),
        (("--model", "nosuch/model"), "no model known by this name"),
        (("--model", "7b", "--gpu", "0xH100"), "at least one GPU"),
        (("--model", "7b", "--gpu", "8xH999"), "unknown GPU"),
        (("--model", "7b", "--host-ram", "many"), "expected a size"),
        (("--model", "7b", "--nvme", "0TiB"), "expected a size"),
        (("--model", "ds.json"), "names its model_type"),
    ],
)
def test_wrong_use_is_said(folder: Path, dslint: Dslint, arguments: tuple[str, ...], words: str) -> None:
    write(folder / "ds.json", GOOD)
    done = dslint("memory", "ds.json", *arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err
