"""DeepSpeed's optimizer kernels in plain torch, for machines on which the real ones would have to be compiled first.

Each class stands for a compiled extension and has its functions; the optimizers around it (FusedAdam, DeepSpeedCPUAdam, …)
are the real ones. The calls are those of deepspeed/ops/adam, ops/lion and ops/adagrad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
WOULD_COMPILE = "dslint compiles no extension"


def adam(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    step: int,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
    *,
    correct: bool,
    decoupled: bool,
) -> None:
    """One step of Adam, or of AdamW when the decay is decoupled, in place."""
    gradient = gradient.float()
    if decay and not decoupled:
        gradient = gradient + decay * parameter.float()
    mean.copy_(beta1 * mean.float() + (1 - beta1) * gradient)
    square.copy_(beta2 * square.float() + (1 - beta2) * gradient * gradient)
    first, second = (1 - beta1**step, 1 - beta2**step) if correct else (1.0, 1.0)
    update = (mean.float() / first) / ((square.float() / second).sqrt() + epsilon)
    if decay and decoupled:
        update = update + decay * parameter.float()
    parameter.copy_(parameter.float() - rate * update)


def lion(parameter: Tensor, gradient: Tensor, mean: Tensor, rate: float, beta1: float, beta2: float, decay: float) -> None:
    """One step of Lion in place."""
    gradient = gradient.float()
    direction = (beta1 * mean.float() + (1 - beta1) * gradient).sign()
    parameter.copy_(parameter.float() * (1 - rate * decay) - rate * direction)
    mean.copy_(beta2 * mean.float() + (1 - beta2) * gradient)


def adagrad(parameter: Tensor, gradient: Tensor, square: Tensor, rate: float, epsilon: float, decay: float) -> None:
    """One step of Adagrad in place."""
    gradient = gradient.float() + decay * parameter.float()
    square.copy_(square.float() + gradient * gradient)
    parameter.copy_(parameter.float() - rate * gradient / (square.float().sqrt() + epsilon))


class Kernel:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{WOULD_COMPILE}: {type(self).__name__}.{name} has nothing to stand for it")


class FusedAdam(Kernel):
    @staticmethod
    def multi_tensor_adam(
        chunk: int, flag: Tensor, lists: list[list[Tensor]], rate: float, beta1: float, beta2: float, epsilon: float,
        step: int, mode: int, correct: int, decay: float,
    ) -> None:  # fmt: skip
        for gradient, parameter, mean, square in zip(*lists, strict=True):
            adam(
                parameter.data, gradient, mean, square, step, rate, beta1, beta2, epsilon, decay,
                correct=bool(correct), decoupled=mode == 1,
            )  # fmt: skip


class CPUAdam(Kernel):
    def __init__(self) -> None:
        self.decoupled: dict[int, bool] = {}

    def create_adam(
        self, key: int, rate: float, beta1: float, beta2: float, epsilon: float, decay: float, decoupled: bool, log: bool
    ) -> None:
        self.decoupled[key] = decoupled

    def adam_update(
        self, key: int, step: int, rate: float, beta1: float, beta2: float, epsilon: float, decay: float, correct: bool,
        parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor,
    ) -> None:  # fmt: skip
        adam(
            parameter, gradient, mean, square, int(step), rate, beta1, beta2, epsilon, decay,
            correct=bool(correct), decoupled=self.decoupled[key],
        )  # fmt: skip

    def destroy_adam(self, key: int) -> None:
        self.decoupled.pop(key, None)


class FusedLion(Kernel):
    @staticmethod
    def multi_tensor_lion(
        chunk: int, flag: Tensor, lists: list[list[Tensor]], rate: float, beta1: float, beta2: float, step: int, decay: float
    ) -> None:
        for gradient, parameter, mean in zip(*lists, strict=True):
            lion(parameter.data, gradient, mean, rate, beta1, beta2, decay)


class CPULion(Kernel):
    def create_lion(self, *arguments: Any) -> None:
        """The state lives in the caller's tensors."""

    def lion_update(
        self, key: int, step: int, rate: float, beta1: float, beta2: float, decay: float, parameter: Tensor, gradient: Tensor, mean: Tensor
    ) -> None:
        lion(parameter, gradient, mean, rate, beta1, beta2, decay)

    def destroy_lion(self, key: int) -> None:
        """There is nothing to free."""


class CPUAdagrad(Kernel):
    def create_adagrad(self, *arguments: Any) -> None:
        """The state lives in the caller's tensors."""

    def adagrad_update(
        self, key: int, step: int, rate: float, epsilon: float, decay: float, parameter: Tensor, gradient: Tensor, square: Tensor
    ) -> None:
        adagrad(parameter, gradient, square, rate, epsilon, decay)

    def destroy_adagrad(self, key: int) -> None:
        """There is nothing to free."""


# name of DeepSpeed's op -> what stands for it
KERNELS: dict[str, Callable[[], Any]] = {
    "fused_adam": FusedAdam,
    "cpu_adam": CPUAdam,
    "fused_lion": FusedLion,
    "cpu_lion": CPULion,
    "cpu_adagrad": CPUAdagrad,
}
