"""Argument files: who reads them decides what a text in place of a number is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import write

PLAIN = "output_dir: out\nlearning_rate: 1e-5\nbf16: true\n"


def test_a_number_that_yaml_reads_as_text_is_an_error_for_the_trainers_own_parser(dslint, folder: Path) -> None:
    write(folder / "args.yaml", PLAIN)
    assert dslint("check", "--format", "json", "args.yaml").codes == ["SC005"]


def test_trls_parser_converts_it(dslint, folder: Path) -> None:
    write(folder / "sft.yaml", PLAIN + "dataset_name: d\nuse_peft: true\n")
    assert dslint("check", "--format", "json", "sft.yaml").codes == []
    write(folder / "sft.yaml", PLAIN.replace("1e-5", "small") + "dataset_name: d\nuse_peft: true\n")
    assert dslint("check", "--format", "json", "sft.yaml").codes == ["SC005"]


def test_upstream_itself_says_the_same(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    parser = transformers.HfArgumentParser(transformers.TrainingArguments)
    file = write(tmp_path / "args.yaml", "output_dir: out\nlearning_rate: 1e-5\nuse_cpu: true\n")
    (read,) = parser.parse_yaml_file(str(file))
    assert read.learning_rate == "1e-5"
    parser.set_defaults(output_dir="out", learning_rate="1e-5", use_cpu=True)
    (converted,) = parser.parse_args_into_dataclasses([])
    assert converted.learning_rate == 1e-5
