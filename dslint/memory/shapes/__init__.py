"""The tensors of each architecture, from small tables of what its family does differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslint.memory.model import Model, UnknownModel
from dslint.memory.shapes.config import Config
from dslint.memory.shapes.encoders import ENCODERS, T5, t5_up, write_t5
from dslint.memory.shapes.families import DECODERS
from dslint.memory.shapes.parts import Tensors
from dslint.memory.shapes.towers import JOINT, VIT

TYPES = frozenset({*DECODERS, *ENCODERS, *T5, *JOINT, "vit"})
EXPERTS_PER_TOKEN = ("num_experts_per_tok", "moe_k")


def build(written: Mapping[str, Any]) -> Model:
    """The model of a config.json. Raises UnknownModel."""
    if not isinstance(written.get("model_type"), str):
        raise UnknownModel("a config.json of a model names its model_type; this one does not")
    config = Config(written)
    if config.type not in TYPES:
        raise UnknownModel(f"the shapes of model type {config.type!r} are not known")
    if config.flag("add_cross_attention"):
        raise UnknownModel(f"a {config.type} model with cross attention: its shapes are not known")
    out = Tensors()
    tied = config.flag("tie_word_embeddings")
    if config.type in T5:
        write_t5(out, config)
        return _model(written, config, out, tied=True, gated=len(t5_up(config)) == 2)
    if config.type in JOINT:
        joint = JOINT[config.type]
        tied = joint.tied(config)
        decoder, text = joint.write(out, config), config.part("text_config")
    else:
        decoder, text = VIT if config.type == "vit" else {**DECODERS, **ENCODERS}[config.type], config
        decoder.write(out, config, decoder.root)
    decoder.head(out, text, tied)
    return _model(written, text, out, tied, decoder.gated)


def _model(written: Mapping[str, Any], config: Config, out: Tensors, tied: bool, gated: bool) -> Model:
    down = next((tensor for tensor in out.all if tensor.kind == "expert" and tensor.name.endswith("down_proj")), None)
    dtype = written.get("dtype", written.get("torch_dtype"))
    experts = down.shape[0] if down else 0
    return Model(
        type=str(written["model_type"]),
        tensors=tuple(out.all),
        layers=config.layers,
        hidden=config.hidden,
        intermediate=config.intermediate,
        heads=config.heads,
        kv_heads=config.kv_heads,
        head_size=config.head_size,
        vocabulary=config.count("vocab_size"),
        max_positions=config.count("max_position_embeddings"),
        dtype=dtype.removeprefix("torch.") if isinstance(dtype, str) else None,
        tied=tied,
        experts=experts,
        experts_per_token=next((config.number(key) for key in EXPERTS_PER_TOKEN if experts and config.get(key)), 0),
        expert_intermediate=down.elements // (experts * config.hidden) if down else 0,
        gated=gated,
    )
