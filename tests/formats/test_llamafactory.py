"""LLaMA-Factory's files: which they are, for which command, what they say of the run, and what the run's other files add."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dslint.document import load
from dslint.engine.project import Project, Target
from dslint.engine.run import check, read_entry
from dslint.formats import detect
from dslint.formats.llamafactory import root
from dslint.schema.missing import MISSING
from dslint.workspace import Workspace

TRAIN = {
    "model_name_or_path": "Qwen/Qwen2.5-7B",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "lora",
    "template": "qwen",
    "dataset": "identity",
    "output_dir": "out",
    "bf16": True,
}


def yaml_of(values: Mapping[str, Any]) -> bytes:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items()).encode()


@pytest.mark.parametrize(
    ("values", "command"),
    [
        (TRAIN, "train"),
        ({"model_name_or_path": "m", "template": "qwen", "infer_backend": "vllm"}, "infer"),
        ({"model_name_or_path": "m", "template": "qwen"}, "infer"),
        ({"model_name_or_path": "m", "adapter_name_or_path": "a", "template": "qwen", "export_dir": "o"}, "infer"),
        ({"model_name_or_path": "m", "template": "fewshot", "task": "mmlu_test", "lang": "en", "n_shot": 5}, "eval"),
        ({"model_name_or_path": "m", "stage": "sft", "eval_dataset": "d", "do_predict": True}, "train"),
    ],
)
def test_known_with_its_command(values: Mapping[str, Any], command: str) -> None:
    document = load("config.yaml", yaml_of(values))
    assert detect(document) == "llamafactory"
    assert root(document) == command


@pytest.mark.parametrize(
    "values",
    [
        {"base_model": "m", "datasets": [{"path": "d", "type": "alpaca"}], "lora_r": 8},
        {"model_name_or_path": "m", "dataset_name": "d", "output_dir": "o", "lora_r": 16, "preprocessing_num_workers": 4},
        {"compute_environment": "LOCAL_MACHINE", "distributed_type": "FSDP", "num_processes": 8},
        {"name": "build", "on": "push", "jobs": {"test": {"runs-on": "ubuntu-latest"}}},
        {"services": {"web": {"image": "nginx"}}},
        {"defaults": ["_self_"], "model_name_or_path": "m", "template": "x"},
        {"stage": "test", "script": ["make"]},
        {"template": "page.html", "output_dir": "site"},
        {"model_name_or_path": "m", "do_train": True, "train_file": "t.txt", "output_dir": "o"},
        {"dataset_dir": "data", "epochs": 3, "batch_size": 8},
    ],
)
def test_files_of_others(values: Mapping[str, Any]) -> None:
    assert detect(load("config.yaml", yaml_of(values))) != "llamafactory"


def statements(values: Mapping[str, Any], **targets: str) -> dict[str, Any]:
    project = Project({name: Target(version, "the test") for name, version in targets.items()})
    entry = read_entry(load("config.yaml", yaml_of(values)), project)
    assert hasattr(entry, "statements")
    return {statement.name: statement.value for statement in reversed(entry.statements)}


def test_what_it_says_of_the_run() -> None:
    said = statements({**TRAIN, "lora_rank": 16, "lora_target": "q_proj, v_proj", "quantization_bit": 4, "warmup_steps": 0.1})
    assert said["train.task"] == "sft"
    assert said["adapter.type"] == "qlora"
    assert said["adapter.rank"] == 16
    assert said["adapter.targets"] == ["q_proj", "v_proj"]
    assert said["schedule.warmup_ratio"] == 0.1
    assert said["checkpointing.on"] is True
    assert said["batch.micro"] == 8


def test_exponents_by_version() -> None:
    text = yaml_of(TRAIN) + b"learning_rate: 1e-4\n"
    values = []
    for version in ("0.9.3", "0.9.5"):
        entry = read_entry(load("config.yaml", text), Project({"llamafactory": Target(version, "the test")}))
        assert hasattr(entry, "resolved")
        values.append(entry.resolved.get("learning_rate"))
    assert values == [MISSING, 1e-4]


def codes(folder: Path, name: str) -> set[str]:
    document = load(str(folder / name), (folder / name).read_bytes())
    workspace = Workspace()
    return {found.code for report in workspace.check(workspace.launches([document])) for found in report.diagnostics}


def test_the_stage_of_a_linked_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}))
    (tmp_path / "train.yaml").write_bytes(yaml_of({**TRAIN, "pure_bf16": True, "deepspeed": "ds.json"}))
    assert "LF118" in codes(tmp_path, "train.yaml")


def test_the_stage_of_a_config_that_it_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for stage, fires in ((3, True), (2, False)):
        (tmp_path / "train.yaml").write_bytes(
            yaml_of({**TRAIN, "pure_bf16": True, "deepspeed": f"examples/deepspeed/ds_z{stage}_config.json"})
        )
        found = codes(tmp_path, "train.yaml")
        assert ("LF118" in found) is fires
        assert "LK001" not in found


def test_datasets_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dataset_info.json").write_text(json.dumps({"identity": {"file_name": "identity.json"}}))
    (tmp_path / "train.yaml").write_bytes(yaml_of({**TRAIN, "dataset": "identiti"}))
    assert "LF033" in codes(tmp_path, "train.yaml")
    (tmp_path / "train.yaml").write_bytes(yaml_of(TRAIN))
    assert "LF033" not in codes(tmp_path, "train.yaml")


def test_a_quoted_false_is_an_error_a_quoted_true_is_not() -> None:
    for value, severity in (("false", "error"), ("true", "warning")):
        report = check(load("config.yaml", yaml_of({**TRAIN, "bf16": value})), Project())
        assert report is not None
        assert [found.severity for found in report.diagnostics if found.code == "LF017"] == [severity]
