"""The tensors of each architecture, from small tables of what its family does differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslint.memory.model import Model, UnknownModel
from dslint.memory.shapes.config import Config
from dslint.memory.shapes.decoder import Decoder
from dslint.memory.shapes.parts import Parts, gated, grouped, mixture

LLAMA = Decoder(grouped("attention_bias", "attention_bias"), gated("mlp_bias"))
DECODERS: Mapping[str, Decoder] = {
    "llama": LLAMA,
    "mistral": Decoder(),
    "mixtral": Decoder(mlp=mixture()),
    "qwen2": Decoder(grouped(bias=True)),
    "qwen3": Decoder(grouped("attention_bias", "attention_bias", qk_norm="head")),
}
TYPES = frozenset(DECODERS)


def build(written: Mapping[str, Any]) -> Model:
    """The model of a config.json. Raises UnknownModel."""
    if not isinstance(written.get("model_type"), str):
        raise UnknownModel("a config.json of a model names its model_type; this one does not")
    config = Config(written)
    parts = Parts()
    DECODERS[config.type].write(parts, config, "model")
    tied = config.flag("tie_word_embeddings")
    if not tied:
        parts.add("lm_head.weight", (config.number("vocab_size"), config.hidden), "head")
    dtype = written.get("dtype", written.get("torch_dtype"))
    return Model(
        type=config.type,
        tensors=tuple(parts.tensors),
        layers=config.layers,
        hidden=config.hidden,
        intermediate=config.intermediate,
        heads=config.heads,
        kv_heads=config.kv_heads,
        head_size=config.head_size,
        vocabulary=config.number("vocab_size"),
        max_positions=config.number("max_position_embeddings"),
        dtype=dtype.removeprefix("torch.") if isinstance(dtype, str) else None,
        tied=tied,
    )
