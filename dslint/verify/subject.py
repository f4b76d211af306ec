"""What a verification is of: the files of one launch, in the form that the engine's road needs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from collections.abc import Mapping as ReadOnly
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from dslint.document import Mapping, to_python
from dslint.schema.missing import MISSING
from dslint.verify.fill import fill

if TYPE_CHECKING:
    from dslint.engine.config import Config
    from dslint.engine.family import Family

Plan: TypeAlias = ReadOnly[str, Any]
Road = Literal["deepspeed", "trainer", "accelerate", "fsdp"]
# formats whose files a training run reads
TRAINED = ("deepspeed", "trainer", "axolotl", "llamafactory", "accelerate", "fsdp")


class Subject(NamedTuple):
    """``road``: the engine's module. ``arguments``: those of the Trainer, as written or as the Plan says. ``deepspeed``: its config, as
    written. ``launcher``: Accelerate's file. ``plan``: the run's values by the Plan's names, without what only a model says. ``stated``: names that a file says itself.
    ``text``: of a DeepSpeed config that stands for itself.
    """

    name: str
    road: Road
    form: str
    deepspeed: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None
    launcher: dict[str, Any] | None = None
    plan: Plan = MappingProxyType({})
    stated: frozenset[str] = frozenset()
    context: Literal["native", "hf"] | None = None
    world_size: int | None = None
    text: str | None = None


def of_config(
    config: dict[str, Any], context: Literal["native", "hf"] | None, name: str, world_size: int | None, text: str | None
) -> Subject:
    """A DeepSpeed config that stands for itself; read by the HF integration where nobody says who reads it and there is an "auto" that it fills."""
    reader = context or ("hf" if fill(config, 1)[1] else "native")
    road: Road = "trainer" if reader == "hf" else "deepspeed"
    return Subject(
        name, road, "deepspeed", copy.deepcopy(config), {} if road == "trainer" else None, None, {}, frozenset(), reader, world_size, text
    )


def of_family(family: Family, world_size: int | None) -> Subject | None:
    """The launch that a family of files describes; None where no file of it is one of a training run."""
    roots = [root for root in family.roots if root.form.name in TRAINED and isinstance(root.document.root, Mapping)]
    if not roots:
        return None
    main = min(roots, key=lambda root: TRAINED.index(root.form.name))
    config = _deepspeed(family)
    if main.form.name == "deepspeed":
        return of_config(_plain(main), main.context, main.document.file, world_size, main.document.text)
    plan, stated = _said(family)
    launchers = [root for root in roots if root.form.name == "accelerate"]
    launcher = _plain(launchers[0]) if launchers else None
    arguments = None
    if main.form.name == "trainer":
        arguments = _plain(main)
    elif main.form.name in ("axolotl", "llamafactory"):
        arguments = dict(_arguments(plan))
    sharded = plan.get("engine.kind") == "fsdp" or (main.form.name == "fsdp")
    if main.form.name == "accelerate" and not sharded and plan.get("engine.kind") != "deepspeed":
        # plain data parallelism: what the launcher sets is the precision, and the Trainer goes the same way
        arguments = dict(_arguments(plan)) | {kind: plan.get("precision.mixed") == kind for kind in ("bf16", "fp16")}
        launcher = None
    road: Road = "fsdp" if sharded else "accelerate" if main.form.name == "accelerate" and arguments is None else "trainer"
    text = config.document.text if config is not None and not config.mount else None
    found = _plain(config) if config is not None else None
    return Subject(main.document.file, road, main.form.name, found, arguments, launcher, plan, stated, "hf", world_size, text)


def _plain(config: Config) -> dict[str, Any]:
    plain = to_python(config.resolved.root)
    assert isinstance(plain, dict)
    return plain


def _deepspeed(family: Family) -> Config | None:
    return next((config for config in family.configs if config.form.name == "deepspeed"), None)


def _said(family: Family) -> tuple[dict[str, Any], frozenset[str]]:
    """Every value of the run, and the names of those that a file or the command line says."""
    plan = family.plan
    values, stated = {}, set()
    for name in plan:
        statement = plan.statement(name)
        if statement is not None and statement.value is not MISSING:
            values[name] = statement.value
            if statement.origin in ("written", "override"):
                stated.add(name)
    return values, frozenset(stated)


# name of the Plan -> argument of the Trainer, for files of tools that build the Trainer themselves
ARGUMENTS = {
    "batch.micro": "per_device_train_batch_size",
    "batch.accumulation": "gradient_accumulation_steps",
    "optimizer.type": "optim",
    "optimizer.lr": "learning_rate",
    "optimizer.eps": "adam_epsilon",
    "optimizer.weight_decay": "weight_decay",
    "optimizer.clipping": "max_grad_norm",
    "schedule.type": "lr_scheduler_type",
    "schedule.steps": "max_steps",
    "precision.bf16": "bf16",
    "precision.fp16": "fp16",
    "checkpointing.on": "gradient_checkpointing",
    "save.only_model": "save_only_model",
}


def _arguments(plan: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, argument in ARGUMENTS.items():
        if name in plan and plan[name] is not None and plan[name] != "auto":
            yield argument, plan[name]
    if isinstance(betas := plan.get("optimizer.betas"), list) and len(betas) == 2 and None not in betas:
        yield "adam_beta1", betas[0]
        yield "adam_beta2", betas[1]
    warmup = plan.get("schedule.warmup_steps") or plan.get("schedule.warmup_ratio")
    if warmup:
        yield "warmup_steps", warmup
