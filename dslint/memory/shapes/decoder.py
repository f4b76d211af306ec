"""Decoders: an embedding, layers of attention and MLP with their norms, a last norm, and a head."""

from __future__ import annotations

from typing import NamedTuple

from dslint.memory.shapes.config import Config
from dslint.memory.shapes.parts import Part, Parts, gated, grouped


class Decoder(NamedTuple):
    """What tells one family of decoders from another."""

    attention: Part = grouped()
    mlp: Part = gated()
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    attention_name: str = "self_attn"
    mlp_name: str = "mlp"

    def write(self, parts: Parts, config: Config, root: str) -> None:
        """The tensors below ``root`` (``model``): all but the head."""
        parts.embedding(f"{root}.embed_tokens", config.number("vocab_size"), config.hidden)
        for layer in range(config.layers):
            parts.layer = layer
            at = f"{root}.layers.{layer}"
            self.attention(parts, config, f"{at}.{self.attention_name}")
            self.mlp(parts, config, f"{at}.{self.mlp_name}")
            for name in self.norms:
                parts.norm(f"{at}.{name}", config.hidden)
        parts.layer = None
        parts.norm(f"{root}.norm", config.hidden)
