"""One config of a run: a mapping of a document, read as its format, with its place among the run's files."""

from __future__ import annotations

from dataclasses import dataclass, field

from dslint.document import Document, Mapping, Path
from dslint.engine.project import Project, Target
from dslint.engine.versions import Version, parse_version
from dslint.formats import FORMATS
from dslint.formats.base import Context, Format
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
    children: list[Config] = field(default_factory=list)
    # what the config itself says of the run
    statements: tuple[Statement, ...] = ()
    # documents that its links found and that are no configs, by the link's format (model, adapter, data)
    companions: dict[str, Document] = field(default_factory=dict)

    @property
    def version(self) -> Version:
        return parse_version(self.target.version)

    @property
    def mount(self) -> Path:
        return self.resolved.mount


def read_config(
    document: Document, node: Mapping, name: str, project: Project, *, mount: Path = (), parent: Config | None = None, at: str = ""
) -> Config:
    """A mapping as a config of the named format. One that another config brings in is read by the Hugging Face integration."""
    form = FORMATS[name]
    schema = Schema.load(form.framework)
    target = project.targets.get(form.framework) or Target(schema.newest, "newest known")
    resolved = resolve(node, mount, schema.at(target.version), form.root(document))
    context: Context | None = "hf" if parent is not None else project.context or form.context(resolved)
    config = Config(document, form, resolved, project, target, context, parent, at)
    config.statements = tuple(
        Statement(stated.name, stated.value, document if stated.at in resolved.places else None, resolved.path(stated.at), stated.at)
        for stated in form.states(resolved)
    )
    if parent is not None:
        parent.children.append(config)
    return config
