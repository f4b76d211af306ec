"""Comments that silence findings, and the baseline of those that are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TYPO, write

TYPO_HJSON = '{\n  "train_batch_size": 8,\n  "gradient_cliping": 1.0\n}\n'
LINES = TYPO_HJSON.splitlines(keepends=True)


def hjson(above: str = "", beside: str = "", top: str = "") -> str:
    return f"{top}{LINES[0]}{LINES[1]}{above}{LINES[2].rstrip()}{beside}\n{LINES[3]}"


@pytest.mark.parametrize(
    ("comments", "codes"),
    [
        ({}, ["SC001"]),
        # on the line, or alone on the line above it
        ({"beside": " # dslint: ignore[SC001] it is for our own reader"}, []),
        ({"beside": " // dslint: ignore[SC001]"}, []),
        ({"above": "  # dslint: ignore[SC001] it is for our own reader\n"}, []),
        ({"above": "  // dslint: ignore[SC001]\n\n  // more of it\n"}, []),
        # by name, by the start of a code, several at once
        ({"beside": " # dslint: ignore[misspelt-key]"}, []),
        ({"beside": " # dslint: ignore[SC]"}, []),
        ({"beside": " # dslint: ignore[SC001, DS040]"}, ["SU001"]),
        # for the whole file
        ({"top": "# dslint: ignore-file[SC001] old\n"}, []),
        ({"top": "# dslint: ignore-file\n"}, []),
        # another line, or another code, silences nothing and is reported
        ({"top": "# dslint: ignore[SC001]\n"}, ["SU001", "SC001"]),
        ({"beside": " # dslint: ignore[DS040]"}, ["SC001", "SU001"]),
        # what cannot be read silences nothing and is reported
        ({"beside": " # dslint: ignore"}, ["SC001", "SU002"]),
        ({"beside": " # dslint: ignore[]"}, ["SC001", "SU002"]),
        ({"beside": " # dslint: ingore[SC001]"}, ["SC001", "SU002"]),
        ({"beside": " # dslint: ignore[SC999]"}, ["SC001", "SU002"]),
        # a value is no comment
        ({"above": '  "_note": "x # dslint: ignore[SC001]",\n'}, ["SC001"]),
        # any other comment
        ({"beside": " # see dslint: it says what it means"}, ["SC001"]),
    ],
)
def test_comments(dslint, folder: Path, comments: dict[str, str], codes: list[str]) -> None:
    write(folder / "ds_config.json", hjson(**comments))
    assert dslint("check", "--context", "native", "--format", "json", "--ignore", "PA004").codes == codes


def test_yaml(dslint, folder: Path) -> None:
    text = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precison: bf16{}\nnum_processes: 2\n"
    write(folder / "a.yaml", text.format(""))
    (code,) = {*dslint("check", "--format", "json", "--select", "SC").codes}
    write(folder / "a.yaml", text.format(f"  # dslint: ignore[{code}] on purpose"))
    assert dslint("check", "--format", "json", "--select", "SC").codes == []


def test_what_a_comment_silences_is_not_repaired(dslint, folder: Path) -> None:
    text = hjson(beside=" # dslint: ignore[SC001]")
    write(folder / "ds_config.json", text)
    assert dslint("check", "--context", "native", "--fix").code == 0
    assert (folder / "ds_config.json").read_text() == text


def test_a_comment_for_what_is_not_asked_is_not_called_unused(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", hjson(beside=" # dslint: ignore[SC001]", top="# dslint: ignore-file[DS003]\n"))
    assert dslint("check", "--context", "native", "--format", "json", "--select", "SC001").codes == []
    assert "SU001" not in dslint("check", "--context", "native", "--format", "json", "--ignore", "DS").codes


def accept(dslint, folder: Path) -> None:
    write(folder / "conf" / "ds_config.json", {"zero_optimization": {"stge": 2}, **TYPO})
    done = dslint("check", "--write-baseline", "accepted.json")
    assert (done.code, done.out) == (0, "")
    assert "finding" in done.err


def test_accepted_findings_are_not_shown_again(dslint, folder: Path) -> None:
    accept(dslint, folder)
    done = dslint("check", "--baseline", "accepted.json", "--format", "json")
    assert (done.code, done.codes) == (0, [])


def test_unrelated_edits_keep_the_baseline_and_new_findings_are_shown(dslint, folder: Path) -> None:
    accept(dslint, folder)
    config = folder / "conf" / "ds_config.json"
    write(config, "// moved down\n\n" + config.read_text().replace("1.0", "2.5"))
    assert dslint("check", "--context", "native", "--baseline", "accepted.json", "--format", "concise").out == ""
    write(config, config.read_text().replace('"bf16"', '"fp61": {},\n "bf16"'))
    shown = dslint("check", "--context", "native", "--baseline", "accepted.json", "--format", "json")
    assert [diagnostic["path"] for diagnostic in shown.json["diagnostics"]] == ["fp61"]


def test_a_baseline_is_the_same_from_every_directory(dslint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(dslint, folder)
    monkeypatch.chdir(folder / "conf")
    assert dslint("check", "--baseline", "../accepted.json", "ds_config.json").code == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1, "findings": [5]}', '{"version": 9, "findings": []}'])
def test_what_is_no_baseline_is_2(dslint, folder: Path, content: str) -> None:
    write(folder / "ds_config.json", TYPO)
    write(folder / "accepted.json", content)
    done = dslint("check", "--baseline", "accepted.json", "ds_config.json")
    assert done.code == 2
    assert "--write-baseline" in done.err
