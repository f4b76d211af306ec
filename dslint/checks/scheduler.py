"""Scheduler types."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View
from dslint.schema.suggest import suggest

OWN = ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle", "LRRangeTest")
# torch.optim.lr_scheduler, torch 2.13
TORCH = frozenset(
    [
        "LambdaLR",
        "MultiplicativeLR",
        "StepLR",
        "MultiStepLR",
        "ConstantLR",
        "LinearLR",
        "ExponentialLR",
        "PolynomialLR",
        "CosineAnnealingLR",
        "ReduceLROnPlateau",
        "CyclicLR",
        "CosineAnnealingWarmRestarts",
        "OneCycleLR",
        "SequentialLR",
        "ChainedScheduler",
        "LRScheduler",
    ]
)
# what sibling frameworks call their schedules -> the nearest of DeepSpeed's
SIBLINGS = {
    "cosine": "WarmupCosineLR",
    "cosine_with_warmup": "WarmupCosineLR",
    "warmupcosine": "WarmupCosineLR",
    "cosinedecaylr": "WarmupCosineLR",
    "linear": "WarmupDecayLR",
    "warmuplinear": "WarmupDecayLR",
    "linear_with_warmup": "WarmupDecayLR",
    "constant_with_warmup": "WarmupLR",
    "warmup": "WarmupLR",
}


@check("scheduler-type")
def scheduler_type(view: View) -> Iterator[Finding]:
    written = view.get("scheduler.type")
    if not isinstance(written, str) or written in OWN or written in TORCH:
        return
    near = SIBLINGS.get(written.lower()) or suggest(written, [*OWN, *sorted(TORCH)]) or _by_word(written.lower())
    fixes = (Fix(f"write {near}", "unsafe", (Change("set", view.path("scheduler.type"), near),)),) if near else ()
    yield Finding("scheduler.type", {"hint": f"; did you mean {near}?" if near else ""}, fixes=fixes)


def _by_word(written: str) -> str | None:
    """What a name such as get_cosine_schedule_with_warmup asks for, by the word for its shape."""
    shapes = {"cosine": "WarmupCosineLR", "linear": "WarmupDecayLR", "constant": "WarmupLR"}
    return next((own for word, own in shapes.items() if word in written), None)


@check("torch-scheduler-with-wrapped-optimizer")
def torch_scheduler_with_wrapped_optimizer(view: View) -> Iterator[Finding]:
    if view.get("scheduler.type") in TORCH and (
        view.get("zero_optimization.stage") in (1, 2, 3) or view.on("fp16.enabled") or view.on("bf16.enabled")
    ):
        yield Finding("scheduler.type")
