"""Decoders: an embedding, layers of attention and MLP with their norms, a last norm, and a head."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from dslint.memory.shapes import parts
from dslint.memory.shapes.config import Config
from dslint.memory.shapes.parts import Flag, Part, Tensors, truth

# writes the head; where it is tied to the embedding, what else it has
Head: TypeAlias = Callable[[Tensors, Config, bool], None]


def around(embedding: str = "embed_tokens", final: str = "norm", positions: str = "", bias: bool = False, normed: str = "") -> Part:
    """What stands outside of the layers: embeddings (``normed``: with a norm of this name) and, where it has a name, the last norm."""

    def write(out: Tensors, config: Config, at: str) -> None:
        out.embedding(at + embedding, config.vocabulary, config.hidden)
        if positions:
            out.embedding(at + positions, config.number("max_position_embeddings"), config.hidden)
        for name in filter(None, (normed, final)):
            out.norm(at + name, config.hidden, bias)

    return write


def lm_head(bias: Flag = False) -> Head:
    def write(out: Tensors, config: Config, tied: bool) -> None:
        if not tied:
            out.add("lm_head.weight", (config.vocabulary, config.hidden), "head")
        if truth(config, bias):
            out.add("lm_head.bias", (config.vocabulary,), "bias")

    return write


def always(config: Config, layer: int) -> bool:
    return True


class Decoder(NamedTuple):
    """What tells one family of decoders from another.

    ``mixture`` takes the place of ``mlp`` in the layers that ``sparse`` tells.
    """

    attention: Part = parts.grouped()
    mlp: Part = parts.gated()
    norms: Part = parts.norms("input_layernorm", "post_attention_layernorm")
    ends: Part = around()
    root: str = "model."
    layers: str = "layers."
    attention_name: str = "self_attn."
    mlp_name: str = "mlp."
    mixture: Part | None = None
    sparse: Callable[[Config, int], bool] = always
    head: Head = lm_head()
    gated: bool = True

    def write(self, out: Tensors, config: Config, at: str) -> None:
        """All tensors but the head's."""
        for layer in range(config.layers):
            out.layer = layer
            here = f"{at}{self.layers}{layer}."
            self.attention(out, config, here + self.attention_name)
            mixed = self.mixture if self.mixture is not None and self.sparse(config, layer) else None
            (mixed or self.mlp)(out, config, here + self.mlp_name)
            self.norms(out, config, here)
        out.layer = None
        self.ends(out, config, at)
