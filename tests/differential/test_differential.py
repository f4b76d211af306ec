"""dslint's verdicts are DeepSpeed's own, on a small seed; and the judges can be trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepspeed")

from tools.differential.bases import base
from tools.differential.catalogue import known
from tools.differential.compare import Figures, Result, compare
from tools.differential.judges import Judge, Mode, Verdict
from tools.differential.mutate import KINDS, mutants
from tools.differential.report import markdown

SEED = 7
MODELS = """
import json, logging, sys, os
os.environ["DS_ACCELERATOR"] = "cpu"
logging.disable(logging.CRITICAL)
from deepspeed.compile.config import CompileConfig
from deepspeed.inference.config import WeightQuantConfig
from deepspeed.monitor.config import CSVConfig, CometConfig, TensorBoardConfig, WandbConfig
from deepspeed.runtime.config import HybridEngineConfig
from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
from deepspeed.runtime.zero.offload_config import DeepSpeedZeroOffloadOptimizerConfig, DeepSpeedZeroOffloadParamConfig
models = {"compile": CompileConfig, "weight_quantization": WeightQuantConfig, "csv_monitor": CSVConfig, "comet": CometConfig,
  "tensorboard": TensorBoardConfig, "wandb": WandbConfig, "hybrid_engine": HybridEngineConfig, "bf16": DeepSpeedBF16Config,
  "fp16": DeepSpeedFP16Config, "tensor_parallel": TPTrainingConfig, "zero_optimization": DeepSpeedZeroConfig,
  "zero_optimization.offload_optimizer": DeepSpeedZeroOffloadOptimizerConfig, "zero_optimization.offload_param": DeepSpeedZeroOffloadParamConfig}
print("MODELS " + json.dumps({block: sorted({*m.model_fields, *(f.alias for f in m.model_fields.values() if f.alias)}) for block, m in models.items()}))
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verdicts")


@pytest.fixture(scope="module")
def result(cache: Path) -> Result:
    return compare(SEED, 150, 20, cache)


def test_the_catalogue_knows_the_keys_of_the_real_models() -> None:
    done = subprocess.run([sys.executable, "-c", MODELS], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("MODELS "))
    for block, names in json.loads(line.removeprefix("MODELS ")).items():
        assert known(block) == set(names), block


def test_a_seed_makes_the_same_mutants() -> None:
    assert mutants(3, 60) == mutants(3, 60)
    assert [mutant.config for mutant in mutants(3, 60)] != [mutant.config for mutant in mutants(4, 60)]


def test_every_kind_of_mistake_is_made_and_each_differs_from_its_base() -> None:
    made = mutants(SEED, 400)
    assert {mutant.kind for mutant in made} == set(KINDS)
    assert all(mutant.config != base(mutant.base) for mutant in made)


def test_deepspeed_trains_with_the_bases(cache: Path) -> None:
    bases = [base(number) for number in range(30)]
    refused = {number: verdict for number, verdict in enumerate(Judge("engine", cache).ask(bases)) if not verdict.accept}
    assert not refused


CLEAN: dict[str, Any] = {"train_batch_size": 16, "optimizer": {"type": "AdamW", "params": {"lr": 0.001}}}
OFFLOAD = {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}


def asked() -> Iterator[Any]:
    yield pytest.param("parser", CLEAN, Verdict(True), id="a plain config")
    yield pytest.param("parser", CLEAN | {"train_batch_size": 15}, "not equal to micro_batch_per_gpu", id="a world of 8")
    yield pytest.param("engine", CLEAN, Verdict(True), id="the fused kernels are stood in for")
    yield pytest.param("engine", CLEAN | OFFLOAD, Verdict(True), id="the CPU kernels are stood in for")
    yield pytest.param("engine", CLEAN | {"fp16": {"enabled": True}}, Verdict(True), id="fp16 on a CPU")
    wrong = {"optimizer": {"type": "AdamW", "params": {"lr": 0.001, "momentum": 0.9}}}
    yield pytest.param("engine", CLEAN | wrong, "unexpected keyword argument 'momentum'", id="the real class checks its parameters")
    quoted = {"optimizer": {"type": "AdamW", "params": {"lr": "0.001"}}}
    yield pytest.param("engine", CLEAN | OFFLOAD | quoted, "incompatible function arguments", id="the kernels check their arguments")


@pytest.mark.parametrize(("mode", "config", "expected"), list(asked()))
def test_a_verdict(mode: Mode, config: dict[str, Any], expected: Verdict | str, cache: Path) -> None:
    [verdict] = Judge(mode, cache).ask([config])
    if isinstance(expected, Verdict):
        assert verdict == expected
    else:
        assert not verdict.accept
        assert not verdict.environment
        assert expected in (verdict.error or "")


def test_what_the_machine_refuses_is_not_the_configs_fault(cache: Path) -> None:
    [verdict] = Judge("engine", cache).ask([CLEAN | {"zero_optimization": {"stage": 3, "zero_quantized_weights": True}}])
    assert not verdict.accept
    assert verdict.environment


def test_verdicts_are_kept(tmp_path: Path) -> None:
    first = Judge("parser", tmp_path)
    verdicts = first.ask([CLEAN, {}])
    again = Judge("parser", tmp_path, workers=0)
    assert again.ask([CLEAN, {}]) == verdicts


@pytest.mark.parametrize("judge", ["parser", "engine"])
def test_dslint_agrees(result: Result, judge: str) -> None:
    cases = getattr(result, judge)
    refused, accepted, told = Figures.of(cases).shares()
    assert refused >= 0.98, markdown([result])
    assert accepted >= 0.98, markdown([result])
    assert told >= 0.95, markdown([result])
