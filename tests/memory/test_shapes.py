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
from dslint.memory.shapes.config import table
from dslint.memory.shapes.known import SIZES

ROOT = Path(__file__).parents[2]
# configs that lie in public repositories, without the keys that decide no shape
FIXTURES = Path(__file__).with_name("configs.json")
# totals that the makers publish, or that the checkpoints on the Hub hold
PUBLISHED = {
    "meta-llama/Llama-3.1-8B": 8_030_261_248,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "Qwen/Qwen2.5-7B": 7_615_616_512,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "mistralai/Mistral-7B-v0.3": 7_248_023_552,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "google/gemma-2-9b": 9_241_705_984,
    "google/gemma-3-4b-pt": 4_300_079_472,
    "Qwen/Qwen2.5-VL-7B-Instruct": 8_292_166_656,
    "Qwen/Qwen3-30B-A3B": 30_532_122_624,
    "openai/gpt-oss-20b": 20_914_757_184,
    "deepseek-ai/DeepSeek-V2-Lite": 15_706_484_224,
    "microsoft/phi-4": 14_659_507_200,
    "tiiuae/falcon-7b": 6_921_720_704,
    "facebook/opt-350m": 331_196_416,
    "openai-community/gpt2": 124_439_808,
    "EleutherAI/pythia-1.4b": 1_414_647_808,
    "bigscience/bloom-560m": 559_214_592,
    "google-bert/bert-base-uncased": 109_514_298,
    "google-t5/t5-small": 60_506_624,
}
# what the class of a type needs beyond its own defaults
NEEDED: Mapping[str, Mapping[str, int]] = {"nemotron": {"num_key_value_heads": 8}}
# keys that a type accepts with the same value only
TOGETHER = {"internlm3": ("attention_bias", "mlp_bias")}


def built(config: Mapping[str, Any]) -> list[tuple[set[str], tuple[int, ...]]]:
    """The parameters of the class that transformers trains for a config: all names of each (a tied one has two), and its shape."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from transformers.models.auto import modeling_auto

    read = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    heads = ("MASKED_LM", "CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SEQ_TO_SEQ_CAUSAL_LM", "IMAGE_CLASSIFICATION")
    tables = (getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES") for head in heads)
    name = next(table[read.model_type] for table in tables if read.model_type in table)
    with torch.device("meta"):
        model = getattr(transformers, name)(read)
    names: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), set()).add(name)
    return [(names[id(parameter)], tuple(parameter.shape)) for parameter in model.parameters()]


def differences(config: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> (shape told, shape built), where they are not the same."""
    model = model_of(config)
    told = {tensor.name: tensor.shape for tensor in model.tensors}
    assert len(model.tensors) == len(told)
    found: dict[str, Any] = {}
    for names, shape in built(config):
        name = next((name for name in names if name in told), min(names))
        if (ours := told.pop(name, None)) != shape:
            found[name] = (ours, shape)
    return {**found, **{name: (shape, None) for name, shape in told.items()}}


@pytest.mark.parametrize("model_type", sorted(TYPES))
def test_the_default_config_of_each_type(model_type: str) -> None:
    assert differences({"model_type": model_type, **NEEDED.get(model_type, {})}) == {}


@pytest.mark.parametrize("model_type", sorted(TYPES))
def test_each_yes_or_no_the_other_way(model_type: str) -> None:
    known = table()["types"][model_type]
    few = {key: 3 for key in ("num_hidden_layers", "n_layer", "num_layers") if key in known["defaults"] and model_type != "gpt_neo"}
    config = {"model_type": model_type, **NEEDED.get(model_type, {}), **few}
    for key, value in known["defaults"].items():
        if isinstance(value, bool) and key != "add_cross_attention":
            together = TOGETHER.get(model_type, ())
            changed = dict.fromkeys(together if key in together else (key,), not value)
            assert differences({**config, **changed}) == {}, key


@pytest.mark.parametrize(
    "row", json.loads(FIXTURES.read_text()), ids=lambda row: row["source"].rpartition("/config.json")[0].rpartition("/")[2]
)
def test_configs_of_published_models(row: Mapping[str, Any]) -> None:
    assert differences(row["config"]) == {}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_totals(name: str) -> None:
    assert known_model(name).parameters == PUBLISHED[name]


def test_every_well_known_model_of_a_known_type_has_its_shapes() -> None:
    for name in table()["known"]:
        assert known_model(name).parameters > 0, name


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
