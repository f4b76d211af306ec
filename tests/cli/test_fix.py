"""--fix and --diff: what is written, where, and what the exit code speaks of."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.conftest import GOOD, TYPO, write

BOTH = """{
  // kept
  "train_micro_batch_size_per_gpu": 2,
  "gradient_cliping": 1.0,
  "zero_optimization": {"stage": 2, "reduce_bucket_size": -5}
}
"""


def test_fix_writes_the_repair_and_keeps_the_rest(dslint, folder: Path) -> None:
    file = write(folder / "ds_config.json", BOTH)
    file.chmod(0o640)
    done = dslint("check", "--fix", "ds_config.json")
    assert file.read_text() == BOTH.replace("gradient_cliping", "gradient_clipping")
    assert file.stat().st_mode & 0o777 == 0o640
    assert done.code == 1, "the bucket size remains"
    assert "1 repair made" in done.out
    assert os.listdir(folder) == ["ds_config.json"]


def test_fix_is_idempotent(dslint, folder: Path) -> None:
    file = write(folder / "ds_config.json", TYPO)
    assert dslint("check", "--fix", "ds_config.json").code == 0
    once = file.read_bytes()
    again = dslint("check", "--fix", "ds_config.json")
    assert (again.code, file.read_bytes()) == (0, once)
    assert "repair" not in again.out


def test_unsafe_repairs_only_on_demand(dslint, folder: Path) -> None:
    file = write(folder / "ds_config.json", {**GOOD, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpus"}}})
    before = file.read_bytes()
    dslint("check", "--fix", "ds_config.json")
    assert file.read_bytes() == before
    dslint("check", "--fix", "--unsafe-fixes", "ds_config.json")
    assert json.loads(file.read_text())["zero_optimization"]["offload_optimizer"]["device"] == "cpu"


def test_diff_writes_nothing_and_is_1(dslint, folder: Path) -> None:
    file = write(folder / "ds_config.json", TYPO)
    before = file.read_bytes()
    done = dslint("check", "--diff", "ds_config.json")
    assert (done.code, file.read_bytes()) == (1, before)
    assert '-  "gradient_cliping": 1.0\n+  "gradient_clipping": 1.0\n' in done.out
    write(file, GOOD)
    clean = dslint("check", "--diff", "ds_config.json")
    assert (clean.code, clean.out) == (0, "")


def test_diff_of_a_file_without_a_last_newline_is_a_patch(dslint, folder: Path) -> None:
    (folder / "ds_config.json").write_text(json.dumps(TYPO))
    done = dslint("check", "--diff", "ds_config.json")
    assert done.out.count("\n\\ No newline at end of file\n") == 2


def test_diff_names_what_no_repair_mends(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", {**GOOD, "zero_optimization": {"stage": 2, "reduce_bucket_size": -5}})
    done = dslint("check", "--diff", "ds_config.json")
    assert done.code == 1
    assert "1 error would remain" in done.err


def test_stdin_is_repaired_to_stdout(dslint, folder: Path) -> None:
    done = dslint("check", "--fix", "-", stdin=BOTH.encode())
    assert done.out == BOTH.replace("gradient_cliping", "gradient_clipping")
    assert done.code == 1
    assert "reduce_bucket_size" in done.err
    good = json.dumps(GOOD)
    clean = dslint("check", "--fix", "-", stdin=good.encode())
    assert (clean.code, clean.out) == (0, good)


def test_stdin_that_cannot_be_parsed_comes_out_as_it_is(dslint, folder: Path) -> None:
    done = dslint("check", "--fix", "--stdin-filename", "ds_config.json", "-", stdin=b'{"train_batch_size": ')
    assert done.out == '{"train_batch_size": '
    assert done.code == 1


def test_a_file_that_cannot_be_written_is_2(dslint, folder: Path, monkeypatch) -> None:
    file = write(folder / "ds_config.json", TYPO)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dslint.cli.repair.write", refused)
    done = dslint("check", "--fix", "ds_config.json")
    assert done.code == 2
    assert "ds_config.json: not repaired: permission denied" in done.err
    assert "gradient_cliping" in file.read_text()


def test_a_file_that_changed_meanwhile_is_left_alone(dslint, folder: Path, monkeypatch) -> None:
    file = write(folder / "ds_config.json", TYPO)
    from dslint.engine import fixes

    original = fixes._round

    def while_repairing(*arguments: object) -> object:
        file.write_text("changed by another")
        return original(*arguments)

    monkeypatch.setattr(fixes, "_round", while_repairing)
    done = dslint("check", "--fix", "ds_config.json")
    assert done.code == 2
    assert "changed by someone else" in done.err
    assert file.read_text() == "changed by another"
