"""The configs of well-known models, from the rows of schemas/models.json and the rest of their config.json in schemas/shapes.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslint.memory.model import UnknownModel
from dslint.memory.shapes.config import table
from dslint.models import USUAL_KEYS, by_name, known_name
from dslint.nearest import did_you_mean

# what people mean by a size alone
SIZES: Mapping[str, str] = {
    "0.5b": "Qwen/Qwen2.5-0.5B",
    "0.6b": "Qwen/Qwen3-0.6B",
    "1b": "meta-llama/Llama-3.2-1B",
    "1.5b": "Qwen/Qwen2.5-1.5B",
    "1.7b": "Qwen/Qwen3-1.7B",
    "3b": "meta-llama/Llama-3.2-3B",
    "4b": "Qwen/Qwen3-4B",
    "7b": "meta-llama/Llama-2-7b-hf",
    "8b": "meta-llama/Llama-3.1-8B",
    "13b": "meta-llama/Llama-2-13b-hf",
    "14b": "Qwen/Qwen2.5-14B",
    "32b": "Qwen/Qwen2.5-32B",
    "70b": "meta-llama/Llama-3.1-70B",
    "72b": "Qwen/Qwen2.5-72B",
    "405b": "meta-llama/Llama-3.1-405B",
    "8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "8x22b": "mistralai/Mixtral-8x22B-v0.1",
}


def config_of(name: str) -> Mapping[str, Any]:
    """The keys of a well-known model's config.json that decide its shapes; of a mirror, those of the original. Raises UnknownModel."""
    full = known_name(SIZES.get(name.strip().lower(), name))
    rest = table()["known"].get(full)
    facts = by_name(full) if full is not None else None
    if rest is None or facts is None or facts.type not in table()["types"]:
        near = did_you_mean(name, [*SIZES, *table()["known"]])
        raise UnknownModel(f"{name}: no model known by this name{near}; give its folder or its config.json instead")
    shape = {key: value for fact, key in USUAL_KEYS.items() if (value := getattr(facts, fact)) is not None}
    if facts.tied_embeddings is not None:
        shape["tie_word_embeddings"] = facts.tied_embeddings
    outer = {"model_type": facts.type, "dtype": facts.dtype}
    if "text_config" not in table()["types"][facts.type].get("parts", {}):
        return {**outer, **shape, **rest}
    vision = {"vision_config": rest["vision_config"]}
    return {**outer, **vision, "tie_word_embeddings": facts.tied_embeddings, "text_config": {**shape, **rest, **vision}}
