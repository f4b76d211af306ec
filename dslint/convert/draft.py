"""A target being written: its files, and what became of everything that the source said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from dslint.convert.run import Run
from dslint.schema.coerce import coerce
from dslint.schema.lookup import Schema, VersionedSchema
from dslint.schema.missing import MISSING

Kind: TypeAlias = Literal["carried", "implied", "approximate", "lost"]
# of several fates of one key the gravest is told
GRAVITY: tuple[Kind, ...] = ("implied", "carried", "approximate", "lost")
Manner: TypeAlias = Literal["resolve", "auto"]


class Fate(NamedTuple):
    """What became of something that was said: ``key`` of the target (where there is one), and ``note``: what changed, or where it must be put now."""

    kind: Kind
    key: str = ""
    note: str = ""


class Field(NamedTuple):
    """A name of the Plan that is one key of the target. ``value``: its own words for the common ones; MISSING where it has none.
    ``always``: written even where it is the target's default.
    """

    name: str
    key: str
    value: Callable[[Any], Any] = lambda value: value
    always: bool = False


class Wish(NamedTuple):
    """What the command line asks of the target. ``manner``: None is ``resolve`` where the source says the batch, else ``auto``. ``flavour`` and ``fsdp_version``: of Accelerate's file. ``several``: may it be several files?
    ``engine``: does the file say what shards, or another one of the set?
    """

    manner: Manner | None = None
    flavour: str | None = None
    fsdp_version: int | None = None
    several: bool = False
    engine: bool = True
    target_version: str | None = None


class Draft:
    """``files``: the trees to be written by file name, the main one under ``""``. ``fates`` by name of the Plan; ``kept``: those of keys that went over as they
    were, by document and canonical path. ``subjects``: of what each top-level key speaks.
    """

    def __init__(self, run: Run, wish: Wish, framework: str, root: str | None = None, defaults: Mapping[str, Any] | None = None) -> None:
        self.run = run
        self.wish = wish
        schema = Schema.load(framework)
        self.schema: VersionedSchema = schema.at(wish.target_version or schema.newest)
        self.block = self.schema.block(root or self.schema.root)
        self.defaults = defaults or {}
        self.files: dict[str, dict[str, Any]] = {"": {}}
        self.fates: dict[str, Fate] = {}
        self.kept: dict[tuple[str, str], Fate] = {}
        self.subjects: dict[str, str] = {}

    def get(self, name: str, default: Any = MISSING) -> Any:
        """What the run says of a name; ``default`` where it says nothing."""
        return self.run.get(name, default)

    def says(self, name: str) -> bool:
        return name in self.run.values

    def put(self, key: str, value: Any, *, subject: str = "", file: str = "") -> None:
        """Set a dotted key of a file."""
        *parents, last = key.split(".")
        here = self.files.setdefault(file, {})
        for parent in parents:
            here = here.setdefault(parent, {})
        here[last] = value
        if not file and subject:
            self.subjects.setdefault(key.split(".")[0], subject)

    def carry(self, name: str, key: str, value: Any = MISSING, *, file: str = "", note: str = "") -> None:
        """The value (the run's own where none is given) under a key of the target."""
        value = self.get(name) if value is MISSING else value
        if value is MISSING:
            return
        self.put(key, value, subject=name.partition(".")[0], file=file)
        self.fate(name, "approximate" if note else "carried", key, note)

    def carry_fields(self, fields: Iterable[Field]) -> None:
        """The names that are one key each of the main file; what equals the target's default is left out, what it would refuse is lost."""
        for field in fields:
            if field.name in self.fates or (value := self.get(field.name)) is MISSING:
                continue
            info = self.block.keys.get(field.key)
            if info is None:
                self.lose(field.name, f"{self.schema.framework} {self.schema.version} has no {field.key}")
                continue
            value = field.value(value)
            if value is MISSING or not coerce(info, value).ok:
                self.lose(field.name, f"{field.key} has no such value here")
                continue
            default = info.default if info.default is not None else self.defaults.get(field.name)
            if not field.always and (value == default or (default is None and not self.run.written(field.name) and value in (None, False))):
                self.fate(field.name, "implied", field.key)
            else:
                self.carry(field.name, field.key, value)

    def fate(self, name: str, kind: Kind, key: str = "", note: str = "") -> None:
        """Note what became of a name that the run speaks of; the first word stands."""
        if self.says(name):
            self.fates.setdefault(name, Fate(kind, key, note))

    def lose(self, name: str, note: str) -> None:
        self.fate(name, "lost", "", note)
