"""A great many files: in parts and by several processes, with the same findings as all at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dslint import many
from dslint.cli import session
from tests.cli.test_launches import ACCELERATE, DEEPSPEED, TRAINER
from tests.conftest import GOOD, TYPO, write


@pytest.fixture
def tree(folder: Path) -> Path:
    """Launches in directories of their own, some that share a linked file, and files by themselves."""
    write(folder / "shared" / "ds.json", DEEPSPEED)
    write(folder / "pyproject.toml", '[project]\ndependencies = ["deepspeed==0.17.0"]\n')
    (folder / ".git").mkdir()
    for number in range(12):
        launch = folder / f"launch{number}"
        write(launch / "accelerate.yaml", ACCELERATE)
        write(launch / "train.yaml", TRAINER.replace("deepspeed: ds.json", "deepspeed: shared/ds.json"))
        write(launch / "ds.json", TYPO if number % 2 else GOOD)
    write(folder / "quiet.yaml", "base_model: x\ndatasets: [{path: a, type: alpaca}]\nmicro_batch_sise: 1  # dslint: ignore[SC] ours\n")
    return folder


@pytest.fixture
def both(dslint: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """A command line run on all files at once, and in small parts by three processes."""

    def run(*arguments: str) -> tuple[Any, Any]:
        monkeypatch.setattr(session, "MANY", 10_000)
        at_once = dslint(*arguments)
        monkeypatch.setattr(session, "MANY", 1)
        monkeypatch.setattr(many, "PART", 4)
        monkeypatch.setattr(many, "_processors", lambda: 3)
        return at_once, dslint(*arguments)

    return run


@pytest.mark.parametrize("output", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_every_output_is_the_same(both: Callable[..., tuple[Any, Any]], output: str) -> None:
    at_once, in_parts = both("check", "--format", output, ".")
    assert at_once.code == 1
    assert in_parts == at_once


def test_a_file_that_several_parts_link_is_one_report(both: Callable[..., tuple[Any, Any]]) -> None:
    _, in_parts = both("check", "--format", "json", ".")
    files = [file["file"] for file in in_parts.json["files"]]
    assert files.count("shared/ds.json") == 1
    assert len(files) == len(set(files)) == 3 * 12 + 2


def test_what_cannot_be_read_is_said_once(both: Callable[..., tuple[Any, Any]], tree: Path) -> None:
    (tree / "launch3" / "more.json").write_text("{}")
    os.mkfifo(tree / "launch3" / "pipe.json")
    at_once, in_parts = both("check", "--format", "concise", ".", "launch3/none.json", "launch3/pipe.json")
    assert at_once.code == 2
    assert in_parts == at_once


def test_wrong_settings_stop_it_as_always(both: Callable[..., tuple[Any, Any]], tree: Path) -> None:
    write(tree / "launch7" / "dslint.yaml", "ignor: [DS101]\n")
    at_once, in_parts = both("check", ".")
    assert at_once.code == 2
    assert "ignor" in at_once.err
    assert in_parts == at_once


def test_a_baseline_holds_for_all_parts(both: Callable[..., tuple[Any, Any]]) -> None:
    both("check", "--write-baseline", "accepted.json", ".")
    at_once, in_parts = both("check", "--baseline", "accepted.json", ".")
    assert at_once.code == 0
    assert in_parts == at_once


def test_one_that_is_stopped_leaves_its_share_to_be_done(tree: Path, dslint: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dslint("check", "--format", "json", ".")
    monkeypatch.setattr(session, "MANY", 1)
    monkeypatch.setattr(many, "PART", 4)
    monkeypatch.setattr(many, "_processors", lambda: 3)
    parent, checked = os.getpid(), many._checked

    def dying(*arguments: Any) -> many.Part:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return checked(*arguments)

    monkeypatch.setattr(many, "_checked", dying)
    assert dslint("check", "--format", "json", ".") == whole
