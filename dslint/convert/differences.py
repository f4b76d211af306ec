"""What two runs would train differently, whatever frameworks their files are for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dslint.convert.run import Run
from dslint.formats import accelerate, axolotl, deepspeed, llamafactory, trainer
from dslint.plan import Statement
from dslint.schema.missing import MISSING

OF_FSDP = frozenset(
    [
        "engine.kind", "engine.fsdp_version", "engine.sharding", "engine.offload_optimizer", "engine.offload_parameters", "engine.wrap_policy",
        "engine.wrap_classes", "engine.wrap_size", "engine.activation_checkpointing",
    ]
)  # fmt: skip
OF_TRAINER = (
    frozenset(
        {*trainer.NAMES.values(), *trainer.WRITTEN.values(), "optimizer.betas", "adapter.type", "load.bits", "checkpointing.reentrant"}
    )
    | OF_FSDP
)
# the names that each format has words for
SPEAKS: dict[str, frozenset[str]] = {
    "deepspeed": frozenset({*deepspeed.NAMES.values(), "engine.kind"}),
    "accelerate": OF_FSDP
    | frozenset(
        {*accelerate.NAMES.values(), *accelerate.OF_DEEPSPEED.values(), *accelerate.PARALLEL.values(), "precision.bf16", "precision.fp16"}
    ),
    "fsdp": OF_FSDP,
    "trainer": OF_TRAINER,
    "axolotl": OF_FSDP
    | frozenset({*axolotl.NAMES.values(), "optimizer.betas", "precision.bf16", "checkpointing.on", "load.bits", "train.task", "data.sets"}),
    "llamafactory": OF_FSDP
    | frozenset(
        {
            *llamafactory.NAMES.values(),
            "optimizer.betas",
            "schedule.warmup_steps",
            "train.task",
            "adapter.type",
            "adapter.targets",
            "checkpointing.on",
        }
    ),
}
# what changes no weight
QUIET = frozenset(
    [
        "train.output",
        "train.logging_steps",
        "engine.config",
        "engine.gather_on_save",
        "resume",
        "batch.eval_micro",
        "precision.mixed",
        "engine.wrap_policy",
    ]
)
QUIET_SUBJECTS = ("save", "eval", "launch")
# one optimizer under several names
ALIKE = {"adamw_torch_fused": "adamw_torch", "adamw_hf": "adamw_torch", "adamw_apex_fused": "adamw_torch", "lion": "lion_32bit"}
# names that mean nothing more where both runs say the same of another
SETTLED_BY = {
    "schedule.warmup_ratio": ("schedule.warmup_steps",),
    "schedule.epochs": ("schedule.steps",),
    "schedule.max_lr": ("optimizer.lr",),
}
OFF: tuple[Any, ...] = (MISSING, None, False, "none", "no", "full", 0, -1, [], "")


class Difference(NamedTuple):
    """``one`` and ``other`` are MISSING where that run says nothing, though it could; the statements say where each is written."""

    name: str
    one: Any
    other: Any
    one_said: Statement | None
    other_said: Statement | None


def differences(one: Run, other: Run) -> Iterator[Difference]:
    """By name of the Plan, of those that both runs' formats have words for."""
    both = _speaks(one) & _speaks(other)
    for name in sorted(both):
        if name in QUIET or name.split(".")[0] in QUIET_SUBJECTS:
            continue
        ours, theirs = one.get(name), other.get(name)
        if any(one.get(better, 0) and one.get(better) == other.get(better) for better in SETTLED_BY.get(name, ())):
            continue
        if not alike(name, ours, theirs):
            yield Difference(name, ours, theirs, one.statements.get(name), other.statements.get(name))


def alike(name: str, one: Any, other: Any) -> bool:
    """Do two values of a name train the same?"""
    if _is_off(name, one) and _is_off(name, other):
        return True
    if name == "engine.wrap_policy":
        return {one, other} <= {"transformer", MISSING} or bool(one == other)
    if name == "optimizer.type":
        return ALIKE.get(str(one), str(one)) == ALIKE.get(str(other), str(other))
    if name in ("adapter.targets", "engine.wrap_classes") and isinstance(one, list) and isinstance(other, list):
        return sorted(map(str, one)) == sorted(map(str, other))
    return bool(one == other)


def _is_off(name: str, value: Any) -> bool:
    if isinstance(value, float) and value == 0.0:
        return True
    return any(value is off or (type(value) is type(off) and value == off) for off in OFF) or (value == 1 and name.startswith("parallel."))


def _speaks(run: Run) -> frozenset[str]:
    return frozenset().union(*(SPEAKS.get(config.form.name, frozenset()) for config in run.family.configs))
