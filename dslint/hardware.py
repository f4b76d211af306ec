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
# GiB that torch reports as a device's total capacity, by name and GB sold, as its out-of-memory messages show them
USABLE: Mapping[tuple[str, int], float] = {
    ("P100", 16): 15.89,
    ("V100", 16): 15.77,
    ("V100", 32): 31.73,
    ("T4", 16): 14.56,
    ("A10", 24): 22.03,
    ("A10G", 24): 21.98,
    ("A40", 48): 44.34,
    ("A6000", 48): 47.40,
    ("A100", 40): 39.38,
    ("A100", 80): 79.14,
    ("L4", 24): 21.95,
    ("L40S", 48): 44.39,
    ("RTX3090", 24): 23.56,
    ("RTX4090", 24): 23.51,
    ("RTX5090", 32): 31.33,
    ("H100", 80): 79.10,
    ("H200", 141): 139.72,
    ("B200", 192): 178.35,
}
# where no message is known: the part of the GB sold, as GiB, that the least of those above has
USABLE_PART = 0.91
GIB = 1 << 30
UNITS: Mapping[str, int] = {"": 10**9, **{unit + end: 1000**power for power, unit in enumerate("KMGT", 1) for end in ("", "B")}}
BINARY: Mapping[str, int] = {unit + "IB": 1024**power for power, unit in enumerate("KMGT", 1)}
COUNT = re.compile(r"\s*(?:([0-9]+)\s*[xX×]\s*)?([0-9]+)\s*[xX×]\s*(?=\S)")
MEMORY = r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)\s*(?:G|GB|GIB)(?![A-Z])"


def usable_bytes(name: str, memory_gb: float) -> int:
    """What a process can have of a GPU's memory (with its CUDA context)."""
    model = _model(name.upper())
    usable = USABLE.get((model or "", round(memory_gb)))
    return round((usable if usable is not None else USABLE_PART * memory_gb) * GIB)


def size_gb(text: str, flag: str) -> float:
    """GB of a size such as 512GiB, 2TiB, 96GB or 512. Raises Fault."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = match.group(2).upper() if match else ""
    bytes_of_unit = {**UNITS, **BINARY}.get(unit)
    if match is None or bytes_of_unit is None or not float(match.group(1)):
        raise Fault(f"{flag} {text}: expected a size above 0, for example 512GiB, 2TiB or 96 (GB)")
    return float(match.group(1)) * bytes_of_unit / 10**9


def _model(plain: str) -> str | None:
    """The longest known name among the words of an upper-case text."""
    words = re.sub(r"[^A-Z0-9]+", " ", plain).split()
    joined = ["".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, start + 4)]
    return max((word for word in joined if word in GPUS), key=len, default=None)


def known_of(name: str) -> dict[str, Value]:
    """What a GPU's name (as the driver writes it, or short) tells of memory and capability; nothing for a name that is not known."""
    plain = name.upper()
    model = _model(plain)
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
    """The facts behind ``--gpu``: a name such as A100-80GB, or the memory alone (80), with 8x for so many on a host, 2x8x for so many hosts. Raises Fault."""
    if (count := COUNT.match(text)) is not None:
        hosts, each = int(count.group(1) or 1), int(count.group(2))
        if not hosts or not each:
            raise Fault(f"--gpu {text}: at least one GPU")
        counted: dict[str, Value] = {"num_gpus": each} if count.group(1) is None else {"gpus_per_node": each, "num_nodes": hosts}
        return {**counted, **facts_of(text[count.end() :])}
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
