"""Every setting, as the documentation tells it: what is written, and which findings are then shown for which file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GOOD, TYPO, write

# in each of these one misspelt key (SC001, error, safe repair) and one that is nobody's (SC004, warning)
FILES = ("a/ds_config.json", "a/old/ds_old.json", "b/ds_config.json")
CONTENT = {**TYPO, "zzz_ours": 1}
ALL = {file: ["SC001 error", "SC004 warning"] for file in FILES}


def without(*files: str) -> dict[str, list[str]]:
    return {file: found for file, found in ALL.items() if file not in files}


def shown(done: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for diagnostic in done.json["diagnostics"]:
        found.setdefault(diagnostic["file"], []).append(f"{diagnostic['code']} {diagnostic['severity']}")
    return {file: sorted(said) for file, said in found.items()}


@pytest.mark.parametrize(
    ("settings", "flags", "expected"),
    [
        ("", (), ALL),
        # which findings: codes, starts of codes, names
        ("select: [SC001]", (), {file: ["SC001 error"] for file in FILES}),
        ("select: [DS]\nextend-select: [misspelt-key]", (), {file: ["SC001 error"] for file in FILES}),
        ("extend-select: [SC001]", (), ALL),
        ("select: [SC001]", ("--select", "SC004"), {file: ["SC004 warning"] for file in FILES}),
        ("ignore: [SC]", (), {}),
        ("ignore: [SC004]", ("--ignore", "SC001"), {}),
        ("select: [SC001]\nignore: [SC001]", (), {}),
        ("ignore: ['SC004@zzz_*']", (), {file: ["SC001 error"] for file in FILES}),
        # in which files
        ("per-file-ignores: {'b/*': [SC]}", (), without("b/ds_config.json")),
        ("per-file-ignores: {'ds_old.json': [SC]}", (), without("a/old/ds_old.json")),
        # how much they weigh; the last that matches wins
        ("severity: {SC001: warning}", (), {file: ["SC001 warning", "SC004 warning"] for file in FILES}),
        ("severity: {SC: info, SC004: error}", (), {file: ["SC001 info", "SC004 error"] for file in FILES}),
        ("severity: {'SC001@nowhere': info}", (), ALL),
        # which files are looked at
        ("exclude: [old]", (), without("a/old/ds_old.json")),
        ("exclude: [old/]", (), without("a/old/ds_old.json")),
        ("exclude: ['a/*']", (), without("a/ds_config.json", "a/old/ds_old.json")),
        ("exclude: ['ds_config.json']", (), {"a/old/ds_old.json": ALL["a/old/ds_old.json"]}),
        ("exclude: ['*']", ("b/ds_config.json",), {"b/ds_config.json": ALL["b/ds_config.json"]}),
    ],
)
def test_settings(dslint, folder: Path, settings: str, flags: tuple[str, ...], expected: dict[str, list[str]]) -> None:
    for file in FILES:
        write(folder / file, CONTENT)
    write(folder / "dslint.yaml", settings)
    assert shown(dslint("check", "--format", "json", *flags)) == expected


def test_include_finds_files_of_other_names(dslint, folder: Path) -> None:
    write(folder / "conf" / "zero2.cfg", TYPO)
    write(folder / "dslint.yaml", "include: ['*.cfg']")
    assert list(shown(dslint("check", "--format", "json"))) == ["conf/zero2.cfg"]


def test_the_exit_code_goes_by_the_severity_that_is_set(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    write(folder / "dslint.yaml", "severity: {SC001: warning}")
    assert (dslint("check").code, dslint("check", "--strict").code) == (0, 1)


def test_facts_by_path_stand_above_those_of_the_project_and_below_the_command_line(dslint, folder: Path) -> None:
    write(folder / "dslint.yaml", "facts: {world_size: 4}\nper-file-facts: {'big/*': {world_size: 64}, '*_one.json': {world_size: 1}}")
    for file, flags, expected in (
        ("ds.json", (), (4, "dslint.yaml: facts")),
        ("big/ds.json", (), (64, "dslint.yaml: per-file-facts: big/*")),
        ("big/ds_one.json", (), (1, "dslint.yaml: per-file-facts: *_one.json")),
        ("big/ds.json", ("--world-size", "8"), (8, "the command line")),
    ):
        values = dslint("config", "--format", "json", *flags, file).json["values"]
        assert [(v["value"], v["origin"]) for v in values if v["name"] == "facts: world_size"] == [expected]


def test_facts_by_path_reach_the_rules(dslint, folder: Path) -> None:
    batch = {**GOOD, "train_batch_size": 24, "gradient_accumulation_steps": 1}
    write(folder / "a" / "ds_config.json", batch)
    write(folder / "b" / "ds_config.json", batch)
    write(folder / "dslint.yaml", "facts: {world_size: 12}\nper-file-facts: {'b/*': {world_size: 8}}")
    assert {file for file, said in shown(dslint("check", "--format", "json")).items() if any("error" in s for s in said)} == {
        "b/ds_config.json"
    }


def test_config_tells_the_origin_of_each_value(dslint, folder: Path) -> None:
    write(folder / "launch.env", "WORLD_SIZE=8\nDSLINT_CONTEXT=hf\n")
    write(
        folder / "dslint.yaml",
        "select: [SC]\nextend-select: [DS003]\nignore: [SC004]\nper-file-ignores: {'conf/*': ['SC001@zero_*']}\n"
        "severity: {SC001: info}\nexclude: [old]\ntargets: {deepspeed: '0.16.4'}\nfacts: {gpu: A100-80GB}\n",
    )
    done = dslint("config", "--format", "json", "--env-file", "launch.env", "--ignore", "DS1", "conf/ds_config.json")
    told = {(value["name"], str(value["value"]), value["origin"]) for value in done.json["values"]}
    assert told >= {
        ("context", "hf", "--env-file"),
        ("targets: deepspeed", "0.16.4", "dslint.yaml"),
        ("facts: world_size", "8", "--env-file"),
        ("facts: gpu_name", "A100-80GB", "dslint.yaml: facts"),
        ("select", "SC", "dslint.yaml: select"),
        ("select", "DS003", "dslint.yaml: extend-select"),
        ("ignore", "DS1", "--ignore"),
        ("ignore", "SC004", "dslint.yaml: ignore"),
        ("ignore", "SC001@zero_*", "dslint.yaml: per-file-ignores: conf/*"),
        ("severity", "SC001 info", "dslint.yaml: severity"),
        ("exclude", "old", "dslint.yaml: exclude"),
    }
    assert "dslint.yaml: per-file-ignores: conf/*" in dslint("config", "conf/ds_config.json").out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("severity: {SC001: fatal}", "expected error, warning, info, not 'fatal'"),
        ("severity: {SC999: info}", "unknown rule 'SC999'"),
        ("exclude: {a: 1}", "exclude: expected a list of texts"),
        ("per-file-facts: {'a/*': {wold_size: 1}}", "did you mean world_size?"),
        ("per-file-facts: {'a/*': [1]}", "expected a mapping"),
    ],
)
def test_what_cannot_be_is_said(dslint, folder: Path, settings: str, said: str) -> None:
    write(folder / "ds_config.json", GOOD)
    write(folder / "dslint.yaml", settings)
    done = dslint("check")
    assert done.code == 2
    assert said in done.err


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def found(done: Any) -> list[str]:
    return sorted({diagnostic["file"] for diagnostic in done.json["diagnostics"]})


def test_what_git_ignores_is_not_searched(dslint, folder: Path) -> None:
    git(folder, "init")
    files = ["keep.json", "out/a.json", "sub/b.json", "sub/kept.json", "sub/deep/c.json", "x/only.json", "x/y/only.json", "private.json"]
    for file in files:
        write(folder / file, TYPO)
    write(folder / ".gitignore", "# comment\nout/\n/x/only.json\n**/deep/**\n")
    write(folder / "sub" / ".gitignore", "*.json\n!kept.json\n")
    write(folder / ".git" / "info" / "exclude", "private.json\n")
    assert found(dslint("check", "--format", "json")) == ["keep.json", "sub/kept.json", "x/y/only.json"]
    listed = subprocess.run(["git", "ls-files", "-o", "--exclude-standard"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert sorted(name for name in listed.split() if name.endswith(".json")) == ["keep.json", "sub/kept.json", "x/y/only.json"]
    assert found(dslint("check", "--format", "json", "sub")) == ["sub/kept.json"], "those above the directory hold, too"
    assert found(dslint("check", "--format", "json", "private.json")) == ["private.json"], "a named file is checked"


def test_outside_of_a_repository_nothing_is_ignored(dslint, folder: Path) -> None:
    write(folder / ".gitignore", "*.json\n")
    write(folder / "ds_config.json", TYPO)
    assert found(dslint("check", "--format", "json")) == ["ds_config.json"]


def test_links_that_lead_in_circles_end(dslint, folder: Path) -> None:
    write(folder / "a" / "ds_config.json", TYPO)
    (folder / "a" / "back").symlink_to(folder)
    (folder / "a" / "self.json").symlink_to("self.json")
    assert found(dslint("check", "--format", "json")) == ["a/ds_config.json"]


def test_changed(dslint, folder: Path) -> None:
    git(folder, "init")
    for name in ("a.json", "b.json", "ä c.json"):
        write(folder / name, GOOD)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    none = dslint("check", "--changed")
    assert (none.code, none.out) == (0, "")
    write(folder / "ä c.json", TYPO)
    write(folder / "new.json", TYPO)
    assert found(dslint("check", "--format", "json", "--changed")) == ["new.json", "ä c.json"]
    git(folder, "add", ".")
    git(folder, "commit", "-m", "two")
    assert found(dslint("check", "--format", "json", "--changed=HEAD~1")) == ["new.json", "ä c.json"]
    assert json.loads(dslint("check", "--format", "json", "--changed", "HEAD~1", "new.json").out)["files"][0]["file"] == "new.json"


def test_changed_since_nothing_is_2(dslint, folder: Path) -> None:
    write(folder / "a.json", GOOD)
    assert "--changed" in dslint("check", "--changed").err
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    done = dslint("check", "--changed=nonsense")
    assert done.code == 2
    assert "is no revision" in done.err
