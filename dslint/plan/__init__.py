"""What will be trained, in one vocabulary: each value with the place that says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

from dslint.document import Document, Path
from dslint.schema.missing import MISSING


class Statement(NamedTuple):
    """One value of the run. ``document`` is None where no file says it (a default, a well-known model); ``key``: how the file calls it."""

    name: str
    value: Any
    document: Document | None = None
    path: Path = ()
    key: str = ""


# what follows from others by multiplication
PRODUCTS = {"batch.total": ("batch.micro", "batch.accumulation", "launch.processes")}


class Plan:
    """The statements of several files, those that count first first."""

    def __init__(self, statements: Iterable[Statement] = ()) -> None:
        self._by_name: dict[str, list[Statement]] = {}
        for statement in statements:
            self._by_name.setdefault(statement.name, []).append(statement)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def __iter__(self) -> Iterator[Statement]:
        """The statement that counts, of every name."""
        return (statements[0] for statements in self._by_name.values())

    def statement(self, name: str) -> Statement | None:
        """Who says the value, a written place before a default."""
        found = self._by_name.get(name, ())
        return next((statement for statement in found if statement.document is not None), found[0] if found else None)

    def get(self, name: str) -> Any:
        """The value, or MISSING."""
        if (statement := self.statement(name)) is not None:
            return statement.value
        factors = [self.get(part) for part in PRODUCTS.get(name, ())]
        return prod(factors) if factors and all(isinstance(factor, int) for factor in factors) else MISSING

    def all(self, name: str) -> list[Statement]:
        return self._by_name.get(name, [])
