"""One run in the words of each framework, with every key accounted for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dslint.cli.show import family_of
from dslint.convert.account import account
from dslint.convert.differences import differences
from dslint.convert.draft import Wish
from dslint.convert.run import Run, leaves
from dslint.convert.targets import TARGETS, converted, title
from dslint.engine.facts import Facts
from dslint.faults import Fault
from dslint.launch import Launch
from dslint.workspace import Workspace
from tests.conftest import write

AXOLOTL = """\
base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 2048
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
learning_rate: 2.0e-4
max_steps: 200
warmup_ratio: 0.1
bf16: true
gradient_checkpointing: true
wandb_project: mine
saves_per_epoch: 1
deepspeed: ds.json
"""
DEEPSPEED: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 2, "overlap_comm": True, "reduce_bucket_size": 5e8},
}
FSDP = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_processes: 8
fsdp_config:
  fsdp_version: 1
  fsdp_sharding_strategy: {strategy}
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_offload_params: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_backward_prefetch: BACKWARD_PRE
"""
SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture
def axolotl(folder: Path) -> Path:
    write(folder / "axolotl.yaml", AXOLOTL)
    write(folder / "ds.json", DEEPSPEED)
    return folder


def test_axolotl_for_deepspeed_alone_has_numbers(dslint: Callable[..., Any], axolotl: Path) -> None:
    done = dslint("convert", "axolotl.yaml", "--to", "deepspeed")
    assert done.code == 0
    assert json.loads(done.out) == {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 4,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2, "overlap_comm": True, "reduce_bucket_size": 5e8},
        "optimizer": {"type": "AdamW", "params": {"lr": 2e-4, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0}},
        "scheduler": {
            "type": "WarmupCosineLR",
            "params": {
                "warmup_num_steps": 20,
                "warmup_type": "linear",
                "warmup_min_ratio": 0.0,
                "cos_min_ratio": 0.0,
                "total_num_steps": 200,
            },
        },
    }


def test_auto_leaves_to_the_integration_what_it_fills_in(dslint: Callable[..., Any], axolotl: Path) -> None:
    assert json.loads(dslint("convert", "axolotl.yaml", "--to", "deepspeed", "--auto").out) == DEEPSPEED


def test_every_key_has_one_fate_and_the_report_says_which(dslint: Callable[..., Any], axolotl: Path) -> None:
    dslint("convert", "axolotl.yaml", "--to", "trainer", "-o", "train.yaml", "--report", "report.json")
    keys = {(row["file"], row["path"]): row for row in json.loads((axolotl / "report.json").read_text())["keys"]}
    written = {("axolotl.yaml", path) for path in yaml.safe_load(AXOLOTL) if path != "datasets"}
    written |= {("axolotl.yaml", "datasets[0].path"), ("axolotl.yaml", "datasets[0].type")}
    assert written <= keys.keys()
    fates = {path: keys["axolotl.yaml", path]["fate"] for _, path in written}
    assert fates["learning_rate"] == fates["lora_r"] == "carried"
    assert fates["datasets[0].path"] == "approximate"
    assert fates["wandb_project"] == fates["saves_per_epoch"] == "lost"
    assert "trainer" in keys["axolotl.yaml", "wandb_project"]["note"]
    assert keys["ds.json", "zero_optimization.overlap_comm"]["fate"] == "carried"


def test_strict_refuses_what_is_not_the_same(dslint: Callable[..., Any], axolotl: Path) -> None:
    assert dslint("convert", "axolotl.yaml", "--to", "trainer", "--strict").code == 1
    write(axolotl / "plain.json", {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1}})
    assert dslint("convert", "plain.json", "--to", "deepspeed", "--strict").code == 0


def test_nothing_is_overwritten_unless_it_is_asked_for(dslint: Callable[..., Any], axolotl: Path) -> None:
    write(axolotl / "out.yaml", "mine: 1\n")
    refused = dslint("convert", "axolotl.yaml", "--to", "trainer", "-o", "out.yaml")
    assert (refused.code, (axolotl / "out.yaml").read_text()) == (2, "mine: 1\n")
    assert "--force" in refused.err
    assert dslint("convert", "axolotl.yaml", "--to", "trainer", "-o", "out.yaml", "--force").code == 0
    assert "learning_rate" in yaml.safe_load((axolotl / "out.yaml").read_text())


def test_a_directory_gets_the_set_of_files_with_their_links(dslint: Callable[..., Any], axolotl: Path) -> None:
    done = dslint("convert", "axolotl.yaml", "--to", "accelerate", "--world-size", "8", "-o", "out/")
    assert done.code == 0, done.err
    assert sorted(file.name for file in (axolotl / "out").iterdir()) == ["accelerate.yaml", "ds_config.json", "train.yaml"]
    launcher = yaml.safe_load((axolotl / "out" / "accelerate.yaml").read_text())
    assert (launcher["num_processes"], launcher["deepspeed_config"]["deepspeed_config_file"]) == (8, "ds_config.json")
    assert "deepspeed" not in yaml.safe_load((axolotl / "out" / "train.yaml").read_text())
    assert dslint("check", "--launch", "out/accelerate.yaml", "out/train.yaml", "--format", "concise").code == 0


def test_a_yaml_target_says_what_did_not_come_over(dslint: Callable[..., Any], axolotl: Path) -> None:
    text = dslint("convert", "axolotl.yaml", "--to", "llamafactory").out
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert any("wandb_project" in line for line in comments)
    assert comments.index("# batch") < comments.index("# optimizer") < comments.index("# schedule")


@pytest.mark.parametrize(
    ("strategy", "again", "kind"),
    [("FULL_SHARD", True, "carried"), ("SHARD_GRAD_OP", False, "carried"), ("HYBRID_SHARD", True, "approximate")],
)
def test_fsdp1_becomes_fsdp2_with_its_meaning(folder: Path, strategy: str, again: bool, kind: str) -> None:
    write(folder / "fsdp.yaml", FSDP.format(strategy=strategy))
    draft = _converted(folder / "fsdp.yaml", "accelerate", Wish(fsdp_version=2))
    block = draft.files[""]["fsdp_config"]
    assert (block["fsdp_version"], block["fsdp_reshard_after_forward"], block["fsdp_offload_params"]) == (2, again, True)
    assert "fsdp_sharding_strategy" not in block
    assert draft.fates["engine.sharding"].kind == kind


@pytest.mark.parametrize(("strategy", "stage"), [("FULL_SHARD", 3), ("SHARD_GRAD_OP", 2), ("NO_SHARD", 0)])
def test_fsdp_as_zero_says_how_precision_differs(folder: Path, strategy: str, stage: int) -> None:
    write(folder / "fsdp.yaml", FSDP.format(strategy=strategy).replace("  fsdp_offload_params: true\n", ""))
    draft = _converted(folder / "fsdp.yaml", "deepspeed", Wish())
    assert draft.files[""]["zero_optimization"]["stage"] == stage
    assert "master weights" in draft.fates["engine.kind"].note


@pytest.mark.parametrize(
    ("source", "to", "reason"),
    [
        ({"train_micro_batch_size_per_gpu": 1}, "fsdp", "shards nothing"),
        ({"train_micro_batch_size_per_gpu": 1}, "axolotl", "--add base_model=… --add learning_rate=… --add datasets=…"),
        ({"train_micro_batch_size_per_gpu": 1}, "accelerate", "--world-size N"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(
    dslint: Callable[..., Any], folder: Path, source: dict[str, Any], to: str, reason: str
) -> None:
    write(folder / "ds.json", source)
    done = dslint("convert", "ds.json", "--to", to)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err


def test_keys_of_the_target_can_be_added(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "ds.json", {"train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 2}})
    added = ["--add", "base_model=org/model", "--add", "learning_rate=1e-4", "--add", 'datasets=[{"path": "x", "type": "alpaca"}]']
    done = dslint("convert", "ds.json", "--to", "axolotl", *added)
    assert done.code == 0, done.err
    tree = yaml.safe_load(done.out)
    assert (tree["base_model"], tree["micro_batch_size"], tree["deepspeed"]["zero_optimization"]["stage"]) == ("org/model", 3, 2)


@pytest.mark.parametrize("to", list(TARGETS))
@pytest.mark.parametrize("kind", ["accelerate", "axolotl", "deepspeed", "hf_fsdp", "llamafactory", "trl"])
def test_real_configs(kind: str, to: str, tmp_path: Path) -> None:
    """Each key once, the same meaning when read again, and the same as far as it was carried when written back."""
    files = sorted((SHARED / "corpus" / kind).glob("*"))[::7]
    if not files:
        pytest.skip("the corpus is not here")
    done = 0
    for file in files:
        workspace = Workspace(Launch(Facts({"world_size": 8})))
        try:
            family = family_of([str(file)], workspace)
        except Fault:
            continue
        if any(diagnostic.severity == "error" for report in workspace.check([family]) for diagnostic in report.diagnostics):
            continue
        run = Run(family)
        try:
            draft = converted(run, to, Wish(), {})
        except Fault:
            continue
        lines = account(draft, title(to))
        assert (
            len({(line.file, line.path) for line in lines}) == len(lines) == sum(1 for config in family.configs for _ in leaves(config))
        ), file
        place = tmp_path / TARGETS[to].file
        place.write_text(json.dumps(draft.files[""]) if place.suffix == ".json" else yaml.safe_dump(draft.files[""], sort_keys=False))
        again = Run(family_of([str(place)], Workspace(input_format=to)))
        carried = {name for name, fate in draft.fates.items() if fate.kind == "carried" and run.written(name)}
        if "auto" not in place.read_text():
            changed = [one for one in differences(run, again) if one.name in carried]
            assert not changed, (file, changed)
        done += 1
    assert done or to in ("fsdp", "axolotl", "llamafactory")


def _converted(file: Path, to: str, wish: Wish) -> Any:
    return converted(Run(family_of([str(file)], Workspace())), to, wish, {})
