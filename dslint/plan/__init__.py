"""What will be trained, in one vocabulary: each value with the place that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

from dslint.document import Document, Path
from dslint.schema.missing import MISSING

Origin: TypeAlias = Literal["override", "written", "model", "default"]
# of two statements about one thing the one of the earlier origin counts
ORIGINS: tuple[Origin, ...] = ("override", "written", "model", "default")


class Statement(NamedTuple):
    """One value of the run and where it comes from: the command line, a place in a file, the model, or the default of a framework.

    ``document`` and ``path``: where it is written, if it is; ``key``: how the file calls it; ``source``: whose default, or which model. ``form``: the format in whose words the value is.
    """

    name: str
    value: Any
    origin: Origin = "written"
    document: Document | None = None
    path: Path = ()
    key: str = ""
    source: str = ""
    form: str = ""


# what follows from others by multiplication
PRODUCTS = {"batch.total": ("batch.micro", "batch.accumulation", "launch.processes")}


class Plan:
    """The statements of several files, those that count first first; what is known of their models is looked up when it is asked for."""

    def __init__(self, statements: Iterable[Statement] = (), of_models: Callable[[], Iterable[Statement]] | None = None) -> None:
        self._by_name: dict[str, list[Statement]] = {}
        self._of_models = of_models
        self._add(statements)

    def _add(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            self._by_name.setdefault(statement.name, []).append(statement)

    def _look_up_models(self) -> None:
        if self._of_models is not None:
            self._add(self._of_models())
            self._of_models = None

    def __bool__(self) -> bool:
        return bool(self._by_name) or self._of_models is not None

    def __iter__(self) -> Iterator[str]:
        self._look_up_models()
        return iter(self._by_name)

    def statement(self, name: str) -> Statement | None:
        """Who says the value; by origin first, then in the order of the files."""
        if name.startswith("model.") and name != "model.path":
            self._look_up_models()
        return min(self._by_name.get(name, ()), key=lambda statement: ORIGINS.index(statement.origin), default=None)

    def get(self, name: str) -> Any:
        """The value, or MISSING."""
        if (statement := self.statement(name)) is not None:
            return statement.value
        factors = [self.get(part) for part in PRODUCTS.get(name, ())]
        return prod(factors) if factors and all(isinstance(factor, int) for factor in factors) else MISSING

    def all(self, name: str) -> list[Statement]:
        return self._by_name.get(name, [])
