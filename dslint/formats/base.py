"""What a format is to the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from dslint.document import Document
from dslint.document import Mapping as MappingNode
from dslint.schema.resolve import Resolved

Context: TypeAlias = Literal["native", "hf"]
Dialect: TypeAlias = Literal["pyyaml", "omegaconf"]


class Link(NamedTuple):
    """A key that brings in another file, or holds its content. ``at``: canonical path; ``format``: what is found there
    (a format's name, or ``model``, ``adapter``, ``data``); ``value``: the path as written, or the mapping that stands there itself.
    """

    at: str
    format: str
    value: str | MappingNode


class Stated(NamedTuple):
    """What a file says of the run: a name of the Plan, the value, and the canonical path of the key that says it."""

    name: str
    value: Any
    at: str


def _nothing(_: Resolved) -> Iterable[Any]:
    return ()


class Format(NamedTuple):
    """``framework``: whose schema its keys follow; ``title``: how it is called in messages. ``companions``: frameworks whose version is worth showing beside it.

    ``recognises``: is this document one? ``context``: what the content tells of the reader of the file. ``root``: the schema block that a
    document starts with, where the format has several kinds. ``fills``: keys whose "auto" the integration fills in, with the Plan's name of the value.
    ``dialect``: how a version of the framework reads plain YAML scalars. ``ships``: paths of files that the framework itself brings, with what they say
    in the Plan's words. ``strict_json``: its reader takes no comments and trailing commas.
    ``duplicates``: what a key that is written twice is, where no rule says it. ``excuses``: is a value of the wrong type at this canonical path meant
    for another reader of the file? ``derives``: values that the framework makes of older keys, by canonical path.
    """

    name: str
    framework: str
    title: str
    companions: tuple[str, ...]
    recognises: Callable[[Document, Context | None], bool]
    context: Callable[[Resolved], Context | None] = lambda _: None
    dialect: Callable[[str], Dialect] = lambda _: "pyyaml"
    root: Callable[[Document], str | None] = lambda _: None
    links: Callable[[Resolved], Iterable[Link]] = _nothing
    states: Callable[[Resolved], Iterable[Stated]] = _nothing
    fills: Mapping[str, str] = {}
    ships: Mapping[str, Mapping[str, Any]] = {}
    strict_json: bool = True
    duplicates: Literal["error", "warning"] | None = "warning"
    excuses: Callable[[Resolved, str], bool] = lambda _resolved, _path: False
    derives: Callable[[Resolved], Mapping[str, Any]] = lambda _: {}
