"""A model's tensors, exactly, from its config.json or its well-known name; nothing is loaded.

A type that is not known here has no shapes: they are never guessed. The counts are those of transformers (the release named in
``schemas/shapes.json``), tensor by tensor; tests compare them with the real classes on torch's meta device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from dslint.faults import Fault


class Tensor(NamedTuple):
    """One parameter: its name in the state dict and its shape.

    ``kind``: embedding, head, norm, linear, expert (all experts of a layer in one tensor), bias, other. ``layer``: which repeated block of
    its stack it belongs to, None outside of them.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    layer: int | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


class Model(NamedTuple):
    """What memory depends on. The numbers are those of the language model; ``tensors`` holds every part, vision towers too.

    ``intermediate``: width of a dense layer's MLP; ``expert_intermediate``: of one expert (0: none). ``experts``: 0 in a dense model.
    ``gated``: the MLP has a gate beside its up-projection. ``dtype``: of the weights as the config names it, None where it does not.
    ``tied``: the output head is the embedding, and is not among the tensors.
    """

    type: str
    tensors: tuple[Tensor, ...]
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    max_positions: int
    dtype: str | None
    tied: bool
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate: int = 0
    gated: bool = True

    @property
    def parameters(self) -> int:
        """How many numbers the model holds, a shared tensor once."""
        return sum(tensor.elements for tensor in self.tensors)


class UnknownModel(Fault):
    """The shapes of this model are not known; the message says why, and what can be given instead."""


def model_of(config: Mapping[str, Any]) -> Model:
    """The model that transformers builds from a config.json. Raises UnknownModel."""
    from dslint.memory.shapes import build

    return build(config)


def known_model(name: str) -> Model:
    """A model by its name on the Hub, or by a usual size such as "7b". Raises UnknownModel."""
    from dslint.memory.shapes.known import config_of

    return model_of(config_of(name))
