"""GPUs by name: what their memory and compute capability are, as their makers' data sheets and the CUDA documentation say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from dslint.engine.facts import Value
from dslint.faults import Fault
from dslint.nearest import did_you_mean


class Gpu(NamedTuple):
    """``memories``: the sizes it is sold with, in GB. ``capability``: None where it is no CUDA device."""

    memories: tuple[int, ...]
    capability: float | None


GPUS: Mapping[str, Gpu] = {
    "K80": Gpu((12,), 3.7),
    "M40": Gpu((12, 24), 5.2),
    "M60": Gpu((8,), 5.2),
    "P100": Gpu((12, 16), 6.0),
    "P4": Gpu((8,), 6.1),
    "P40": Gpu((24,), 6.1),
    "GTX1060": Gpu((3, 6), 6.1),
    "GTX1070": Gpu((8,), 6.1),
    "GTX1070TI": Gpu((8,), 6.1),
    "GTX1080": Gpu((8,), 6.1),
    "GTX1080TI": Gpu((11,), 6.1),
    "TITANXP": Gpu((12,), 6.1),
    "V100": Gpu((16, 32), 7.0),
    "V100S": Gpu((32,), 7.0),
    "GV100": Gpu((32,), 7.0),
    "TITANV": Gpu((12,), 7.0),
    "T4": Gpu((16,), 7.5),
    "T4G": Gpu((16,), 7.5),
    "GTX1650": Gpu((4,), 7.5),
    "GTX1660": Gpu((6,), 7.5),
    "RTX2060": Gpu((6, 12), 7.5),
    "RTX2070": Gpu((8,), 7.5),
    "RTX2080": Gpu((8,), 7.5),
    "RTX2080TI": Gpu((11,), 7.5),
    "TITANRTX": Gpu((24,), 7.5),
    "RTX6000": Gpu((24,), 7.5),
    "RTX8000": Gpu((48,), 7.5),
    "A100": Gpu((40, 80), 8.0),
    "A800": Gpu((40, 80), 8.0),
    "A30": Gpu((24,), 8.0),
    "A10": Gpu((24,), 8.6),
    "A10G": Gpu((24,), 8.6),
    "A16": Gpu((16,), 8.6),
    "A40": Gpu((48,), 8.6),
    "A6000": Gpu((48,), 8.6),
    "RTX3060": Gpu((8, 12), 8.6),
    "RTX3080": Gpu((10, 12), 8.6),
    "RTX3090": Gpu((24,), 8.6),
    "L4": Gpu((24,), 8.9),
    "L40": Gpu((48,), 8.9),
    "L40S": Gpu((48,), 8.9),
    "RTX6000ADA": Gpu((48,), 8.9),
    "RTX4080": Gpu((16,), 8.9),
    "RTX4090": Gpu((24,), 8.9),
    "H20": Gpu((96, 141), 9.0),
    "H100": Gpu((80, 94), 9.0),
    "H800": Gpu((80,), 9.0),
    "GH200": Gpu((96, 144), 9.0),
    "H200": Gpu((141,), 9.0),
    "B200": Gpu((180, 192), 10.0),
    "GB200": Gpu((186,), 10.0),
    "RTX5090": Gpu((32,), 12.0),
    "RTXPRO6000": Gpu((96,), 12.0),
    "MI210": Gpu((64,), None),
    "MI250": Gpu((128,), None),
    "MI250X": Gpu((128,), None),
    "MI300X": Gpu((192,), None),
    "MI325X": Gpu((256,), None),
}
MEMORY = r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)\s*(?:G|GB|GIB)(?![A-Z])"


def known_of(name: str) -> dict[str, Value]:
    """What a GPU's name (as the driver writes it, or short) tells of memory and capability; nothing for a name that is not known."""
    plain = name.upper()
    words = re.sub(r"[^A-Z0-9]+", " ", plain).split()
    joined = ["".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, start + 4)]
    model = max((word for word in joined if word in GPUS), key=len, default=None)
    if model is None:
        return {}
    gpu, written = GPUS[model], re.search(MEMORY, plain)
    facts: dict[str, Value] = {} if gpu.capability is None else {"cuda_capability": gpu.capability}
    if written:
        facts["gpu_memory_gb"] = float(written.group(1))
    elif len(gpu.memories) == 1:
        facts["gpu_memory_gb"] = float(gpu.memories[0])
    return facts


def facts_of(text: str) -> dict[str, Value]:
    """The facts behind ``--gpu``: a name such as A100-80GB, or the memory alone (80). Raises Fault."""
    plain = text.strip()
    if match := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(?:g|gb|gib)?", plain, re.IGNORECASE):
        if not float(match.group(1)):
            raise Fault("--gpu 0: a GPU has more memory than none; write its GB, for example --gpu 80")
        return {"gpu_memory_gb": float(match.group(1))}
    known = known_of(plain)
    if not known:
        model = re.split(r"[-_ ]*[0-9]+\s*g(?:i?b)?$", plain, flags=re.IGNORECASE)[0]
        raise Fault(
            f"--gpu {text}: unknown GPU{did_you_mean(model, GPUS)}; write a name such as A100-80GB, H100 or RTX4090, "
            "or the memory in GB (--gpu 80)"
        )
    return {"gpu_name": plain, **known}
