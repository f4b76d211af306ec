"""0 no error, 1 errors, 2 wrong use, 3 nothing to read, 4 internal error; of several the one that counts most."""

from __future__ import annotations

from pathlib import Path

import pytest

from dslint.formats import FORMATS
from tests.conftest import GOOD, TYPO, write

STRAY = {**GOOD, "my_own_note": 1}


def test_a_good_config_is_0(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", GOOD)
    done = dslint("check", "ds_config.json")
    assert done.code == 0
    assert "1 file checked" in done.out


def test_an_error_is_1(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    assert dslint("check", "ds_config.json").code == 1


def test_exit_zero_turns_1_into_0_but_not_2(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    assert dslint("check", "--exit-zero", "ds_config.json").code == 0
    assert dslint("check", "--exit-zero", "ds_config.json", "missing.json").code == 2


def test_a_warning_is_1_only_with_strict(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", STRAY)
    done = dslint("check", "--format", "json", "ds_config.json")
    assert done.code == 0
    assert {diagnostic["severity"] for diagnostic in done.json["diagnostics"]} == {"warning"}
    assert dslint("check", "--strict", "ds_config.json").code == 1


def test_a_missing_file_is_2_and_the_others_are_still_checked(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    done = dslint("check", "--format", "json", "missing.json", "ds_config.json")
    assert done.code == 2
    assert done.err == "dslint: missing.json: no such file or directory\n"
    assert done.codes == ["SC001"]


def test_an_empty_directory_is_3(dslint, folder: Path) -> None:
    (folder / "empty").mkdir()
    done = dslint("check", "empty")
    assert done.code == 3
    assert done.err == f"dslint: empty: holds no known config ({', '.join(FORMATS)})\n"


def test_a_named_file_of_no_known_format_is_3_unless_skipped(dslint, folder: Path) -> None:
    write(folder / "package.json", {"dependencies": {}})
    write(folder / "ds_config.json", GOOD)
    done = dslint("check", "package.json")
    assert done.code == 3
    assert "package.json: not a known config" in done.err
    assert dslint("check", "package.json", "ds_config.json").code == 3
    skipped = dslint("check", "--skip-unknown", "package.json")
    assert (skipped.code, skipped.err) == (0, "")


def test_errors_count_more_than_nothing_to_read(dslint, folder: Path) -> None:
    write(folder / "package.json", {"dependencies": {}})
    write(folder / "ds_config.json", TYPO)
    assert dslint("check", "package.json", "ds_config.json").code == 1


def test_a_rule_that_raises_is_4_with_a_log(dslint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "ds_config.json", GOOD)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a rule divides")

    monkeypatch.setattr("dslint.workspace.check_family", broken)
    done = dslint("check", "ds_config.json")
    assert done.code == 4
    assert "internal error while checking ds_config.json: ZeroDivisionError: a rule divides" in done.err
    log = Path(done.err.split("with the log ")[1].split(" and, if")[0])
    assert "a rule divides" in log.read_text()
    log.unlink()


def test_an_interrupt_is_130(dslint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "ds_config.json", GOOD)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dslint.workspace.check_family", interrupted)
    assert dslint("check", "ds_config.json").code == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek"], "No such command"),
        (["check", "--formt", "json"], "--format"),
        (["check", "--target", "deepspeed=0.16"], "NAME==VERSION"),
        (["check", "--target", "depspeed==0.16"], "did you mean deepspeed?"),
        (["check", "--target", "deepspeed==newest"], "write numbers such as"),
        (["check", "--select", "ZZ9"], "unknown rule 'ZZ9'"),
        (["check", "--ignore", "misspelt-kye"], "did you mean misspelt-key?"),
        (["check", "--ignore", "SC001@"], "no place behind the @"),
        (["check", "--gpu", "H10O"], "did you mean H100?"),
        (["check", "--gpu", "0"], "more memory than none"),
        (["check", "--world-size", "0"], "expected a number above 0"),
        (["check", "--host-ram", "nan"], "expected a size above 0"),
        (["check", "--env-file", "missing.env"], "missing.env"),
        (["check", "--context", "hugging"], "native"),
        (["check", "--unsafe-fixes"], "add --fix or --diff"),
        (["explain", "misspelt-kye"], "did you mean misspelt-key?"),
    ],
)
def test_wrong_use_is_2_and_says_what_to_write(dslint, folder: Path, arguments: list[str], said: str) -> None:
    write(folder / "ds_config.json", GOOD)
    done = dslint(*arguments)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""
