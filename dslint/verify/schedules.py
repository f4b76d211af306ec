"""Learning rates of the first steps, as the schedules define them.

Sources: deepspeed/runtime/lr_schedules.py (WarmupLR, WarmupDecayLR, WarmupCosineLR) and transformers/optimization.py (get_scheduler).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dslint.verify.values import number

# schedules of transformers that are known here, by the name of SchedulerType
OF_TRANSFORMERS = ("linear", "cosine", "constant", "constant_with_warmup")


def expected(kind: str, params: Mapping[str, Any], peak: float, steps: int) -> list[float] | None:
    """The rate of each of the first ``steps`` steps, or None where the schedule is not known here. ``peak``: the optimizer's own rate.

    DeepSpeed's are given their ``params``; those of transformers ``warmup`` and ``total``, in optimizer steps.
    """
    if kind in OF_TRANSFORMERS:
        return [peak * _share(kind, params["warmup"], params["total"], step) for step in range(steps)]
    if kind in ("WarmupLR", "WarmupDecayLR"):
        return _warmup(kind, params, peak, steps)
    return None


def _share(kind: str, warmup: int, total: int, step: int) -> float:
    if step < warmup and kind != "constant":
        return step / max(1, warmup)
    progress = (step - warmup) / max(1, total - warmup)
    if kind == "linear":
        return max(0.0, 1 - progress)
    return max(0.0, 0.5 * (1 + math.cos(math.pi * progress))) if kind == "cosine" else 1.0


def _warmup(kind: str, params: Mapping[str, Any], peak: float, steps: int) -> list[float] | None:
    """DeepSpeed's warm-up; the schedule begins with the second step, the first has the lowest rate, too."""
    low = number(params.get("warmup_min_lr", 0.0))
    high = number(params.get("warmup_max_lr", peak if kind == "WarmupLR" else 0.001))
    length = number(params.get("warmup_num_steps", 1000))
    total = number(params.get("total_num_steps"))
    if low is None or high is None or length is None or (kind == "WarmupDecayLR" and total is None):
        return None
    length = max(2, length)
    rates = []
    for step in (0, *range(steps - 1)):
        if step < length:
            share = step / length if params.get("warmup_type", "log") == "linear" else math.log(step + 1) / math.log(length)
        else:
            share = 1.0 if total is None or kind == "WarmupLR" else max(0.0, (total - step) / max(1.0, total - length))
        rates.append(low + (high - low) * share)
    return rates


def constant(rates: Sequence[float]) -> bool:
    return max(rates) - min(rates) <= 1e-9 * max(rates)
