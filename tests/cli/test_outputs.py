"""--format, --output-file and --statistics on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import GOOD, TYPO, write


@pytest.mark.parametrize("output", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_a_file_takes_what_else_is_printed(dslint, folder: Path, output: str) -> None:
    write(folder / "ds_config.json", TYPO)
    printed = dslint("check", "--format", output)
    written = dslint("check", "--format", output, "--output-file", "report")
    assert (printed.code, written.code) == (1, 1)
    assert (written.out, written.err) == ("", "")
    assert (folder / "report").read_text() == printed.out


@pytest.mark.parametrize("output", ["json", "sarif", "gitlab"])
def test_no_finding_is_a_whole_report(dslint, folder: Path, output: str) -> None:
    write(folder / "ds_config.json", GOOD)
    done = dslint("check", "--format", output)
    assert done.code == 0
    assert json.loads(done.out) is not None


def test_a_file_that_cannot_be_written_is_2(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    done = dslint("check", "--output-file", "missing/report")
    assert done.code == 2
    assert "missing/report" in done.err


def test_statistics(dslint, folder: Path) -> None:
    write(folder / "a" / "ds_config.json", TYPO)
    write(folder / "b" / "ds_config.json", TYPO)
    done = dslint("check", "--statistics")
    assert (done.code, done.out) == (1, "2  SC001  error    F  misspelt-key\n")


def test_what_does_not_go_together_is_2(dslint, folder: Path) -> None:
    assert dslint("check", "--statistics", "--format", "sarif").code == 2
    assert dslint("check", "--diff", "--output-file", "x").code == 2
