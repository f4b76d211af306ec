"""The errors that this machine and not the config is to blame for, and the nearest thing that can be run instead.

A config is always run as it is first. Only when it fails with an error of this table is something replaced, and the result
says so. Whatever is not here counts as a failure of the config.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dslint.verify.prepare import Prepared
from dslint.verify.values import on, section


@dataclass(frozen=True, slots=True)
class Known:
    """``pattern`` is searched in "Type: message". ``hides``: what is replaced is then not proved, a good end is no pass."""

    pattern: str
    what: str
    why: str
    apply: Callable[[Prepared], Prepared | None]
    hides: bool = False


def _edited(prepared: Prepared, edit: Callable[[dict[str, Any]], bool]) -> Prepared | None:
    """With a changed copy of the config, or None when ``edit`` finds nothing to change."""
    config = copy.deepcopy(prepared.config)
    return replace(prepared, config=config) if edit(config) else None


def _replace(name: str) -> Callable[[Prepared], Prepared | None]:
    def apply(prepared: Prepared) -> Prepared | None:
        return None if name in prepared.replaced else replace(prepared, replaced=(*prepared.replaced, name))

    return apply


def _any_adamw(prepared: Prepared) -> Prepared | None:
    def edit(config: dict[str, Any]) -> bool:
        optimizer = section(config, "optimizer")
        if str(optimizer.get("type")).lower() not in ("lamb", "lion"):
            return False
        params = section(optimizer, "params")
        kept = {name: params[name] for name in ("lr", "weight_decay") if name in params}
        config["optimizer"] = {"type": "AdamW", "params": kept}
        return True

    return _edited(prepared, edit)


def _set(*places: tuple[tuple[str, ...], Any, Callable[[Any], bool]]) -> Callable[[Prepared], Prepared | None]:
    """An edit that puts ``value`` at each path where what is written there satisfies the condition."""

    def edit(config: dict[str, Any]) -> bool:
        changed = False
        for path, value, applies in places:
            holder = section(config, *path[:-1])
            if holder and applies(holder.get(path[-1])):
                holder[path[-1]] = value
                changed = True
        return changed

    return lambda prepared: _edited(prepared, edit)


def _is_nvme(value: Any) -> bool:
    return bool(value == "nvme")


def _not_off(value: Any) -> bool:
    return value is None or on(value)


OFFLOAD_OPTIMIZER = ("zero_optimization", "offload_optimizer")
OFFLOAD_PARAM = ("zero_optimization", "offload_param")
KNOWN = (
    Known(
        r"Type fp16 is not supported on your device",
        "fp16 on the CPU",
        "this CPU has no fp16 kernels of its own; torch computes it all the same",
        _replace("fp16"),
    ),
    *(
        Known(
            rf"compiles no extension: the {name} op",
            f"the {name} kernel in plain torch",
            "DeepSpeed's own would have to be compiled first",
            _replace(name),
        )
        for name in ("fused_adam", "cpu_adam", "fused_lion", "cpu_lion", "cpu_adagrad")
    ),
    Known(
        r"op had not been implemented on CPU",
        "AdamW for the optimizer",
        "its kernel exists for GPUs only",
        _any_adamw,
        hides=True,
    ),
    Known(
        r"async_io|compiles no extension: the pin_memory op",
        "offload to the CPU for offload to NVMe",
        "the async_io op needs libaio and would have to be compiled first",
        _set(((*OFFLOAD_OPTIMIZER, "device"), "cpu", _is_nvme), ((*OFFLOAD_PARAM, "device"), "cpu", _is_nvme)),
        hides=True,
    ),
    Known(
        r"pin_memory|pinned memory|Cannot access accelerator device",
        "pin_memory false",
        "there is no device to pin memory for",
        _set(((*OFFLOAD_OPTIMIZER, "pin_memory"), False, _not_off), ((*OFFLOAD_PARAM, "pin_memory"), False, _not_off)),
    ),
    Known(
        r"CUDA|cuda|implemented on CPU|quantizer|not implemented for 'CPU'|NoneType|has no attribute",
        "ZeRO++ quantisation switched off",
        "it needs CUDA",
        _set(
            *(
                (("zero_optimization", name), False, on)
                for name in ("zero_quantized_weights", "zero_quantized_nontrainable_weights", "zero_quantized_gradients")
            )
        ),
        hides=True,
    ),
    Known(
        r".",
        "SuperOffload switched off",
        "it needs CUDA",
        _set(((*OFFLOAD_OPTIMIZER, "super_offload"), False, on)),
        hides=True,
    ),
    Known(
        r"tensorboard",
        "tensorboard switched off",
        "the package is not installed here",
        _set((("tensorboard", "enabled"), False, on)),
    ),
)

# errors of the machine for which there is nothing nearer to run
HERE_ONLY = re.compile(
    r"\bCUDA\b|\bcuda\b|NCCL|not (been )?implemented (on|for) '?CPU|compiles no extension|Unable to JIT load|No module named|"
    r"No space left|Cannot allocate memory|DefaultCPUAllocator|needs? a GPU|nvcc|triton",
)
# what a rank says when another one has died first
ECHO = re.compile(r"Connection (closed|reset) by peer|gloo|Broken pipe|Socket closed|wait timeout", re.IGNORECASE)


def match(error: str, prepared: Prepared) -> tuple[Known, Prepared] | None:
    """The first known error that this is and whose replacement changes something."""
    for known in KNOWN:
        if re.search(known.pattern, error) and (changed := known.apply(prepared)) is not None:
            return known, changed
    return None


def gpu_only(config: dict[str, Any]) -> list[str]:
    """What of a config a CPU run does not exercise."""
    zero = section(config, "zero_optimization")
    offloads = [section(zero, name) for name in ("offload_optimizer", "offload_param")]
    named = {
        "overlap of communication and computation (streams)": on(zero.get("overlap_comm", zero.get("stage") == 3)),
        "pinned memory": any(on(offload.get("pin_memory")) for offload in offloads),
        "moving states between GPU and host": any(offload.get("device") in ("cpu", "nvme") for offload in offloads),
        "fp16 kernels, and overflow at the real model's scale": on(section(config, "fp16").get("enabled")),
        "torch.compile of the model": on(section(config, "compile").get("deepcompile")),
        "memory and speed": True,
    }
    return [what for what, exercised in named.items() if exercised]
