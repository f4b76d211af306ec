"""Every tensor of every known architecture is what transformers builds on the meta device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dslint.memory.model import UnknownModel, known_model, model_of
from dslint.memory.shapes import TYPES
from dslint.memory.shapes.known import SIZES

ROOT = Path(__file__).parents[2]
# totals that the makers publish, or that the checkpoints on the Hub hold
PUBLISHED = {
    "meta-llama/Llama-3.1-8B": 8_030_261_248,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "Qwen/Qwen2.5-7B": 7_615_616_512,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "mistralai/Mistral-7B-v0.3": 7_248_023_552,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
}


def built(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The parameters of the class that transformers trains for a config, by name."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from transformers.models.auto import modeling_auto

    read = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    heads = ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SEQ_TO_SEQ_CAUSAL_LM", "MASKED_LM", "IMAGE_CLASSIFICATION")
    tables = (getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES") for head in heads)
    name = next(table[read.model_type] for table in tables if read.model_type in table)
    with torch.device("meta"):
        model = getattr(transformers, name)(read)
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def same(config: Mapping[str, Any]) -> None:
    model = model_of(config)
    told = {tensor.name: tensor.shape for tensor in model.tensors}
    true = built(config)
    assert {name: (told.get(name), true.get(name)) for name in told.keys() | true.keys() if told.get(name) != true.get(name)} == {}
    assert len(model.tensors) == len(told)


@pytest.mark.parametrize("model_type", sorted(TYPES))
def test_the_default_config_of_each_type(model_type: str) -> None:
    same({"model_type": model_type})


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_totals(name: str) -> None:
    assert known_model(name).parameters == PUBLISHED[name]


def test_every_size_names_a_known_model_of_about_that_size() -> None:
    for size, name in SIZES.items():
        model = known_model(size)
        assert model == known_model(name)
        if "x" not in size:
            assert model.parameters == pytest.approx(float(size.removesuffix("b")) * 1e9, rel=0.3)


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(UnknownModel, match="model type 'nothing' are not known"):
        model_of({"model_type": "nothing"})
    with pytest.raises(UnknownModel, match="names its model_type"):
        model_of({"hidden_size": 64})
    with pytest.raises(UnknownModel, match="hidden_size is 'wide'; a whole number is needed"):
        model_of({"model_type": "llama", "hidden_size": "wide"})
    with pytest.raises(UnknownModel, match=r"did you mean meta-llama/Llama-3\.1-8B"):
        known_model("meta-llama/Llama-3.1-8D")


def test_the_table_is_what_the_installed_transformers_says() -> None:
    pytest.importorskip("transformers")
    done = subprocess.run([sys.executable, ROOT / "tools/extract_shapes.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_heavy_is_imported() -> None:
    code = "import sys; from dslint.memory.model import known_model; known_model('7b'); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", "import json; " + code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "yaml", "numpy"} & set(json.loads(done.stdout))
