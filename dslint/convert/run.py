"""A run in the common tongue: what its files say together, whichever framework they are written for."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from dslint.convert.names import in_common
from dslint.engine.config import Config
from dslint.engine.family import Family
from dslint.plan import Statement
from dslint.schema.missing import MISSING


class Run:
    """``values`` and ``statements`` by name of the Plan: each value in the common tongue, and who says it. ``family``: the files."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.values: dict[str, Any] = {}
        self.statements: dict[str, Statement] = {}
        plan = family.plan
        for name in plan:
            statement = plan.statement(name)
            if statement is None or (name.startswith("model.") and name != "model.path"):
                continue
            self._say(name, in_common(name, statement.form, statement.value), statement)
        self._precision()
        self._adapter()
        self._warmup()
        self._occasions()
        if "optimizer.lr" not in self.values and isinstance(peak := self.get("schedule.max_lr"), (int, float)):
            self._say("optimizer.lr", peak, self.statements["schedule.max_lr"])
        self._sharding()

    def _say(self, name: str, value: Any, statement: Statement) -> None:
        if value is not None and value is not MISSING:
            self.values[name] = value
            self.statements[name] = statement

    def get(self, name: str, default: Any = MISSING) -> Any:
        return self.values.get(name, default)

    def config(self, *formats: str) -> Config | None:
        """The first config of one of these formats."""
        return next((config for config in self.family.configs if config.form.name in formats), None)

    @property
    def world_size(self) -> Any:
        """The ranks that the command line or the settings tell of; MISSING where nothing does."""
        return self.family.roots[0].project.facts.values.get("world_size", MISSING)

    def written(self, name: str) -> bool:
        """Does a file or the command line say it, rather than a default?"""
        return name in self.statements and self.statements[name].origin in ("written", "override")

    def _precision(self) -> None:
        """The launcher's mixed precision holds where no file of the trainer says another (transformers/training_args.py: __post_init__)."""
        mixed = self.statements.get("precision.mixed")
        for kind in ("bf16", "fp16"):
            name = f"precision.{kind}"
            if mixed is not None and not (self.written(name) and self.values[name] is True):
                self._say(name, mixed.value == kind, mixed)
        axolotl = self.config("axolotl")
        if axolotl is not None and "precision.bf16" not in self.values and axolotl.resolved.get("bf16") in ("auto", "full", "true", True):
            # every GPU since Ampere has bfloat16 (axolotl/utils/config/__init__.py: normalize_config)
            origin = "written" if "bf16" in axolotl.resolved.places else "default"
            self._say("precision.bf16", self.get("precision.fp16") is not True, _of(axolotl, "precision.bf16", "bf16", origin))

    def _warmup(self) -> None:
        """A part of all steps in steps, where their number is known (transformers/training_args.py: get_warmup_steps)."""
        ratio, steps = self.get("schedule.warmup_ratio"), self.get("schedule.steps")
        if isinstance(ratio, (int, float)) and ratio and isinstance(steps, int) and steps > 0 and not self.get("schedule.warmup_steps", 0):
            self._say("schedule.warmup_steps", ceil(ratio * steps), self.statements["schedule.warmup_ratio"])

    def _adapter(self) -> None:
        """A LoRA on a model of 4 bits is called QLoRA, whatever the file calls it."""
        if self.get("adapter.type") in ("lora", "qlora") and (bits := self.get("load.bits")) is not MISSING:
            self.values["adapter.type"] = "qlora" if bits == 4 else "lora"

    def _occasions(self) -> None:
        """Axolotl takes a number of steps for the strategy itself (axolotl/utils/schemas/validation.py)."""
        for what in ("save", "eval"):
            if f"{what}.strategy" not in self.values and self.written(f"{what}.steps"):
                self._say(f"{what}.strategy", "steps", self.statements[f"{what}.steps"])

    def _sharding(self) -> None:
        """FSDP's sharding in the words of its first version, whichever key says it."""
        if self.get("engine.kind") == "fsdp" and "engine.sharding" not in self.values:
            again = self.get("engine.reshard_after_forward")
            statement = self.statements.get("engine.reshard_after_forward", self.statements["engine.kind"])
            self._say("engine.sharding", "grad_op" if again is False else "full", statement)


def _of(config: Config, name: str, key: str, origin: Any) -> Statement:
    return Statement(name, None, origin, config.document, config.resolved.path(key), key, form=config.form.name)


def leaves(config: Config) -> Iterator[str]:
    """The canonical paths of the keys of a config that hold a value, those of configs that stand inside of it left out."""
    resolved = config.resolved
    inside = tuple(f"{child.at}." for child in config.children if child.mount)
    canonical = list(resolved.places)
    parents = {_parent(path) for path in canonical}
    for path in canonical:
        if path not in parents and not (inside and path.startswith(inside)):
            yield path


def _parent(path: str) -> str:
    """The path without its last key or number."""
    if path.endswith('"]'):
        return path[: path.rindex('["')]
    head = path.rpartition(".")[0]
    return path[: path.rindex("[")] if path.endswith("]") and len(path[: path.rindex("[")]) > len(head) else head
