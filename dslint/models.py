"""What is known of a model without loading it: from its config.json, its well-known name, or its type alone.

The table behind it (schemas/models.json, made by tools/extract_models.py) is read when it is first asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from dslint.schema.data import data_path

MAXIMUM_BYTES = 10_000_000
EXPERT_KEYS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts")
USUAL_KEYS: Mapping[str, str] = {
    "layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "vocabulary": "vocab_size",
    "max_positions": "max_position_embeddings",
}
# end of a name -> how the weights are quantised
QUANTIZED: Mapping[str, str] = {
    "-unsloth-bnb-4bit": "bitsandbytes",
    "-bnb-4bit": "bitsandbytes",
    "-awq": "awq",
    "-gptq-int4": "gptq",
    "-gptq-int8": "gptq",
    "-fp8": "fp8",
}
# unsloth publishes Phi models rewritten as other types
REWRITTEN = ("unsloth", "phi")


class ModelFacts(NamedTuple):
    """None and ``()`` mean that it is not known; ``experts`` is 0 in a dense model.

    The names are those of every transformers release that was read: ``layer_classes`` of the repeated blocks (the language model's first),
    ``linear_names`` and ``embedding_names`` the last parts of the modules' paths, ``expert_parameters`` weights of many experts in one
    tensor, ``module_classes`` every class but torch's own, ``no_split`` what Accelerate wraps by default. ``bits`` of quantised weights;
    ``separate_head``: the checkpoint holds an output embedding of its own.
    """

    type: str
    layer_classes: tuple[str, ...] = ()
    linear_names: tuple[str, ...] = ()
    layers: int | None = None
    hidden_size: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    vocabulary: int | None = None
    max_positions: int | None = None
    dtype: str | None = None
    tied_embeddings: bool | None = None
    experts: int | None = None
    quantization: str | None = None
    embedding_names: tuple[str, ...] = ()
    expert_parameters: tuple[str, ...] = ()
    module_classes: tuple[str, ...] = ()
    no_split: tuple[str, ...] = ()
    bits: int | None = None
    separate_head: bool | None = None


NAMES_UNKNOWN: Mapping[str, Any] = {
    "layer_classes": (),
    "linear_names": (),
    "embedding_names": (),
    "expert_parameters": (),
    "module_classes": (),
    "no_split": (),
}


@cache
def _table() -> Mapping[str, Any]:
    with open(os.path.join(data_path("schemas"), "models.json"), "rb") as file:
        table: Mapping[str, Any] = json.loads(file.read())
    return table


@cache
def _by_lower_name() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Well-known names by their lower-case form, and by the part after the owner where all owners mean the same model."""
    full: dict[str, str] = {}
    short: dict[str, str] = {}
    models = _table()["models"]
    for name, row in models.items():
        full[name.lower()] = name
        base = name.lower().rpartition("/")[2]
        short[base] = name if base not in short or models[short[base]] == row else ""
    return full, short


def by_type(model_type: str) -> ModelFacts | None:
    """What every model of a type shares; None for a type that transformers does not have (or that was not read)."""
    facts = _table()["types"].get(model_type)
    if facts is None:
        return None
    known = _of_type(model_type, facts)
    opened = facts.get("open", {})
    if facts.get("text") in opened:
        return known._replace(**NAMES_UNKNOWN, experts=None)
    return known._replace(**{**NAMES_UNKNOWN, "layer_classes": known.layer_classes}) if opened else known


def _of_type(model_type: str, facts: Mapping[str, Any]) -> ModelFacts:
    also = facts.get("also", {})
    names: dict[str, Any] = {name: (*facts.get(name, ()), *also.get(name, ())) for name in NAMES_UNKNOWN}
    tied = None if "tied" in also else facts.get("tied")
    return ModelFacts(model_type, **names, tied_embeddings=tied, experts=None if facts.get("moe") else 0)


def by_name(name: str) -> ModelFacts | None:
    """A well-known model by its name on the Hub, in any case; a mirror of it without what a mirror may have changed."""
    known, mirrored, quantization = _known(name)
    if not known:
        return None
    row = dict(zip(_table()["columns"], _table()["models"][known], strict=True))
    if mirrored:
        row |= {"vocabulary": None, "max_positions": None, "dtype": None}
    if quantization:
        row["quantization"] = quantization
    return _of_type(row["type"], _table()["types"].get(row["type"], {}))._replace(**row)


def known_name(name: str) -> str | None:
    """The name that the table has for a well-known model, a mirror's or a quantised copy's too."""
    return _known(name)[0] or None


def _known(name: str) -> tuple[str | None, bool, str | None]:
    """The name in the table, whether a mirror was named, and how its weights are quantised."""
    lowered = name.strip().strip("/").lower()
    quantization = None
    for end, method in QUANTIZED.items():
        if lowered.endswith(end):
            lowered, quantization = lowered.removesuffix(end), method
            break
    full, short = _by_lower_name()
    owner, _, base = lowered.rpartition("/")
    known = full.get(lowered)
    mirrored = known is None and owner in {mirror.lower() for mirror in _table()["mirrors"]}
    if mirrored and not (owner == REWRITTEN[0] and base.startswith(REWRITTEN[1])):
        known = short.get(base)
    return known, mirrored, quantization


@cache
def _classes() -> Mapping[str, str]:
    """The layer classes of every known type by their lower-case form."""
    types = _table()["types"]
    return {name.lower(): name for model_type in types for name in types[model_type].get("layer_classes", ())}


def class_in_other_case(name: str) -> str | None:
    """The known layer class that differs from a name in upper and lower case only."""
    known = _classes().get(name.lower())
    return known if known != name else None


def by_directory(path: str | os.PathLike[str]) -> ModelFacts | None:
    """What the config.json in a folder (or the file itself) says; None where there is none, or it is not the config of a model."""
    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, "config.json")
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > MAXIMUM_BYTES:
            return None
        with open(file, "rb") as stream:
            config = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        return None
    return by_config(config)._replace(separate_head=_separate_head(os.path.dirname(file)))


def _separate_head(folder: str) -> bool | None:
    """Does the index of a sharded checkpoint list an output embedding? None where there is no index."""
    try:
        with open(os.path.join(folder, "model.safetensors.index.json"), "rb") as stream:
            index = json.loads(stream.read(MAXIMUM_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    weights = index.get("weight_map") if isinstance(index, dict) else None
    return "lm_head.weight" in weights if isinstance(weights, dict) else None


def by_config(config: Mapping[str, Any]) -> ModelFacts:
    """What a config.json with a ``model_type`` says, once it is read."""
    model_type = config["model_type"]
    facts = _table()["types"].get(model_type)
    known = _named(config, facts) if facts is not None else ModelFacts(model_type)
    if _remote_code(config):
        known = known._replace(**NAMES_UNKNOWN)
    facts = facts or {}
    text = config.get(facts.get("text", "text_config"))
    shape: Mapping[str, Any] = text if isinstance(text, dict) else config
    text_facts = _table()["types"].get(shape.get("model_type"), facts) if shape is not config else facts
    numbers = _numbers(shape, text_facts)
    experts = next((count for key in EXPERT_KEYS if (count := _count(shape.get(key)))), known.experts)
    return known._replace(
        **numbers,
        dtype=_dtype(config) or _dtype(shape),
        tied_embeddings=_tied(config, shape, known.tied_embeddings),
        experts=experts,
        quantization=_quantization(config.get("quantization_config")),
        bits=_bits(config.get("quantization_config")),
    )


def _named(config: Mapping[str, Any], facts: Mapping[str, Any]) -> ModelFacts:
    """The facts of the type, as far as they hold when parts of the model are of another type than usual."""
    known = _of_type(config["model_type"], facts)
    for key, usual in facts.get("open", {}).items():
        part = config.get(key)
        chosen = part.get("model_type", usual) if isinstance(part, dict) else usual
        if chosen == usual:
            continue
        if key == facts.get("text"):
            inner = by_type(chosen) if isinstance(chosen, str) else None
            layers = inner.layer_classes if inner else ()
            return known._replace(**{**NAMES_UNKNOWN, "layer_classes": layers}, experts=inner.experts if inner else None)
        known = known._replace(**{**NAMES_UNKNOWN, "layer_classes": known.layer_classes})
    return known


def _numbers(shape: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    keys = {**USUAL_KEYS, **facts.get("keys", {})}
    numbers: dict[str, Any] = {
        fact: None if key is None else _count(shape.get(key, shape.get(USUAL_KEYS[fact]))) for fact, key in keys.items()
    }
    if facts.get("kv_as_heads") and shape.get(keys["kv_heads"]) is None:
        numbers["kv_heads"] = numbers["heads"]
    return numbers


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _dtype(config: Mapping[str, Any]) -> str | None:
    written = config.get("dtype", config.get("torch_dtype"))
    return written.removeprefix("torch.") if isinstance(written, str) else None


def _tied(config: Mapping[str, Any], shape: Mapping[str, Any], default: bool | None) -> bool | None:
    written = {value for part in (config, shape) if isinstance(value := part.get("tie_word_embeddings"), bool)}
    if not written:
        return default if shape is config else None
    return written.pop() if len(written) == 1 else None


def _bits(written: Any) -> int | None:
    """The bits of weights that a quantization_config speaks of."""
    if not isinstance(written, dict):
        return None
    if written.get("load_in_8bit") is True or written.get("load_in_4bit") is True:
        return 8 if written.get("load_in_8bit") is True else 4
    return _count(written.get("bits"))


def _quantization(block: object) -> str | None:
    if not isinstance(block, dict):
        return None
    method = block.get("quant_method")
    if isinstance(method, str):
        return method.lower()
    return "bitsandbytes" if block.get("load_in_4bit") is True or block.get("load_in_8bit") is True else None


def _remote_code(config: Mapping[str, Any]) -> bool:
    """Does the folder bring a model class of its own, whose names may be others?"""
    classes = config.get("auto_map")
    return isinstance(classes, dict) and any(str(name).startswith("AutoModel") for name in classes)
