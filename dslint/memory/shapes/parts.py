"""The pieces that layers are made of: attention, MLP, mixture of experts, norms.

Each function here takes what a family fixes and gives a Part, which writes the tensors of one config. A yes or no, and a width, may be the
name of the config's key that decides it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from dslint.memory.model import Tensor
from dslint.memory.shapes.config import Config


class Tensors:
    """Collects the tensors of one model. ``layer``: the repeated block that is being written, None outside of them."""

    def __init__(self) -> None:
        self.all: list[Tensor] = []
        self.layer: int | None = None

    def add(self, name: str, shape: tuple[int, ...], kind: str) -> None:
        self.all.append(Tensor(name, shape, kind, self.layer))

    def linear(self, name: str, inputs: int, outputs: int, bias: bool = False) -> None:
        self.add(f"{name}.weight", (outputs, inputs), "linear")
        if bias:
            self.add(f"{name}.bias", (outputs,), "bias")

    def norm(self, name: str, size: int, bias: bool = False) -> None:
        self.add(f"{name}.weight", (size,), "norm")
        if bias:
            self.add(f"{name}.bias", (size,), "norm")

    def embedding(self, name: str, rows: int, size: int) -> None:
        self.add(f"{name}.weight", (rows, size), "embedding")


# writes the tensors of one piece under a path, which ends with a dot (or is empty)
Part: TypeAlias = Callable[[Tensors, Config, str], None]
Flag: TypeAlias = "bool | str"


def truth(config: Config, said: Flag) -> bool:
    return config.flag(said) if isinstance(said, str) else said


def both(*parts: Part) -> Part:
    def write(out: Tensors, config: Config, at: str) -> None:
        for part in parts:
            part(out, config, at)

    return write


def when(key: str, part: Part, otherwise: Part | None = None) -> Part:
    """A piece that is there where a key of the config is true."""

    def write(out: Tensors, config: Config, at: str) -> None:
        chosen = part if config.flag(key) else otherwise
        if chosen is not None:
            chosen(out, config, at)

    return write


def norms(*names: str, bias: bool = False) -> Part:
    def write(out: Tensors, config: Config, at: str) -> None:
        for name in names:
            out.norm(at + name, config.hidden, bias)

    return write


def grouped(bias: Flag = False, out_bias: Flag = False, out: str = "o_proj") -> Part:
    """Attention with a projection each for queries, keys and values; key and value heads may be fewer."""

    def write(tensors: Tensors, config: Config, at: str) -> None:
        size, queries, keys = config.head_size, config.heads, config.kv_heads
        for name, heads in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys)):
            tensors.linear(at + name, config.hidden, heads * size, truth(config, bias))
        tensors.linear(at + out, queries * size, config.hidden, truth(config, out_bias))

    return write


def qk_norm(over: str = "head", names: tuple[str, str] = ("q_norm", "k_norm"), bias: bool = False) -> Part:
    """Norms of queries and keys: of each "head" with the same weights, of the heads "each" with their own, of "all" at once."""

    def write(out: Tensors, config: Config, at: str) -> None:
        for name, heads in zip(names, (config.heads, config.kv_heads), strict=True):
            size = config.head_size
            shape = {"head": (size,), "each": (heads, size), "all": (heads * size,)}[over]
            for part in ("weight", "bias") if bias else ("weight",):
                out.add(f"{at}{name}.{part}", shape, "norm")

    return write


def fused(qkv: str, out: str, bias: Flag = True, kv_heads: Callable[[Config], int] = lambda config: config.kv_heads) -> Part:
    """Attention with one projection for queries, keys and values."""

    def write(tensors: Tensors, config: Config, at: str) -> None:
        size, queries = config.head_size, config.heads
        tensors.linear(at + qkv, config.hidden, (queries + 2 * kv_heads(config)) * size, truth(config, bias))
        tensors.linear(at + out, queries * size, config.hidden, truth(config, bias))

    return write


def latent(out: Tensors, config: Config, at: str) -> None:
    """Multi-head latent attention: queries (where they have a rank), keys and values go through low-rank projections."""
    hidden, heads, bias = config.hidden, config.heads, config.flag("attention_bias")
    rope, nope, values = (config.number(key) for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
    if config.get("q_lora_rank") is None:
        out.linear(f"{at}q_proj", hidden, heads * (rope + nope))
    else:
        rank = config.number("q_lora_rank")
        out.linear(f"{at}q_a_proj", hidden, rank, bias)
        out.norm(f"{at}q_a_layernorm", rank)
        out.linear(f"{at}q_b_proj", rank, heads * (rope + nope))
    rank = config.number("kv_lora_rank")
    out.linear(f"{at}kv_a_proj_with_mqa", hidden, rank + rope, bias)
    out.norm(f"{at}kv_a_layernorm", rank)
    out.linear(f"{at}kv_b_proj", rank, heads * (nope + values))
    out.linear(f"{at}o_proj", heads * values, hidden, bias)


def indexer(out: Tensors, config: Config, at: str) -> None:
    """The small attention of DeepSeek V3.2 that chooses the tokens of the large one."""
    heads, size = config.number("index_n_heads"), config.number("index_head_dim")
    out.linear(f"{at}indexer.wq_b", config.number("q_lora_rank"), heads * size)
    out.linear(f"{at}indexer.wk", config.hidden, size)
    out.norm(f"{at}indexer.k_norm", size, bias=True)
    out.linear(f"{at}indexer.weights_proj", config.hidden, heads)


def gated(bias: Flag = False, width: str = "intermediate_size") -> Part:
    """An MLP with a gate beside its up-projection (SwiGLU, GeGLU)."""

    def write(out: Tensors, config: Config, at: str) -> None:
        write_gated(out, at, config.hidden, config.number(width), truth(config, bias))

    return write


def write_gated(out: Tensors, at: str, hidden: int, width: int, bias: bool = False) -> None:
    out.linear(f"{at}gate_proj", hidden, width, bias)
    out.linear(f"{at}up_proj", hidden, width, bias)
    out.linear(f"{at}down_proj", width, hidden, bias)


def fused_gated(out: Tensors, config: Config, at: str) -> None:
    """The gate and the up-projection in one tensor."""
    out.linear(f"{at}gate_up_proj", config.hidden, 2 * config.intermediate)
    out.linear(f"{at}down_proj", config.intermediate, config.hidden)


def plain(up: str, down: str, bias: Flag = True) -> Part:
    """An MLP of two matrices."""

    def write(out: Tensors, config: Config, at: str) -> None:
        out.linear(at + up, config.hidden, config.intermediate, truth(config, bias))
        out.linear(at + down, config.intermediate, config.hidden, truth(config, bias))

    return write


def conv1d(*layers: tuple[str, Callable[[Config], tuple[int, int]]]) -> Part:
    """GPT-2's linear layers, whose weights lie the other way round."""

    def write(out: Tensors, config: Config, at: str) -> None:
        for name, sizes in layers:
            inputs, outputs = sizes(config)
            out.add(f"{at}{name}.weight", (inputs, outputs), "linear")
            out.add(f"{at}{name}.bias", (outputs,), "bias")

    return write


def mixture(
    experts: str = "num_local_experts",
    width: str = "moe_intermediate_size",
    router: str = "gate",
    shared: str = "",
    shared_width: Sequence[str] = (),
    shared_bias: Flag = False,
    extra: Part | None = None,
) -> Part:
    """A router and gated experts, all experts of a layer in two tensors; beside them, where ``shared`` names it, an MLP for every token.

    ``shared_width``: keys whose product is its width (0: there is none).
    """

    def write(out: Tensors, config: Config, at: str) -> None:
        count, hidden, inner = config.number(experts), config.hidden, config.number(width)
        out.linear(at + router, hidden, count)
        out.add(f"{at}experts.gate_up_proj", (count, 2 * inner, hidden), "expert")
        out.add(f"{at}experts.down_proj", (count, hidden, inner), "expert")
        common = math.prod(map(config.number, shared_width)) if shared else 0
        if common:
            write_gated(out, f"{at}{shared}.", hidden, common, truth(config, shared_bias))
        if extra is not None:
            extra(out, config, at)

    return write
