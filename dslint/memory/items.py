"""What a ledger is made of."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Place: TypeAlias = Literal["gpu", "host", "nvme", "disk"]
Phase: TypeAlias = Literal["load", "init", "forward", "backward", "step", "save"]
PHASES: tuple[Phase, ...] = ("load", "init", "forward", "backward", "step", "save")
TRAINING: tuple[Phase, ...] = ("forward", "backward", "step")
# from the engine's start on, to the end
ALWAYS: tuple[Phase, ...] = ("init", "forward", "backward", "step", "save")


class Item(NamedTuple):
    """Something that takes memory: ``bytes`` on one GPU, on one host, on its NVMe, or on disk, as ``place`` says, in these ``phases``.

    ``formula``: how the bytes follow from the run, in words; ``source``: where upstream it is seen. ``estimate``: no formula gives
    it exactly, so that it counts for "tight" and not for "will not fit".
    """

    name: str
    bytes: int
    place: Place
    phases: tuple[Phase, ...]
    formula: str
    source: str
    estimate: bool = False
