"""Launches through the Trainer, Accelerate, Axolotl and LLaMA-Factory, each trained for real through its own road."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dslint.document import load
from dslint.engine.family import Family
from dslint.engine.project import Target
from dslint.launch import Launch
from dslint.verify.outcome import Outcome
from dslint.verify.pool import Pool
from dslint.verify.runner import Wish, verify_subject
from dslint.verify.subject import of_family
from dslint.workspace import Workspace

pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("peft")
Launched = Callable[..., Outcome]
AUTO = "auto"
AUTOS: dict[str, Any] = {
    "train_batch_size": AUTO,
    "train_micro_batch_size_per_gpu": AUTO,
    "gradient_accumulation_steps": AUTO,
    "gradient_clipping": AUTO,
    "bf16": {"enabled": AUTO},
    "zero_optimization": {"stage": 2},
}
ADAMW = {"type": "AdamW", "params": {"lr": AUTO, "betas": AUTO, "eps": AUTO, "weight_decay": AUTO}}
ARGUMENTS: dict[str, Any] = {
    "output_dir": "out",
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 8,
    "learning_rate": 1e-4,
    "bf16": True,
    "max_grad_norm": 0.5,
}
LAUNCHER: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE", "num_machines": 1, "num_processes": 8, "mixed_precision": "bf16"}
LLAMAFACTORY: dict[str, Any] = {
    "model_name_or_path": "meta-llama/Llama-3.1-8B-Instruct",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "lora",
    "lora_rank": 8,
    "lora_target": "q_proj,v_proj",
    "dataset": "alpaca_en_demo",
    "template": "llama3",
    "output_dir": "saves",
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 8,
    "learning_rate": 1.0e-4,
    "bf16": True,
}
AXOLOTL: dict[str, Any] = {
    "base_model": "NousResearch/Llama-3.2-1B",
    "datasets": [{"path": "data.jsonl", "type": "alpaca"}],
    "adapter": "lora",
    "lora_r": 8,
    "lora_alpha": 16,
    "lora_target_modules": ["q_proj", "v_proj"],
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "learning_rate": 2.0e-4,
    "num_epochs": 1,
    "optimizer": "adamw_torch",
    "lr_scheduler": "cosine",
    "bf16": True,
    "gradient_checkpointing": True,
    "output_dir": "out",
}


@pytest.fixture
def launched(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Write files, assemble the launch of the first, and train."""
    monkeypatch.chdir(tmp_path)

    def call(files: dict[str, Any], world_size: int | None = None) -> Outcome:
        for name, content in files.items():
            (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        first = next(iter(files))
        document = load(first, (tmp_path / first).read_bytes())
        (family,) = Workspace(Launch(targets={"accelerate": Target("1.15.0", "test")})).launches([document])
        assert isinstance(family, Family)
        subject = of_family(family, world_size)
        assert subject is not None
        return verify_subject(subject, Wish(240), pool)

    return call


@pytest.mark.parametrize(
    ("config", "arguments"),
    [
        (AUTOS, {}),
        ({**AUTOS, "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}, "optimizer": ADAMW}, {}),
        ({**AUTOS, "optimizer": ADAMW}, {"gradient_checkpointing": True, "lr_scheduler_type": "cosine", "warmup_steps": 3}),
        ({**AUTOS, "zero_optimization": {"stage": 0}}, {"bf16": False}),
        ({**AUTOS, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}, {}),
    ],
    ids=["zero2", "zero3-gathered", "checkpointing-cosine", "zero0-fp32", "zero3-parameters-on-cpu"],
)
def test_the_trainer_fills_in_and_trains(launched: Launched, config: dict[str, Any], arguments: dict[str, Any]) -> None:
    outcome = launched({"train.yaml": {**ARGUMENTS, **arguments, "deepspeed": "ds.json"}, "ds.json": config})
    assert outcome.status == "pass", outcome.render()
    found = {row.what: row.found for row in outcome.table}
    assert found["ZeRO stage"] == str(config["zero_optimization"]["stage"])
    assert "auto: gradient_clipping = 0.5" in outcome.adjustments
    assert "per_device_train_batch_size 4 → 2" in outcome.adjustments


def test_the_trainer_alone_runs_as_data_parallel(launched: Launched) -> None:
    outcome = launched({"train.yaml": {**ARGUMENTS, "lr_scheduler_type": "constant"}})
    assert outcome.status == "pass", outcome.render()
    assert {row.what: row.found for row in outcome.table}["engine"] == "DistributedDataParallel"


@pytest.mark.parametrize(
    ("config", "arguments", "words"),
    [
        ({**AUTOS, "train_micro_batch_size_per_gpu": 2}, {}, "train_micro_batch_size_per_gpu=2 vs hf per_device_train_batch_size=4"),
        ({**AUTOS, "gradient_clipping": 1.0}, {}, "gradient_clipping=1 vs hf max_grad_norm=0.5"),
        (AUTOS, {"optim": "adamw_trch"}, "adamw_trch is not a valid OptimizerNames"),
        (AUTOS, {"lr_scheduler_type": "cosin"}, "cosin"),
        (AUTOS, {"learning_rate": "1e-4x"}, ""),
        (AUTOS, {"bf16": True, "fp16": True}, "fp16"),
        (AUTOS, {"load_best_model_at_end": True, "save_strategy": "steps", "eval_strategy": "no"}, "load_best_model_at_end"),
        ({**AUTOS, "zero_optimization": {"stage": 2, "stgae": 1}}, {}, "stgae"),
    ],
    ids=["micro", "clipping", "optimizer", "schedule", "rate", "two-precisions", "best-without-eval", "typo"],
)
def test_what_the_trainer_refuses_fails_in_its_own_words(
    launched: Launched, config: dict[str, Any], arguments: dict[str, Any], words: str
) -> None:
    outcome = launched({"train.yaml": {**ARGUMENTS, **arguments, "deepspeed": "ds.json"}, "ds.json": config})
    assert outcome.status == "fail", outcome.render()
    assert outcome.error is not None
    assert words in outcome.error.message


@pytest.mark.parametrize(
    ("config", "arguments", "what"),
    [
        ({name: value for name, value in AUTOS.items() if name != "gradient_clipping"}, {"max_grad_norm": 0.1}, "gradient clipping"),
        ({**AUTOS, "optimizer": ADAMW}, {"optim": "adafactor"}, "optimizer"),
        (
            {**AUTOS, "optimizer": ADAMW, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 1}}},
            {"lr_scheduler_type": "cosine", "warmup_steps": 1},
            "scheduler",
        ),
    ],
    ids=["clipping-not-passed-on", "optimizer-block-wins", "scheduler-block-wins"],
)
def test_an_argument_without_effect_is_found(launched: Launched, config: dict[str, Any], arguments: dict[str, Any], what: str) -> None:
    outcome = launched({"train.yaml": {**ARGUMENTS, **arguments, "deepspeed": "ds.json"}, "ds.json": config})
    assert outcome.status == "fail", outcome.render()
    assert what in {row.what for row in outcome.table if row.status == "fail"}


@pytest.mark.parametrize("stage", [2, 3])
def test_accelerates_launcher_trains(launched: Launched, stage: int) -> None:
    block = {"zero_stage": stage, "gradient_accumulation_steps": 4, "gradient_clipping": 0.5, "zero3_init_flag": stage == 3}
    outcome = launched({"accelerate.yaml": {**LAUNCHER, "distributed_type": "DEEPSPEED", "deepspeed_config": block}})
    assert outcome.status == "pass", outcome.render()
    assert {row.what: row.found for row in outcome.table}["ZeRO stage"] == str(stage)


def test_accelerates_launcher_without_an_engine_is_data_parallel(launched: Launched) -> None:
    outcome = launched({"accelerate.yaml": {**LAUNCHER, "distributed_type": "MULTI_GPU"}})
    assert outcome.status == "pass", outcome.render()
    found = {row.what: row.found for row in outcome.table}
    assert (found["engine"], found["precision"]) == ("DistributedDataParallel", "bfloat16")


def test_an_architecture_that_cannot_be_made_small_is_replaced(launched: Launched, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({"model_type": "deepseek_v3", "num_hidden_layers": 61}))
    outcome = launched({"lf.yaml": {**LLAMAFACTORY, "model_name_or_path": "model", "template": "deepseek3"}})
    assert outcome.status == "pass", outcome.render()


@pytest.mark.parametrize(
    ("files", "adapter"),
    [
        ({"lf.yaml": LLAMAFACTORY}, True),
        ({"lf.yaml": {**LLAMAFACTORY, "deepspeed": "ds.json"}, "ds.json": AUTOS}, True),
        ({"ax.yaml": AXOLOTL}, True),
        ({"ax.yaml": {**AXOLOTL, "deepspeed": "ds.json"}, "ds.json": AUTOS}, True),
    ],
    ids=["llamafactory", "llamafactory-deepspeed", "axolotl", "axolotl-deepspeed"],
)
def test_other_tools_files_train_by_their_plan(launched: Launched, files: dict[str, Any], adapter: bool) -> None:
    outcome = launched(files)
    assert outcome.status == "pass", outcome.render()
    assert outcome.losses[-1] < outcome.losses[0]


def test_four_bits_are_not_proved_on_a_cpu(launched: Launched) -> None:
    outcome = launched({"ax.yaml": {**AXOLOTL, "adapter": "qlora", "load_in_4bit": True}})
    assert outcome.status == "unverified", outcome.render()
    assert "bitsandbytes" in outcome.reason
