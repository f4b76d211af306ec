"""Older configs brought to a release: what age has made wrong, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dslint.document import load
from dslint.document.edits import encode
from dslint.engine.registry import migrations, rule_text
from dslint.engine.rules import Rule
from dslint.faults import Fault
from dslint.migrate.steps import migrate
from dslint.workspace import Workspace
from tests.conftest import GOOD, write

AXOLOTL = """\
base_model: org/model
datasets:
  - path: a
    type: sharegpt:chat  # the old name
max_packed_sequence_len: 2048
micro_batch_size: 1
learning_rate: 0.0001
# shards everything
fsdp: [full_shard, auto_wrap]
fsdp_config:
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_sharding_strategy: FULL_SHARD
evaluation_strategy: steps
"""
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def _examples(kind: str) -> list[Any]:
    return [
        pytest.param(rule, example, id=f"{rule.id}-{number}")
        for rule in migrations()
        for number, example in enumerate(getattr(rule_text(rule.id), kind))
    ]


def _migrated(rule: Rule, example: Mapping[str, Any]) -> Any:
    form = rule.formats[0]
    document = load("example.yaml" if form != "deepspeed" else "example.json", _text(example["config"], form).encode())
    return migrate(document, Workspace(input_format=form))


def _text(config: Any, form: str) -> str:
    return json.dumps(config) if form == "deepspeed" else yaml.safe_dump(config, sort_keys=False)


@pytest.mark.parametrize(("rule", "example"), _examples("bad"))
def test_a_bad_example_is_mended_by_its_step(rule: Rule, example: Mapping[str, Any]) -> None:
    done = _migrated(rule, example)
    assert any(step.title in [template.title for template in rule.fixes] for step in done.steps)
    assert not done.left


@pytest.mark.parametrize(("rule", "example"), _examples("good"))
def test_a_good_example_stays(rule: Rule, example: Mapping[str, Any]) -> None:
    assert not _migrated(rule, example).steps


def test_the_change_is_shown_and_nothing_is_written(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "old.yaml", AXOLOTL)
    done = dslint("migrate", "old.yaml", "--to", "axolotl==0.21.0")
    assert done.code == 1
    assert "-evaluation_strategy: steps" in done.out
    assert "+eval_strategy: steps" in done.out
    assert "fsdp: remove the list (0.20.0)" in done.err
    assert (folder / "old.yaml").read_text() == AXOLOTL


def test_it_is_written_with_comments_kept_and_once(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "old.yaml", AXOLOTL)
    assert dslint("migrate", "old.yaml", "--to", "axolotl==0.21.0", "--write").code == 0
    text = (folder / "old.yaml").read_text()
    assert "# the old name" in text
    tree = yaml.safe_load(text)
    assert tree["fsdp_config"] == {"fsdp_transformer_layer_cls_to_wrap": "LlamaDecoderLayer", "reshard_after_forward": True}
    assert (tree["datasets"][0]["type"], tree["eval_strategy"]) == ("chat_template", "steps")
    again = dslint("migrate", "old.yaml", "--to", "axolotl==0.21.0", "--write")
    assert (again.code, (folder / "old.yaml").read_text()) == (0, text)
    assert "up to date" in again.err


def test_an_up_to_date_file_keeps_every_byte(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "ds.json", GOOD)
    before = (folder / "ds.json").read_bytes()
    assert dslint("migrate", "ds.json", "--write").code == 0
    assert (folder / "ds.json").read_bytes() == before


def test_defaults_of_the_older_release_are_written_out(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "train.yaml", "stage: sft\ndo_train: true\nmodel_name_or_path: m\ndataset: d\noutput_dir: o\n")
    done = dslint("migrate", "train.yaml", "--from", "llamafactory==0.8.3", "--to", "llamafactory==0.9.5", "--write")
    assert yaml.safe_load((folder / "train.yaml").read_text())["cutoff_len"] == 1024, done.err


def test_only_one_of_showing_and_writing(dslint: Callable[..., Any], folder: Path) -> None:
    write(folder / "ds.json", GOOD)
    assert dslint("migrate", "ds.json", "--diff", "--write").code == 2
    assert dslint("migrate", "none.json").code == 2


@pytest.mark.parametrize("kind", ["accelerate", "axolotl", "deepspeed", "llamafactory"])
def test_migrating_twice_changes_nothing_more(kind: str) -> None:
    files = sorted((CORPUS / kind).glob("*"))[::5]
    if not files:
        pytest.skip("the corpus is not here")
    for file in files:
        document = load(str(file), file.read_bytes())
        try:
            done = migrate(document, Workspace())
        except Fault:
            continue
        data = encode(document, done.document.text)
        assert done.steps or data == document.data
        assert not migrate(load(str(file), data), Workspace()).steps, file
