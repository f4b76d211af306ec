"""One config of a run: a mapping of a document, read as its format, with its place among the run's files."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from dslint.document import Document, Mapping, Path
from dslint.document.dialect import reread
from dslint.engine.project import Project, Target
from dslint.engine.versions import Version, parse_version
from dslint.formats import FORMATS
from dslint.formats.base import Context, Format, Stated
from dslint.plan import Statement
from dslint.schema.lookup import Schema
from dslint.schema.resolve import Resolved, resolve


@dataclass(slots=True)
class Config:
    """``parent``: the config whose key ``at`` (canonical) points here or holds this one; None for a file that stands for itself."""

    document: Document
    form: Format
    resolved: Resolved
    project: Project
    target: Target
    context: Context | None
    parent: Config | None = None
    at: str = ""
    overridden: frozenset[Path] = frozenset()
    children: list[Config] = field(default_factory=list)
    # documents that its links found and that are no configs, by the link's format (model, adapter, data)
    companions: dict[str, Document] = field(default_factory=dict)
    _statements: tuple[Statement, ...] | None = None

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What the config itself says of the run; worked out when another config, or a person, asks for it."""
        if self._statements is None:
            self._statements = tuple(_statement(self, stated) for stated in self.form.states(self.resolved))
        return self._statements

    @property
    def version(self) -> Version:
        return parse_version(self.target.version)

    @property
    def mount(self) -> Path:
        return self.resolved.mount


def read_config(
    document: Document,
    node: Mapping,
    name: str,
    project: Project,
    *,
    mount: Path = (),
    parent: Config | None = None,
    at: str = "",
    overridden: frozenset[Path] = frozenset(),
) -> Config:
    """A mapping as a config of the named format. One that another config brings in is read by the Hugging Face integration.

    ``overridden``: paths whose values the command line gives.
    """
    form = FORMATS[name]
    target = target_of(form, project)
    if form.dialect(target.version) == "omegaconf":
        reread(document)
    resolved = resolve(node, mount, Schema.load(form.framework).at(target.version), form.root(document))
    resolved.values.update(form.derives(resolved))
    context: Context | None = "hf" if parent is not None else project.context or form.context(resolved)
    config = Config(document, form, resolved, project, target, context, parent, at, overridden)
    if parent is not None:
        parent.children.append(config)
    return config


def target_of(form: Format, project: Project) -> Target:
    """The version of the format's framework: the project's, else the newest that dslint knows."""
    return project.targets.get(form.framework) or Target(Schema.load(form.framework).newest, "newest known")


def known_keys(name: str, document: Document, project: Project) -> Set[str]:
    """What a document of this format may have at its top level."""
    form = FORMATS[name]
    schema = Schema.load(form.framework).at(target_of(form, project).version)
    block = schema.block(form.root(document) or schema.root)
    return block.keys.keys() | block.aliases.keys()


def _statement(config: Config, stated: Stated) -> Statement:
    resolved = config.resolved
    path = resolved.path(stated.at)
    if path in config.overridden:
        return Statement(stated.name, stated.value, "override", None, path, stated.at, form=config.form.name)
    if stated.at in resolved.places or not stated.at:
        return Statement(stated.name, stated.value, "written", config.document, path, stated.at, form=config.form.name)
    return Statement(
        stated.name, stated.value, "default", None, path, stated.at, f"{config.form.framework} {config.target.version}", config.form.name
    )
