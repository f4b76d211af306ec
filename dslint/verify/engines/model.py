"""A small Llama: embedding, decoder layers with rotary grouped-query attention and a gated MLP, norm, head."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from dslint.verify import model_size as size

Checkpoint = Callable[..., Any]


class RMSNorm(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size.HIDDEN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of (batch, heads, sequence, width)."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = torch.arange(x.shape[-2], device=x.device, dtype=torch.float32)[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.width = size.HIDDEN // size.HEADS
        self.q_proj = nn.Linear(size.HIDDEN, size.HIDDEN, bias=False)
        self.k_proj = nn.Linear(size.HIDDEN, self.width * size.KEY_VALUE_HEADS, bias=False)
        self.v_proj = nn.Linear(size.HIDDEN, self.width * size.KEY_VALUE_HEADS, bias=False)
        self.o_proj = nn.Linear(size.HIDDEN, size.HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, sequence, _ = x.shape
        query, key, value = (
            projection(x).view(batch, sequence, -1, self.width).transpose(1, 2) for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        groups = query.shape[1] // key.shape[1]
        key, value = rotate(key).repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
        mixed = F.scaled_dot_product_attention(rotate(query), key, value, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, sequence, -1))


class MLP(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size.HIDDEN, size.INTERMEDIATE, bias=False)
        self.up_proj = nn.Linear(size.HIDDEN, size.INTERMEDIATE, bias=False)
        self.down_proj = nn.Linear(size.INTERMEDIATE, size.HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(), Attention()
        self.post_attention_layernorm, self.mlp = RMSNorm(), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class SmallLlamaModel(nn.Module):  # type: ignore[misc]
    """Returns the loss of predicting each next token. ``checkpoint``: how a layer is run when its activations are not kept.

    Tensor parallelism finds its way by names: this class's own must end in Model, the projections have Llama's.
    """

    def __init__(self, seed: int, checkpoint: Checkpoint | None = None) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.checkpoint = checkpoint
        self.config = SimpleNamespace(
            model_type="llama",
            hidden_size=size.HIDDEN,
            intermediate_size=size.INTERMEDIATE,
            num_attention_heads=size.HEADS,
            num_key_value_heads=size.KEY_VALUE_HEADS,
            num_hidden_layers=size.LAYERS,
            vocab_size=size.VOCABULARY,
        )
        self.embed_tokens = nn.Embedding(size.VOCABULARY, size.HIDDEN)
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(size.LAYERS))
        self.norm = RMSNorm()
        self.lm_head = nn.Linear(size.HIDDEN, size.VOCABULARY, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = self.checkpoint(layer, x) if self.checkpoint and self.training else layer(x)
        logits = self.lm_head(self.norm(x)).float()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
