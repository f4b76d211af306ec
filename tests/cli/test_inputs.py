"""What files, directories and standard input stand for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import GOOD, TYPO, write


def files(done) -> list[str]:
    return [file["file"] for file in done.json["files"]]


def test_the_current_directory_is_the_default(dslint, folder: Path) -> None:
    write(folder / "b" / "ds_config.json", GOOD)
    write(folder / "a.json", TYPO)
    done = dslint("check", "--format", "json")
    assert files(done) == ["a.json", "b/ds_config.json"]


def test_a_directory_is_searched_without_what_others_put_there(dslint, folder: Path) -> None:
    for place in (".hidden", "node_modules/x", "env"):
        write(folder / place / "ds_config.json", TYPO)
    write(folder / "env" / "pyvenv.cfg", "")
    write(folder / "package.json", {"dependencies": {}})
    write(folder / "broken.json", "{ not json")
    write(folder / "real" / "ds_config.hjson", "train_batch_size: 8")
    done = dslint("check", "--format", "json", ".")
    assert files(done) == ["real/ds_config.hjson"]
    assert (done.code, done.err) == (0, "")


def test_links_to_directories_are_not_followed(dslint, folder: Path) -> None:
    write(folder / "real" / "ds_config.json", GOOD)
    (folder / "real" / "loop").symlink_to(folder / "real")
    assert files(dslint("check", "--format", "json", "real")) == ["real/ds_config.json"]


def test_a_file_is_checked_once(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", GOOD)
    assert files(dslint("check", "--format", "json", "ds_config.json", ".", "./ds_config.json")) == ["ds_config.json"]


def test_a_named_broken_file_is_one_finding_even_when_its_format_is_not_known(dslint, folder: Path) -> None:
    write(folder / "x.json", '{"a": ')
    done = dslint("check", "--format", "json", "x.json")
    assert done.code == 1
    assert done.codes == ["PA002"]
    assert dslint("check", "--skip-unknown", "x.json").code == 0


def test_standard_input(dslint, folder: Path) -> None:
    done = dslint("check", "--format", "json", "-", stdin=json.dumps(TYPO).encode())
    assert files(done) == ["<stdin>"]
    assert done.codes == ["SC001"]
    named = dslint("check", "--format", "json", "--stdin-filename", "conf/ds.json", "-", stdin=json.dumps(GOOD).encode())
    assert files(named) == ["conf/ds.json"]


def test_input_format_overrules_the_content(dslint, folder: Path) -> None:
    write(folder / "x.json", {"whatever": 1})
    assert dslint("check", "x.json").code == 3
    done = dslint("check", "--format", "json", "--input-format", "deepspeed", "x.json")
    assert done.json["files"][0]["format"] == "deepspeed"


def test_select_and_ignore(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", {**TYPO, "zero_optimization": {"stage": 7}})
    everything = dslint("check", "--format", "json").codes
    assert {"SC001", "SC006"} <= set(everything) or {"SC001", "SC007"} <= set(everything)
    assert dslint("check", "--format", "json", "--select", "SC001").codes == ["SC001"]
    assert dslint("check", "--format", "json", "--select", "misspelt-key").codes == ["SC001"]
    assert "SC001" not in dslint("check", "--format", "json", "--ignore", "sc001").codes
    assert dslint("check", "--format", "json", "--ignore", "SC").code == 0
    assert "SC001" not in dslint("check", "--format", "json", "--ignore", "SC001@gradient_*").codes
    assert "SC001" in dslint("check", "--format", "json", "--ignore", "SC001@zero_*").codes
