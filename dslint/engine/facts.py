"""What is known of the hardware and the launch. An unknown fact silences the rules that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = int | float | str

# variable of the launch -> fact, its type and unit
VARIABLES: dict[str, tuple[str, type]] = {
    "WORLD_SIZE": ("world_size", int),
    "NUM_GPUS": ("num_gpus", int),
    "GPUS_PER_NODE": ("gpus_per_node", int),
    "NUM_NODES": ("num_nodes", int),
    "GPU_NAME": ("gpu_name", str),
    "GPU_MEM_GB": ("gpu_memory_gb", float),
    "HOST_RAM_GB": ("host_ram_gb", float),
    "NVME_GB": ("nvme_gb", float),
    "CUDA_CAPABILITY": ("cuda_capability", float),
    "MEMLOCK_KB": ("memlock_kb", float),
    "DEV_SHM_MB": ("dev_shm_mb", float),
    "DRIVER_VERSION": ("driver_version", str),
    "LAUNCHER": ("launcher", str),
}
NAMES = tuple(name for name, _ in VARIABLES.values())
# what a limit is called where there is none (ulimit)
UNLIMITED = frozenset({"unlimited", "infinity", "inf", "-1"})
# facts of which there may be none at all
MAY_BE_ZERO = frozenset({"num_gpus", "memlock_kb", "dev_shm_mb"})


def sound(name: str, value: Value) -> bool:
    """Can this be the value of that fact? A number is finite and above zero, save where there may be none, and where a limit may be without."""
    if isinstance(value, str):
        return True
    return (0 <= value < float("inf") and (value > 0 or name in MAY_BE_ZERO)) or (name == "memlock_kb" and value == float("inf"))


@dataclass(frozen=True, slots=True)
class Facts:
    """``values``: facts by name. ``env``: every variable of the launch, as written."""

    values: Mapping[str, Value] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Facts:
        """Facts from variables of a launch.

        Raises ValueError, naming the variable, when a number is expected and something else stands there.
        """
        values: dict[str, Value] = {}
        for variable, (name, kind) in VARIABLES.items():
            if not (text := env.get(variable, "").strip()):
                continue
            expected = "a whole number" if kind is int else "a number"
            try:
                values[name] = float("inf") if name == "memlock_kb" and text.lower() in UNLIMITED else kind(text)
            except ValueError:
                raise ValueError(f"{variable} must be {expected}, not {text!r}") from None
            if not sound(name, values[name]):
                raise ValueError(f"{variable} must be {expected} {'of 0 or more' if name in MAY_BE_ZERO else 'above 0'}, not {text!r}")
        return cls(values, dict(env))

    def merged(self, other: Facts) -> Facts:
        """These facts with the other's put over them."""
        return Facts({**self.values, **other.values}, {**self.env, **other.env})

    def get(self, name: str) -> Value | None:
        """A fact, or what follows from the others, or None.

        One launched GPU count without a world size is the world of a single node.
        """
        values = self.values
        if name in values:
            return values[name]
        if name == "world_size":
            per_node = values.get("gpus_per_node", values.get("num_gpus"))
            nodes = values.get("num_nodes")
            if nodes is not None and per_node is not None:
                return int(nodes) * int(per_node)
            return values.get("num_gpus") or None if nodes is None and "gpus_per_node" not in values else None
        return None
