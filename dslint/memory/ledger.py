"""What a run needs of GPU, host, NVMe and disk: items, their sums over time, and whether the machine has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from dslint.memory.activations import activations_of
from dslint.memory.counts import counts_of
from dslint.memory.items import ALWAYS, PHASES, Item, Phase, Place
from dslint.memory.machine import Machine
from dslint.memory.model import Model
from dslint.memory.run import Run
from dslint.memory.states import states_of

Verdict: TypeAlias = Literal["fits", "tight", "does not fit", "unknown"]
# what a CUDA process takes before its first tensor, and what NCCL takes for its channels; both differ by driver and GPU
CONTEXT, NCCL = 500 << 20, 400 << 20
MARGIN = 0.05
ORDER: tuple[Verdict, ...] = ("unknown", "fits", "tight", "does not fit")


class Account(NamedTuple):
    """One place: its items, their sum in each phase, and what the machine has of it (None: not known)."""

    place: Place
    items: tuple[Item, ...]
    sums: dict[Phase, int]
    capacity: int | None

    @property
    def peak(self) -> int:
        return max(self.sums.values(), default=0)

    @property
    def peak_phase(self) -> Phase:
        return max(self.sums, key=lambda phase: self.sums[phase])

    @property
    def least(self) -> int:
        """The peak without what is only estimated."""
        return max(_sums(item for item in self.items if not item.estimate).values(), default=0)

    @property
    def verdict(self) -> Verdict:
        if self.capacity is None:
            return "unknown"
        if self.least > self.capacity:
            return "does not fit"
        return "tight" if self.peak > self.capacity else "fits"


class Ledger(NamedTuple):
    """The accounts of one run: one GPU rank, one host, its NVMe, the disk."""

    run: Run
    model: Model
    accounts: tuple[Account, ...]

    @property
    def verdict(self) -> Verdict:
        return max((account.verdict for account in self.accounts), key=ORDER.index)

    def account(self, place: Place) -> Account:
        return next(account for account in self.accounts if account.place == place)


def ledger_of(run: Run, model: Model, machine: Machine) -> Ledger:
    """What a run of a model needs on a machine."""
    items = list(_items(run, model))
    capacities = {"gpu": machine.gpu_bytes, "host": machine.host_bytes, "nvme": machine.nvme_bytes, "disk": None}
    places: tuple[Place, ...] = ("gpu", "host", "nvme", "disk")
    accounts = []
    for place in places:
        own = tuple(item for item in items if item.place == place and item.bytes)
        if own or place == "gpu":
            accounts.append(Account(place, own, _sums(own), capacities[place]))
    return Ledger(run, model, tuple(accounts))


def _sums(items: Iterator[Item] | tuple[Item, ...]) -> dict[Phase, int]:
    sums = dict.fromkeys(PHASES, 0)
    for item in items:
        for phase in item.phases:
            sums[phase] += item.bytes
    return sums


def _items(run: Run, model: Model) -> Iterator[Item]:
    counts = counts_of(run, model)
    tensors = [*states_of(run, counts), *activations_of(run, model)]
    yield from tensors
    yield Item("CUDA context", CONTEXT, "gpu", ALWAYS, "about 0.5 GiB", "nvidia-smi of an idle process", estimate=True)
    if run.world > 1:
        yield Item("NCCL buffers", NCCL, "gpu", ALWAYS, "about 0.4 GiB", "nccl: NCCL_BUFFSIZE × channels", estimate=True)
    peak = max(_sums(item for item in tensors if item.place == "gpu").values())
    yield Item(
        "fragmentation margin",
        round(MARGIN * peak),
        "gpu",
        ("forward", "backward", "step"),
        f"{MARGIN:.0%} of the largest sum",
        "c10/cuda/CUDACachingAllocator.cpp: blocks that are too small are kept",
        estimate=True,
    )
