"""The training loop that an engine without one of its own goes through, and the checkpoint there and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import torch

from dslint.verify import learning
from dslint.verify.engines.measure import differences
from dslint.verify.engines.watch import Watch

STEPS_AFTER_CHECKPOINT = 2
CHECKPOINT = "checkpoint"


class Trainee(Protocol):
    """A model under an engine, as the loop sees it. ``data_rank``: which part of the batch is this rank's; ``watch``: what its steps are measured by."""

    module: torch.nn.Module
    device: torch.device
    micro_batch: int
    accumulation: int
    data_rank: int
    sequence: int
    vocabulary: int
    watch: Watch

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The loss of a micro-batch."""

    def learn(self, loss: torch.Tensor, last: bool, factor: float) -> None:
        """Backward of ``factor`` times the loss, and after the ``last`` micro-batch the optimizer's step."""

    def training(self, on: bool) -> None:
        """Switch between training and evaluation."""

    def rate(self) -> float:
        """The learning rate of the step to come."""

    def skipped(self) -> int:
        """Steps that the loss scaler has skipped so far."""

    def norm(self) -> float | None:
        """The norm of the last step's gradient before clipping, where the engine tells it."""

    def save(self, folder: str) -> None: ...

    def load(self, folder: str) -> bool:
        """Was there anything to load?"""

    def state(self) -> Iterator[tuple[str, Any]]:
        """All that a checkpoint must bring back, by name."""


def batch(trainee: Trainee) -> list[torch.Tensor]:
    """One batch, the same in every step: a micro-batch for each accumulation step, different on each data-parallel rank."""
    generator = torch.Generator().manual_seed(1000 + trainee.data_rank)
    shape = (trainee.micro_batch, trainee.sequence)
    return [
        torch.randint(trainee.vocabulary, shape, generator=generator).to(trainee.device)
        for _ in range(max(1, trainee.accumulation))  # ZenFlow sets it to 0
    ]


def loss_now(trainee: Trainee, tokens: list[torch.Tensor]) -> float:
    """The loss on the batch, without training."""
    trainee.training(False)
    with torch.no_grad():
        loss = sum(float(trainee.forward(micro)) for micro in tokens) / len(tokens)
    trainee.training(True)
    return loss


def step(trainee: Trainee, tokens: list[torch.Tensor], factor: float = 1.0) -> float:
    """One optimizer step; the mean loss of its micro-batches."""
    total = 0.0
    trainee.watch.begin_step()
    for number, micro in enumerate(tokens, 1):
        loss = trainee.forward(micro)
        trainee.learn(loss, number == len(tokens), factor)
        total += loss.item()
    trainee.watch.end_step(trainee.norm())
    return total / len(tokens)


def train(trainee: Trainee, request: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Optimizer steps until enough were taken with enough learning rate, or ``learning.MOST_STEPS`` are over; then a checkpoint,
    and a few steps more for the loaded run to be compared with.

    A step that the loss scaler skips does not count as taken.
    """
    tokens = batch(trainee)
    losses: list[float] = []
    rates: list[float] = []
    all_rates: list[float] = []
    skipped: list[int] = []
    before = loss_now(trainee, tokens)
    for number in range(learning.MOST_STEPS):
        if len(rates) >= request["steps"] and learning.enough(rates, request["optimizer"]):
            break
        rate, skips = trainee.rate(), trainee.skipped()
        all_rates.append(rate)
        losses.append(step(trainee, tokens))
        if trainee.skipped() > skips:
            skipped.append(number)
        else:
            rates.append(rate)
    after = loss_now(trainee, tokens)
    say("save a checkpoint")
    trainee.save(here(CHECKPOINT))
    torch.save(dict(trainee.state()), here(f"state{request['rank']}.pt"))
    continued = [step(trainee, tokens) for _ in range(STEPS_AFTER_CHECKPOINT)]
    counted = trainee.watch.counted((len(losses) + len(continued)) * len(tokens))
    _probe_clipping(trainee, tokens, request["clipping"])
    return {
        "losses": losses,
        "rates": rates,
        "all_rates": all_rates,
        "skipped": skipped,
        "loss_before": before,
        "loss_after": after,
        "continued": continued,
        **counted,
        "norms": trainee.watch.norms,
    }


def _probe_clipping(trainee: Trainee, tokens: list[torch.Tensor], clipping: float | None) -> None:
    """One more step with a gradient beyond the limit, where none of the run's own was."""
    norms = [before for before, _ in trainee.watch.norms if before is not None]
    if clipping and norms and norms[-1] > 0 and max(norms) <= clipping:
        step(trainee, tokens, 4 * clipping / norms[-1])


def resume(trainee: Trainee, request: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """In a process that began elsewhere: load the checkpoint, name what is not the same in it, and go on for a few steps."""
    say("load the checkpoint")
    loaded = trainee.load(here(CHECKPOINT))
    tokens = batch(trainee)
    saved = here(f"state{request['rank']}.pt")
    same_world = request["phase"] == "resume"
    return {
        "loaded": loaded,
        "differences": differences(torch.load(saved, weights_only=False), dict(trainee.state())) if same_world else [],
        "losses": [step(trainee, tokens) for _ in range(STEPS_AFTER_CHECKPOINT)] if same_world else [loss_now(trainee, tokens)],
    }


def here(name: str) -> str:
    """A place in the scratch directory."""
    return os.path.join(os.getcwd(), name)
