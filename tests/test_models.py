"""What is told of models, and that the table behind it is what the installed transformers says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dslint import models

ROOT = Path(__file__).parent.parent
# one of each kind: dense, Conv1D, fused projections, experts, vision and language, encoder and decoder, no attention
READ_AGAIN = "llama,qwen2,gpt2,phi3,falcon,mixtral,qwen3_moe,gpt_oss,deepseek_v3,qwen2_vl,gemma3,llava,t5,bert,mamba,jamba"


def config(folder: Path, **keys: object) -> Path:
    (folder / "config.json").write_text(json.dumps(keys), encoding="utf-8")
    return folder


def test_the_installed_transformers_says_the_same() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    command = [sys.executable, ROOT / "tools/extract_models.py", "--check", "--types", READ_AGAIN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_well_known_models_are_of_known_types_and_their_rows_are_whole() -> None:
    table = models._table()
    for name, row in table["models"].items():
        assert len(row) == len(table["columns"]), name
        facts = models.by_name(name)
        assert facts is not None
        assert facts.layer_classes, name
        assert facts.heads, name
        assert facts.hidden_size, name
        assert facts.kv_heads is None or facts.heads % facts.kv_heads == 0, name


def test_by_name_in_any_case() -> None:
    facts = models.by_name("Meta-Llama/llama-3.1-8b")
    assert facts is not None
    assert (facts.type, facts.layers, facts.kv_heads, facts.max_positions) == ("llama", 32, 8, 131072)
    assert facts.layer_classes == ("LlamaDecoderLayer",)
    assert "q_proj" in facts.linear_names


def test_a_mirror_keeps_the_shape_but_not_what_it_may_change() -> None:
    facts = models.by_name("unsloth/Llama-3.2-1B-Instruct-bnb-4bit")
    assert facts is not None
    assert (facts.layers, facts.vocabulary, facts.max_positions, facts.quantization) == (16, None, None, "bitsandbytes")


@pytest.mark.parametrize("name", ["unsloth/phi-4", "somebody/Llama-3.1-8B", "Llama-3.1-8B", "", "/", "../x"])
def test_other_names_tell_nothing(name: str) -> None:
    assert models.by_name(name) is None


def test_names_of_older_releases_are_known_too() -> None:
    facts = models.by_type("mixtral")
    assert facts is not None
    assert {"q_proj", "w1", "gate"} <= set(facts.linear_names)
    assert (facts.experts, facts.expert_parameters) == (None, ("down_proj", "gate_up_proj"))
    dense = models.by_type("llama")
    assert dense is not None
    assert dense.experts == 0


def test_a_type_whose_language_model_is_chosen_by_the_config_tells_no_names() -> None:
    facts = models.by_type("llava")
    assert facts is not None
    assert facts.layer_classes == facts.linear_names == ()


def test_a_config_with_its_own_key_names(tmp_path: Path) -> None:
    facts = models.by_directory(config(tmp_path, model_type="gpt2", n_layer=3, n_embd=64, n_head=4, n_positions=128, vocab_size=99))
    assert facts is not None
    assert facts[3:9] == (3, 64, 4, None, 99, 128)
    assert facts.tied_embeddings is True


def test_a_config_with_experts_and_quantisation(tmp_path: Path) -> None:
    folder = config(
        tmp_path, model_type="mixtral", num_local_experts=8, torch_dtype="bfloat16", quantization_config={"quant_method": "AWQ", "bits": 4}
    )
    facts = models.by_directory(folder)
    assert facts is not None
    assert (facts.experts, facts.dtype, facts.quantization) == (8, "bfloat16", "awq")
    assert models.by_directory(folder / "config.json") == facts


def test_key_value_heads_that_are_not_written_are_the_heads_where_the_class_says_so(tmp_path: Path) -> None:
    assert models.by_directory(config(tmp_path, model_type="llama", num_attention_heads=32)).kv_heads == 32  # type: ignore[union-attr]
    assert models.by_directory(config(tmp_path, model_type="mistral", num_attention_heads=32)).kv_heads is None  # type: ignore[union-attr]


def test_a_vision_model_takes_the_layers_of_its_language_model(tmp_path: Path) -> None:
    text = {"model_type": "qwen2", "num_hidden_layers": 24, "tie_word_embeddings": True}
    facts = models.by_directory(config(tmp_path, model_type="llava", text_config=text, vision_config={"model_type": "clip_vision_model"}))
    assert facts is not None
    assert (facts.layer_classes, facts.layers, facts.linear_names, facts.tied_embeddings) == (("Qwen2DecoderLayer",), 24, (), True)


def test_a_folder_with_its_own_code_tells_no_names(tmp_path: Path) -> None:
    facts = models.by_directory(config(tmp_path, model_type="phi3", hidden_size=64, auto_map={"AutoModelForCausalLM": "modeling.M"}))
    assert facts is not None
    assert (facts.hidden_size, facts.layer_classes, facts.linear_names) == (64, (), ())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"model_type": 3}', '{"hidden_size": 3}', "[" * 100_000, '{"model_type": "llama', "\udcff"]
)
def test_bad_input_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert models.by_directory(tmp_path) is None


@pytest.mark.parametrize("value", [True, -1, 0, "32", 3.5, None, [], {}])
def test_values_that_are_no_counts_are_not_told(tmp_path: Path, value: object) -> None:
    facts = models.by_directory(config(tmp_path, model_type="llama", num_hidden_layers=value, torch_dtype=value, tie_word_embeddings=value))
    assert facts is not None
    assert facts.layers is None


def test_no_folder_tells_nothing(tmp_path: Path) -> None:
    assert models.by_directory(tmp_path / "missing") is None
    assert models.by_directory(tmp_path) is None
