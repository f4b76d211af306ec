"""The machine that a run is meant for, from facts of the launch."""

from __future__ import annotations

from typing import NamedTuple

from dslint.engine.facts import Facts
from dslint.hardware import usable_bytes

GB = 10**9


class Machine(NamedTuple):
    """Bytes of one GPU that a process can have, of one host, of its NVMe; None where it is not known."""

    gpu: str
    world: int | None
    per_node: int | None
    gpu_bytes: int | None
    host_bytes: int | None
    nvme_bytes: int | None


def machine_of(facts: Facts) -> Machine:
    """The machine that facts describe."""

    def number(name: str) -> float | None:
        value = facts.get(name)
        return float(value) if isinstance(value, (int, float)) else None

    def whole(name: str) -> int | None:
        value = number(name)
        return None if value is None else int(value)

    def size(name: str) -> int | None:
        value = number(name)
        return None if value is None else round(value * GB)

    name, memory = facts.get("gpu_name"), number("gpu_memory_gb")
    return Machine(
        str(name) if name is not None else "",
        whole("world_size"),
        whole("gpus_per_node") or whole("num_gpus"),
        None if memory is None else usable_bytes(str(name or ""), memory),
        size("host_ram_gb"),
        size("nvme_gb"),
    )
