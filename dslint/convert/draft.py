"""A target being written: its files, and what became of everything that the source said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

from dslint.plan import Plan
from dslint.schema.missing import MISSING

Kind: TypeAlias = Literal["carried", "implied", "approximate", "lost"]
# of several fates of one key the gravest is told
GRAVITY: tuple[Kind, ...] = ("implied", "carried", "approximate", "lost")
Manner: TypeAlias = Literal["resolve", "auto"]


class Fate(NamedTuple):
    """What became of a name of the Plan: ``key`` of the target (where there is one), and ``note``: what changed, or where it must be put now."""

    kind: Kind
    key: str = ""
    note: str = ""


class Field(NamedTuple):
    """A name of the Plan that is one key of the target. ``default``: the target's own, which need not be written."""

    name: str
    key: str
    default: Any = MISSING
    write: Callable[[Any], Any] = lambda value: value


class Draft:
    """``files``: the trees to be written by file name, the main one under ``""``. ``fates`` by name of the Plan."""

    def __init__(self, plan: Plan, manner: Manner) -> None:
        self.plan = plan
        self.manner = manner
        self.files: dict[str, dict[str, Any]] = {"": {}}
        self.fates: dict[str, Fate] = {}

    def get(self, name: str, default: Any = MISSING) -> Any:
        """What the run says of a name; ``default`` where it says nothing."""
        value = self.plan.get(name)
        return default if value is MISSING else value

    def says(self, name: str) -> bool:
        return self.plan.statement(name) is not None

    def put(self, key: str, value: Any, file: str = "") -> None:
        """Set a dotted key of a file."""
        *parents, last = key.split(".")
        here = self.files.setdefault(file, {})
        for parent in parents:
            here = here.setdefault(parent, {})
        here[last] = value

    def carry(self, name: str, key: str, value: Any = MISSING, *, file: str = "", note: str = "") -> None:
        """The value (the run's own where none is given) under a key of the target."""
        value = self.get(name) if value is MISSING else value
        if value is MISSING:
            return
        self.put(key, value, file)
        self.fate(name, "approximate" if note else "carried", key, note)

    def carry_fields(self, fields: Iterable[Field], file: str = "") -> None:
        """The names that are one key each; what equals the target's default is left out."""
        for field in fields:
            value = self.get(field.name)
            if value is MISSING:
                continue
            value = field.write(value)
            if value is MISSING:
                continue
            if field.default is not MISSING and value == field.default:
                self.fate(field.name, "implied", field.key)
            else:
                self.carry(field.name, field.key, value, file=file)

    def fate(self, name: str, kind: Kind, key: str = "", note: str = "") -> None:
        """Note what became of a name that the run speaks of; the first word stands."""
        if self.says(name):
            self.fates.setdefault(name, Fate(kind, key, note))

    def lose(self, name: str, note: str) -> None:
        self.fate(name, "lost", "", note)
