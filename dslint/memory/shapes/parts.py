"""The pieces that decoder layers are made of: attention, MLP, mixture of experts, norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dslint.memory.model import Tensor
from dslint.memory.shapes.config import Config


class Parts:
    """Collects the tensors of one model. ``layer``: the repeated block that is being written, None outside of them."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.layer: int | None = None

    def add(self, name: str, shape: tuple[int, ...], kind: str) -> None:
        self.tensors.append(Tensor(name, shape, kind, self.layer))

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


# writes the tensors of one piece of a layer, under a path that ends without a dot
Part: TypeAlias = Callable[[Parts, Config, str], None]


def truth(config: Config, said: bool | str) -> bool:
    """A yes or no that a family fixes, or that a key of the config decides."""
    return config.flag(said) if isinstance(said, str) else said


def grouped(bias: bool | str = False, out_bias: bool | str = False, qk_norm: str = "", out: str = "o_proj") -> Part:
    """Attention with a projection each for queries, keys and values; key and value heads may be fewer.

    ``qk_norm``: "head" norms each head, "all" the whole projection.
    """

    def write(parts: Parts, config: Config, at: str) -> None:
        hidden, size, queries, keys = config.hidden, config.head_size, config.heads, config.kv_heads
        for name, heads in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys)):
            parts.linear(f"{at}.{name}", hidden, heads * size, truth(config, bias))
        parts.linear(f"{at}.{out}", queries * size, hidden, truth(config, out_bias))
        if qk_norm:
            parts.norm(f"{at}.q_norm", size if qk_norm == "head" else queries * size)
            parts.norm(f"{at}.k_norm", size if qk_norm == "head" else keys * size)

    return write


def gated(bias: bool | str = False, width: str = "intermediate_size") -> Part:
    """An MLP with a gate beside its up-projection (SwiGLU, GeGLU)."""

    def write(parts: Parts, config: Config, at: str) -> None:
        write_gated(parts, at, config.hidden, config.number(width), truth(config, bias))

    return write


def write_gated(parts: Parts, at: str, hidden: int, width: int, bias: bool = False) -> None:
    parts.linear(f"{at}.gate_proj", hidden, width, bias)
    parts.linear(f"{at}.up_proj", hidden, width, bias)
    parts.linear(f"{at}.down_proj", width, hidden, bias)


def experts(parts: Parts, at: str, count: int, hidden: int, width: int) -> None:
    """The gated MLPs of all experts of a layer, in two tensors."""
    parts.add(f"{at}.gate_up_proj", (count, 2 * width, hidden), "expert")
    parts.add(f"{at}.down_proj", (count, hidden, width), "expert")


def mixture(count: str = "num_local_experts", width: str = "intermediate_size", router: str = "gate") -> Part:
    """A router and gated experts."""

    def write(parts: Parts, config: Config, at: str) -> None:
        parts.linear(f"{at}.{router}", config.hidden, config.number(count))
        experts(parts, f"{at}.experts", config.number(count), config.hidden, config.number(width))

    return write
