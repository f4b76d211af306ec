"""How many elements of a model are trained, frozen, small, or gathered at once in a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dslint.memory.model import Model, Tensor
from dslint.memory.run import Run

# linear projections that an adapter with a word for "all" gets (peft: all linear modules but the output head)
ALL_LINEAR = frozenset(["all", "all-linear"])
ADAPTED = frozenset(["linear"])


class Counts(NamedTuple):
    """Elements of this rank's part of the model (after tensor and pipeline parallelism), before data-parallel sharding.

    ``layer``: those of the largest repeated block, ``root``: those outside of all blocks; ``largest``: of the largest tensor;
    ``matrices``: rows and columns of the trainable matrices, for factored states; ``small``: of tensors below the persistence threshold.
    """

    total: int
    trainable: int
    frozen: int
    quantised: int
    layer: int
    layers: int
    root: int
    largest: int
    small: int
    trainable_small: int
    factors: int


def counts_of(run: Run, model: Model) -> Counts:
    """Count the tensors of a model as a run sees them."""
    split = run.tensor * run.pipeline
    total = _sum(model.tensors) // split
    by_layer: dict[int, int] = {}
    for tensor in model.tensors:
        if tensor.layer is not None:
            by_layer[tensor.layer] = by_layer.get(tensor.layer, 0) + tensor.elements
    root = sum(tensor.elements for tensor in model.tensors if tensor.layer is None)
    small = _sum(tensor for tensor in model.tensors if tensor.elements <= run.persistence) // run.pipeline
    trained: Iterable[Tensor] = model.tensors
    added = 0
    if run.adapter:
        trained = ()
        added = _adapter(run, model) // split
    trainable = _sum(trained) // split + added
    quantised = _sum(tensor for tensor in model.tensors if tensor.kind in ADAPTED) // split if run.bits < 16 else 0
    return Counts(
        total=total + added,
        trainable=trainable,
        frozen=total + added - trainable,
        quantised=quantised,
        layer=max(by_layer.values(), default=0) // run.tensor,
        layers=max(1, len(by_layer) // run.pipeline),
        root=root // run.tensor,
        largest=max((tensor.elements for tensor in model.tensors), default=0) // run.tensor,
        small=small,
        trainable_small=0 if run.adapter else small,
        factors=sum(sum(tensor.shape) for tensor in trained if len(tensor.shape) > 1) // split,
    )


def _sum(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.elements for tensor in tensors)


def _adapter(run: Run, model: Model) -> int:
    """Elements of the low-rank matrices: rank times (inputs + outputs) of each adapted matrix (peft/tuners/lora/layer.py: lora_A, lora_B)."""
    wanted = set(run.targets) - ALL_LINEAR
    adapted = (
        tensor
        for tensor in model.tensors
        if tensor.kind == "linear" and len(tensor.shape) == 2 and (not wanted or _module(tensor.name) in wanted)
    )
    return sum(run.rank * sum(tensor.shape) for tensor in adapted)


def _module(name: str) -> str:
    return name.removesuffix(".weight").rpartition(".")[2]
