"""Settings: where they are found, what they hold, and what is said of those that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from dslint import settings
from dslint.faults import Fault
from tests.conftest import TYPO, write

RULE = """- id: MY001
  name: no-stage-two
  formats: [deepspeed]
  severity: error
  when: zero_optimization.stage == 2
  at: [zero_optimization.stage]
  message: "we never use stage {zero_optimization.stage}"
  why: House rule.
  source: "the handbook"
"""


def test_the_nearest_upwards_holds(dslint, folder: Path) -> None:
    write(folder / "dslint.yaml", "ignore: [SC001]\n")
    write(folder / "a" / "ds_config.json", TYPO)
    write(folder / "b" / "ds_config.json", TYPO)
    write(folder / "b" / "dslint.yaml", "ignore: []\n")
    done = dslint("check", "--format", "json")
    assert [diagnostic["file"] for diagnostic in done.json["diagnostics"]] == ["b/ds_config.json"]


def test_pyproject(dslint, folder: Path) -> None:
    write(
        folder / "pyproject.toml", '[project]\nname = "x"\n[tool.dslint]\nignore = ["misspelt-key"]\n[tool.dslint.facts]\nworld_size = 4\n'
    )
    write(folder / "ds_config.json", TYPO)
    assert dslint("check", "--format", "json").codes == []


def test_pyproject_without_a_section_is_passed_over(dslint, folder: Path) -> None:
    write(folder / "dslint.yaml", "ignore: [SC001]\n")
    write(folder / "a" / "pyproject.toml", '[project]\nname = "dslint-user"\n')
    write(folder / "a" / "ds_config.json", TYPO)
    assert dslint("check", "--format", "json").codes == []


def test_per_file_ignores(dslint, folder: Path) -> None:
    write(folder / "dslint.yaml", 'per-file-ignores:\n  "ds_*.json": ["SC001@gradient_*"]\n  "old/*": [SC001]\n')
    for name in ("ds_a.json", "b.json", "old/c.json", "deep/ds_d.json"):
        write(folder / name, TYPO)
    done = dslint("check", "--format", "json")
    assert [diagnostic["file"] for diagnostic in done.json["diagnostics"]] == ["b.json"]


def test_rules_of_ones_own(dslint, folder: Path) -> None:
    write(folder / "conf" / "rules.yaml", RULE)
    write(folder / "conf" / "dslint.yaml", "extend-rules: [rules.yaml]\nper-file-ignores: {'b.json': [MY001]}\n")
    write(folder / "conf" / "a.json", {**TYPO})
    write(folder / "conf" / "b.json", {**TYPO})
    done = dslint("check", "--format", "json", "--ignore", "SC", "conf")
    assert [(d["file"], d["code"], d["message"]) for d in done.json["diagnostics"]] == [("conf/a.json", "MY001", "we never use stage 2")]


def test_facts_stand_below_the_command_line() -> None:
    parsed = settings.parse_settings("dslint.yaml", {"facts": {"gpu": "A100-80GB", "world_size": 4}})
    assert parsed.facts.values == {"gpu_name": "A100-80GB", "gpu_memory_gb": 80.0, "cuda_capability": 8.0, "world_size": 4}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "settings are a mapping"),
        ({"ingore": []}, "unknown setting 'ingore' (did you mean ignore?)"),
        ({"ignore": ["SC999"]}, "ignore: unknown rule 'SC999'"),
        ({"ignore": {"a": 1}}, "ignore: expected a list of texts"),
        ({"per-file-ignores": ["SC001"]}, "per-file-ignores: expected a mapping"),
        ({"targets": {"depspeed": "0.16.4"}}, "did you mean deepspeed?"),
        ({"targets": {"deepspeed": 0.16}}, "write the version in quotes"),
        ({"targets": {"deepspeed": "new"}}, "'new' is no version"),
        ({"facts": {"wold_size": 8}}, "unknown fact 'wold_size' (did you mean world_size?)"),
        ({"facts": {"world_size": "8"}}, "facts: world_size: expected a whole number, not '8'"),
        ({"facts": {"world_size": True}}, "expected a whole number"),
        ({"facts": {"gpu": "Z100"}}, "unknown GPU"),
        ({"extend-rules": ["missing.yaml"]}, "missing.yaml"),
    ],
)
def test_what_cannot_be_is_said(raw: object, said: str) -> None:
    with pytest.raises(Fault) as fault:
        settings.parse_settings("dslint.yaml", raw)
    assert said in str(fault.value)
    assert "dslint.yaml" in str(fault.value)


def test_settings_that_do_not_parse_are_2_with_the_line(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    write(folder / "dslint.yaml", "ignore: [SC001\nfacts: {\n")
    done = dslint("check")
    assert done.code == 2
    assert "dslint.yaml:2:" in done.err
    (folder / "dslint.yaml").unlink()
    write(folder / "pyproject.toml", "[tool.dslint]\nignore = [\n")
    broken = dslint("check")
    assert broken.code == 2
    assert "pyproject.toml: " in broken.err


def test_an_empty_file_of_settings_sets_nothing(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    write(folder / "dslint.yaml", "")
    assert dslint("check", "--format", "json").codes == ["SC001"]


def test_a_rule_that_cannot_be_read_is_2(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    write(folder / "dslint.yaml", "extend-rules: [rules.yaml]\n")
    write(folder / "rules.yaml", RULE.replace("when: zero_optimization.stage == 2", "when: __import__('os')"))
    done = dslint("check")
    assert done.code == 2
    assert "MY001" in done.err
