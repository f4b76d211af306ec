"""Files of one launch: linked, embedded, or lying side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write

TRAINER = "output_dir: out\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 2\nbf16: true\ndeepspeed: ds.json\n"
DEEPSPEED: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": "8",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 2},
}
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_processes: 2
deepspeed_config:
  gradient_accumulation_steps: 4
  zero_stage: 2
"""


def test_a_mismatch_is_said_in_the_linked_file_with_the_other_place(dslint, folder: Path) -> None:
    write(folder / "train.yaml", TRAINER)
    write(folder / "ds.json", DEEPSPEED)
    done = dslint("check", "--format", "json", "train.yaml")
    (found,) = [diagnostic for diagnostic in done.json["diagnostics"] if diagnostic["code"] == "TR100"]
    assert (found["file"], found["path"]) == ("ds.json", "train_micro_batch_size_per_gpu")
    assert [(other["file"], other["line"]) for other in found["related"]] == [("train.yaml", 2)]
    assert [(file["file"], file["via"]) for file in done.json["files"]] == [("train.yaml", None), ("ds.json", "train.yaml")]


def test_a_linked_file_that_is_named_too_is_said_once(dslint, folder: Path) -> None:
    write(folder / "train.yaml", TRAINER)
    write(folder / "ds.json", DEEPSPEED)
    done = dslint("check", "--format", "json", ".")
    assert [file["file"] for file in done.json["files"]] == ["train.yaml", "ds.json"]
    assert done.codes.count("TR100") == 1


def test_three_files_of_a_launch_are_seen_together(dslint, folder: Path) -> None:
    write(folder / "accelerate.yaml", ACCELERATE)
    write(folder / "args" / "train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    alone = dslint("check", "--format", "json", "accelerate.yaml", "args/train.yaml")
    assert "AC036" not in alone.codes
    together = dslint("check", "--format", "json", "--launch", "accelerate.yaml", "args/train.yaml")
    (found,) = [diagnostic for diagnostic in together.json["diagnostics"] if diagnostic["code"] == "AC036"]
    assert (found["file"], found["line"]) == ("accelerate.yaml", 5)
    assert [(Path(other["file"]).name, other["line"]) for other in found["related"]] == [("train.yaml", 3)]


def test_a_launcher_and_its_trainer_side_by_side_belong_together(dslint, folder: Path) -> None:
    write(folder / "accelerate.yaml", ACCELERATE)
    write(folder / "train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    assert "AC036" in dslint("check", "--format", "json", "accelerate.yaml", "train.yaml").codes


def test_an_embedded_config_is_checked_where_it_stands(dslint, folder: Path) -> None:
    write(folder / "train.yaml", TRAINER.replace("deepspeed: ds.json", "deepspeed:\n  zero_optimization:\n    stage: 7"))
    done = dslint("check", "--format", "json", "train.yaml")
    (found,) = [diagnostic for diagnostic in done.json["diagnostics"] if diagnostic["code"] == "SC007"]
    assert (found["file"], found["path"], found["line"]) == ("train.yaml", "deepspeed.zero_optimization.stage", 7)
    assert done.json["files"][1]["mount"] == "deepspeed"


@pytest.mark.parametrize(
    ("written", "there", "code", "severity"),
    [
        ("ds.json", None, "LK001", "warning"),
        ("ds_confg.json", "ds_config.json", "LK002", "error"),
        ("ds_z2.json", "ds_z3.json", "LK001", "warning"),
        (".", None, "LK004", "error"),
    ],
)
def test_a_link_that_leads_nowhere(dslint, folder: Path, written: str, there: str | None, code: str, severity: str) -> None:
    write(folder / "train.yaml", TRAINER.replace("ds.json", written))
    if there:
        write(folder / there, DEEPSPEED)
    found = [
        (d["code"], d["severity"]) for d in dslint("check", "--format", "json", "train.yaml").json["diagnostics"] if d["code"][:2] == "LK"
    ]
    assert found == [(code, severity)]


def test_a_misspelt_link_is_mended(dslint, folder: Path) -> None:
    file = write(folder / "train.yaml", TRAINER.replace("ds.json", "ds_confg.json"))
    write(folder / "ds_config.json", {**DEEPSPEED, "train_micro_batch_size_per_gpu": "auto"})
    assert dslint("check", "--fix", "train.yaml").code == 0
    assert "deepspeed: ds_config.json" in file.read_text()


def test_a_link_out_of_the_project_is_not_followed(dslint, folder: Path) -> None:
    write(folder / "elsewhere.json", {**DEEPSPEED, "secret": 1})
    write(folder / "project" / ".git" / "HEAD", "ref: x")
    write(folder / "project" / "train.yaml", TRAINER.replace("ds.json", "../elsewhere.json"))
    import os

    os.chdir(folder / "project")
    done = dslint("check", "--format", "json", "train.yaml")
    assert [file["file"] for file in done.json["files"]] == ["train.yaml"]
    assert "secret" not in done.out


def test_set_goes_above_the_file_and_is_never_repaired(dslint, folder: Path) -> None:
    file = write(folder / "train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    done = dslint("check", "--format", "json", "--set", "eval_strategy=stepps", "--set", "fp16=true", "train.yaml")
    assert {"SC007", "TR001"} <= set(done.codes)
    before = file.read_text()
    dslint("check", "--fix", "--unsafe-fixes", "--set", "fp16=true", "train.yaml")
    assert "fp16" not in file.read_text()
    assert dslint("check", "--set", "per_device_batch_size=8", "train.yaml").err.startswith(
        "dslint: --set per_device_batch_size: no such key"
    )
    assert before.startswith("output_dir")


def test_show_tells_the_origin_of_each_value(dslint, folder: Path) -> None:
    write(folder / "train.yaml", TRAINER)
    write(folder / "ds.json", {**DEEPSPEED, "train_micro_batch_size_per_gpu": 4})
    done = dslint("show", "--format", "json", "--set", "learning_rate=1e-5", "train.yaml")
    run = {row["name"]: row for row in done.json["run"]}
    assert (run["optimizer.lr"]["value"], run["optimizer.lr"]["origin"]) == (1e-5, "--set")
    assert run["batch.accumulation"]["fills"] == ["ds.json:3 gradient_accumulation_steps"]
    assert run["batch.micro"]["others"] == ["ds.json:2 train_micro_batch_size_per_gpu: 4"]
    assert run["optimizer.weight_decay"]["origin"].startswith("default of transformers")
    assert dslint("show", "nothing.yaml").code == 2


def test_a_symbolic_link_out_of_the_project_is_not_followed(dslint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "elsewhere.json", {**DEEPSPEED, "secret": 1})
    write(folder / "project" / ".git" / "HEAD", "ref: x")
    write(folder / "project" / "train.yaml", TRAINER)
    (folder / "project" / "ds.json").symlink_to(folder / "elsewhere.json")
    monkeypatch.chdir(folder / "project")
    done = dslint("check", "--format", "json", "train.yaml")
    assert "secret" not in done.out
