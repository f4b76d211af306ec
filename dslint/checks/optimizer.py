"""Optimizer types and parameters by the class that DeepSpeed really builds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View
from dslint.schema.missing import MISSING
from dslint.schema.suggest import suggest

# DeepSpeed's own, by name in any case (runtime/config.py: DEEPSPEED_OPTIMIZERS)
OWN = {
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "Lamb",
    "muadam": "MuAdam",
    "muadamw": "MuAdamW",
    "musgd": "MuSGD",
    "lion": "Lion",
}
ONE_BIT = {"onebitadam": "OneBitAdam", "zerooneadam": "ZeroOneAdam", "onebitlamb": "OneBitLamb"}
ONE_BIT_REMOVED = (0, 19, 7)
MUON_SINCE = (0, 17, 6)
# classes of torch.optim, by exact name (torch 2.13)
TORCH = frozenset(
    [
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adam",
        "AdamW",
        "SparseAdam",
        "Adamax",
        "ASGD",
        "LBFGS",
        "Muon",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
        "SGD",
        "Optimizer",
    ]
)
# runtime/zero/utils.py: ZERO_SUPPORTED_OPTIMIZERS
ZERO_TESTED = frozenset({"adam", "adamw", "adagrad", "lion", "muon"})

ADAM_COMMON = frozenset({"lr", "betas", "eps", "weight_decay", "amsgrad", "adam_w_mode", "torch_adam", "max_grad_norm"})
ADAM_CLASSES = {
    "torch.optim.AdamW": ADAM_COMMON | {"foreach", "maximize", "capturable", "differentiable", "fused"},
    "DeepSpeedCPUAdam": ADAM_COMMON | {"bias_correction"},
    "FusedAdam": ADAM_COMMON | {"bias_correction", "set_grad_none"},
}
POPPED_SINCE = (0, 19, 0)  # fp32_optimizer_states is taken out before any class is built


# what the Trainer and DeepSpeed's own classes call them, lower-cased
OTHER_NAMES = {
    "fusedadam": "Adam",
    "cpuadam": "Adam",
    "cpu_adam": "Adam",
    "deepspeedcpuadam": "Adam",
    "adamw_torch": "AdamW",
    "adamw_torch_fused": "AdamW",
    "adamw_apex_fused": "AdamW",
    "adamw_hf": "AdamW",
    "fusedlamb": "Lamb",
    "fusedlion": "Lion",
    "deepspeedcpulion": "Lion",
    "deepspeedcpuadagrad": "Adagrad",
}


def own_optimizers(view: View) -> dict[str, str]:
    """DeepSpeed's own optimizers of the target version: lower-cased name -> name."""
    known = dict(OWN)
    if view.version >= MUON_SINCE:
        known["muon"] = "Muon"
    return known | ONE_BIT if view.version < ONE_BIT_REMOVED else known


@check("optimizer-type")
def optimizer_type(view: View) -> Iterator[Finding]:
    written = view.get("optimizer.type")
    if not isinstance(written, str):
        return
    own = own_optimizers(view)
    version = ".".join(map(str, view.version))
    if written.lower() == "muon" and view.version < MUON_SINCE:
        hint = "; DeepSpeed's Muon came with 0.17.6, and torch's own takes a model of matrices only"
        yield Finding("optimizer.type", {"hint": hint, "version": version})
        return
    if written.lower() in own or written in TORCH:
        return
    if written.lower() in ONE_BIT:
        base = "Lamb" if "lamb" in written.lower() else "Adam"
        hint = f"; the 1-bit optimizers were removed in 0.19.7, use {base}"
        yield Finding("optimizer.type", {"hint": hint, "version": version}, fixes=_write(view, base))
        return
    if "8bit" in written.lower().replace("_", "") or "paged" in written.lower():
        hint = "; 8-bit and paged optimizers are made in the script or by the Trainer's optim, without an optimizer block here"
        yield Finding("optimizer.type", {"hint": hint, "version": version})
        return
    near = OTHER_NAMES.get(written.lower()) or suggest(written, [*own.values(), *sorted(TORCH - {"Optimizer"})]) or _contained(written, own)
    hint = f"; did you mean {near}?" if near else ""
    yield Finding("optimizer.type", {"hint": hint, "version": version}, fixes=_write(view, near) if near else ())


def _contained(written: str, own: dict[str, str]) -> str | None:
    """``torch_adam`` and ``DeepSpeed_Adam`` name Adam."""
    return own.get(written.lower().replace("-", "_").rpartition("_")[2])


def _write(view: View, name: str) -> tuple[Fix, ...]:
    return (Fix(f"write {name}", "unsafe", (Change("set", view.path("optimizer.type"), name),)),)


@check("untested-zero-optimizer")
def untested_zero_optimizer(view: View) -> Iterator[Finding]:
    written, stage = view.get("optimizer.type"), view.get("zero_optimization.stage")
    allowed = view.raw("zero_allow_untested_optimizer")  # anything that counts as true allows it
    if not isinstance(written, str) or stage not in (1, 2, 3) or (allowed is not MISSING and allowed):
        return
    if written.lower() in own_optimizers(view).keys() - ONE_BIT.keys() - ZERO_TESTED or (
        written in TORCH and written.lower() not in ZERO_TESTED
    ):
        yield Finding("optimizer.type")


@check("optimizer-parameter-of-another-class")
def optimizer_parameter_of_another_class(view: View) -> Iterator[Finding]:
    written = view.get("optimizer.type")
    if not isinstance(written, str) or written.lower() not in ("adam", "adamw"):
        return
    built = "torch.optim.AdamW" if view.on("optimizer.params.torch_adam") else "DeepSpeedCPUAdam" if _offloaded(view) else "FusedAdam"
    taken = ADAM_CLASSES[built]
    if view.version >= POPPED_SINCE or (built == "DeepSpeedCPUAdam"):
        taken = taken | {"fp32_optimizer_states"}
    elsewhere = frozenset().union(*ADAM_CLASSES.values(), {"fp32_optimizer_states"})
    for name in view.keys("optimizer.params") or ():
        if name in elsewhere - taken:
            path = f"optimizer.params.{name}"
            fix = Fix(f"remove {name}", "unsafe", (Change("delete", view.path(path)),))
            yield Finding(path, {"parameter": name, "class": built}, fixes=(fix,))


# DeepSpeed schedules that set the learning rate before the first step
SETS_RATE = frozenset({"WarmupLR", "WarmupDecayLR", "OneCycle", "LRRangeTest"})
RATES = ("lr", "muon_lr", "adam_lr")


@check("learning-rate-not-a-number")
def learning_rate_not_a_number(view: View) -> Iterator[Finding]:
    """No number where the learning rate stands; "auto" is another rule's, a gap of a template too."""
    kind = view.get("optimizer.type")
    if not isinstance(kind, str):
        return
    for name in RATES:
        path = f"optimizer.params.{name}"
        written = view.raw(path)
        if written is MISSING or isinstance(written, (int, float)) or view.auto(path) or path in view.resolved.placeholders:
            continue
        unread = name == "lr" and kind.lower() == "muon" and all(view.written(f"optimizer.params.{own}") for own in RATES[1:])
        hidden = unread or (view.get("scheduler.type") in SETS_RATE and not _looked_at_early(view, kind))
        fixes: tuple[Fix, ...] = ()
        if isinstance(written, str):
            with suppress(ValueError):
                fixes = (Fix("write the number", "safe", (Change("set", view.path(path), float(written)),)),)
        saved = "; here muon_lr and adam_lr stand in for it" if unread else "; here only the scheduler hides it" if hidden else ""
        shown = json.dumps(written, ensure_ascii=False)
        yield Finding(path, {"name": name, "written": shown, "saved": saved}, severity="warning" if hidden else "error", fixes=fixes)


def _looked_at_early(view: View, kind: str) -> bool:
    """Does anything use the learning rate before a schedule sets it: torch's classes and those for the CPU when they are built, and the
    first step that fp16 and bf16 make without ZeRO to allocate their states?"""
    without_zero = view.absent("zero_optimization") or view.get("zero_optimization.stage") == 0
    half = view.on("fp16.enabled") or view.on("bf16.enabled")
    return _built_by_torch(view, kind) or _offloaded(view) or (without_zero and half)


def _built_by_torch(view: View, kind: str) -> bool:
    """Does a class of torch.optim take the parameters? Those look at the learning rate when they are built."""
    torchs = kind.lower() not in own_optimizers(view) or (kind.lower() == "adagrad" and not _offloaded(view))
    return torchs or view.on("optimizer.params.torch_adam")


def _offloaded(view: View) -> bool:
    """Do the parameters go to a class for the CPU, whose compiled part takes numbers only?"""
    return view.get("zero_optimization.offload_optimizer.device") in ("cpu", "nvme")


@check("negative-optimizer-parameter")
def negative_optimizer_parameter(view: View) -> Iterator[Finding]:
    kind = view.get("optimizer.type")
    if not isinstance(kind, str):
        return
    own = not _built_by_torch(view, kind)
    for name in ("lr", "eps", "weight_decay", "muon_lr", "adam_lr"):
        value = view.get(f"optimizer.params.{name}")
        if isinstance(value, (int, float)) and value < 0:
            effect = "trains the wrong way" if own else "refuses to start"
            yield Finding(
                f"optimizer.params.{name}", {"name": name, "value": value, "effect": effect}, severity="warning" if own else "error"
            )
