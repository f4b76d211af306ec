"""What the steps of a run really do, seen from torch itself: passes through a layer, precision of reductions, the gradient that reaches the optimizer."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn

# collectives that sum gradients over ranks, and the argument that holds them
REDUCTIONS = {
    "all_reduce": 0,
    "reduce": 0,
    "reduce_scatter": 0,
    "reduce_scatter_tensor": 1,
    "_reduce_scatter_base": 1,
    "all_reduce_coalesced": 0,
    "all_to_all_single": 1,
}
# smaller ones are norms, flags and losses
LEAST = 256


class Watch:
    """``norms``: for each optimizer step the gradient's norm before clipping, as the engine tells it, and at the optimizer."""

    def __init__(self) -> None:
        self.norms: list[tuple[float | None, float | None]] = []
        self.passes = 0
        self.compute = ""
        self.reduced: set[str] = set()
        self._squares: float | None = None
        self._replicas = 1

    def layer(self, model: nn.Module) -> None:
        """Count the passes through the first layer of a model, and note the precision that it computes in; call it before an engine wraps the model.

        They are counted at its first linear module: what recomputes a layer may leave out the layer's own hooks.
        """
        layer = next(module[0] for module in model.modules() if isinstance(module, nn.ModuleList) and len(module))
        linear = next((module for module in layer.modules() if isinstance(module, nn.Linear)), layer)
        linear.register_forward_pre_hook(self._passed)
        linear.register_forward_hook(self._computed)

    def _passed(self, linear: nn.Module, _: Any) -> None:
        self.passes += linear.training

    def _computed(self, linear: nn.Module, _: Any, output: Any) -> None:
        if linear.training and isinstance(output, torch.Tensor):
            self.compute = str(output.dtype).removeprefix("torch.")

    def optimizer(self, optimizer: torch.optim.Optimizer, replicas: int) -> None:
        """See the gradients that an optimizer steps with; ``replicas``: how many ranks hold the same part of them."""
        self._replicas = replicas
        optimizer.register_step_pre_hook(self._stepped)

    def _stepped(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        gradients = [parameter.grad for group in optimizer.param_groups for parameter in group["params"] if parameter.grad is not None]
        local = [gradient.to_local() if hasattr(gradient, "to_local") else gradient for gradient in gradients]
        self._squares = (self._squares or 0.0) + sum(float(gradient.detach().float().pow(2).sum()) for gradient in local)

    def begin_step(self) -> None:
        self._squares = None

    def end_step(self, before: float | None) -> None:
        """``before``: the norm before clipping, by the engine's own word."""
        seen = torch.tensor([self._squares or 0.0, float(self._squares is not None)], dtype=torch.float64)
        dist.all_reduce(seen.to("cuda") if dist.get_backend() == "nccl" else seen)
        after = float((seen[0] / self._replicas) ** 0.5) if seen[1] else None
        self.norms.append((before, after))

    def counted(self, micro_batches: int) -> dict[str, Any]:
        """What was counted in the training passes of ``micro_batches``."""
        return {"passes": self.passes / micro_batches, "compute": self.compute, "reductions": sorted(self.reduced)}

    def reductions(self) -> None:
        """Note the precision of what is summed over the ranks from now on; before an engine takes torch's functions for its own."""
        for name, position in REDUCTIONS.items():
            if (function := getattr(dist, name, None)) is not None:
                setattr(dist, name, self._watched(function, position))

    def _watched(self, function: Any, position: int) -> Any:
        def watched(*arguments: Any, **named: Any) -> Any:
            given = arguments[position] if len(arguments) > position else next(iter(named.values()), None)
            tensor = given[0] if isinstance(given, list) and given else given
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel() >= LEAST:
                self.reduced.add(str(tensor.dtype).removeprefix("torch."))
            return function(*arguments, **named)

        return watched
