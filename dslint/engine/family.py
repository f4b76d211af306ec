"""The configs of one launch: the files that were named, and those that their links bring in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from dslint.document import Document, Mapping
from dslint.engine.config import Config, read_config
from dslint.engine.diagnostics import Diagnostic
from dslint.formats import FORMATS
from dslint.formats.base import Link
from dslint.plan import Plan, Statement


class Found(NamedTuple):
    """What is behind a link: a document, what is known of a model (looked up when it is asked for), or what is to be said of the link itself."""

    document: Document | None = None
    model: Callable[[], list[Statement]] | None = None
    diagnostic: Diagnostic | None = None


class Finder(Protocol):
    """Looks up what a link of a config names."""

    def __call__(self, config: Config, link: Link) -> Found: ...


class Family:
    """``configs``: parents before their children. ``said``: findings about links, by the config that holds the link. ``models``: what their models say.
    ``beside``: what configs of another family say, for files that surround a launch (its variables, its hosts).
    """

    def __init__(self, roots: Sequence[Config]) -> None:
        self.roots = tuple(roots)
        self.configs: list[Config] = []
        self.said: list[tuple[Config, Diagnostic]] = []
        self.models: list[Callable[[], list[Statement]]] = []
        self.beside: tuple[Statement, ...] = ()

    @property
    def documents(self) -> tuple[Document, ...]:
        """Those that were named, not brought in by a link."""
        return tuple(root.document for root in self.roots)

    @property
    def files(self) -> frozenset[str]:
        return frozenset(config.document.file for config in self.configs)

    @property
    def linked(self) -> frozenset[str]:
        """The files that others of the launch bring in."""
        return frozenset(config.document.file for config in self.configs if config.parent is not None and not config.mount)

    def others(self, config: Config) -> Plan:
        """What the rest of the launch says: parents first, then the files named beside, then those brought in."""
        if len(self.configs) == 1 and not self.models and not self.beside:
            return NO_PLAN
        ancestors = list(_ancestors(config))
        rest = [other for other in self.configs if other is not config and other not in ancestors]
        written = (statement for other in (*ancestors, *rest) for statement in other.statements)
        return Plan((*written, *self.beside), self._of_models)

    @property
    def plan(self) -> Plan:
        """What all files together say."""
        return Plan((statement for config in self.configs for statement in config.statements), self._of_models)

    def _of_models(self) -> list[Statement]:
        return [statement for model in self.models for statement in model()]


NO_PLAN = Plan()
# where no file of a launch names a model: a directory of that name beside the first, for formats that leave the model to a script
NAMING_NO_MODEL = ("accelerate", "fsdp", "trainer")
MODEL_BESIDE = Link("", "model", "model")


def assemble(roots: Sequence[Config], find: Finder) -> Family:
    """Follow the links of the configs, and of those that they bring in."""
    family = Family(roots)
    seen: set[tuple[str, object, str]] = set()
    pending = list(roots)
    while pending:
        config = pending.pop(0)
        if (key := (config.document.file, config.mount, config.form.name)) in seen:
            continue
        seen.add(key)
        family.configs.append(config)
        pending[:0] = [child for link in config.form.links(config.resolved) if (child := _follow(family, config, link, find)) is not None]
    if not family.models and roots and roots[0].form.name in NAMING_NO_MODEL and (beside := find(roots[0], MODEL_BESIDE)).model is not None:
        family.models.append(cache(beside.model))
    return family


def _follow(family: Family, config: Config, link: Link, find: Finder) -> Config | None:
    if isinstance(link.value, Mapping):
        if link.format not in FORMATS:
            return None
        path = config.resolved.path(link.at)
        return read_config(config.document, link.value, link.format, config.project, mount=path, parent=config, at=link.at)
    found = find(config, link)
    if found.diagnostic is not None:
        family.said.append((config, found.diagnostic))
    if found.model is not None:
        family.models.append(cache(found.model))
    if found.document is None:
        return None
    if link.format not in FORMATS:
        config.companions[link.format] = found.document
        return None
    if not isinstance(found.document.root, Mapping):
        return None
    return read_config(found.document, found.document.root, link.format, config.project, parent=config, at=link.at)


def _ancestors(config: Config) -> Iterator[Config]:
    while config.parent is not None:
        config = config.parent
        yield config
