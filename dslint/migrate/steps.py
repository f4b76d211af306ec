"""The steps that bring a config to a release: each a repair of what age alone has made wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dslint.document import Change, Document, format_path
from dslint.engine.config import Config
from dslint.engine.diagnostics import Diagnostic, Fix
from dslint.engine.family import NO_PLAN
from dslint.engine.fixes import Applied, fix
from dslint.engine.registry import all_rules, migrations
from dslint.engine.run import Unread, check_config, read_entry
from dslint.engine.versions import parse_version
from dslint.faults import Fault
from dslint.schema.lookup import Schema
from dslint.workspace import Workspace

# what `dslint check` says of a file that was right in an older release, beside removed (SC008) and deprecated (SC009) keys
OF_AGE = frozenset(["SC008", "SC009", "AX002", "AX051", "AX121", "AX122", "AX123", "AX125", "AX126", "DS041", "DS207", "DS292", "LF006"])


class Step(NamedTuple):
    """``release``: the one that asked for it, as far as it is known."""

    path: str
    title: str
    message: str
    release: str


class Migrated(NamedTuple):
    """``left``: what age has made wrong and nothing can mend; ``errors``: what else is wrong with the file. ``before``: the release after which it is too old."""

    document: Document
    steps: tuple[Step, ...]
    left: tuple[Diagnostic, ...]
    errors: tuple[Diagnostic, ...]
    before: str


def migrate(document: Document, workspace: Workspace, since: str | None = None) -> Migrated:
    """Bring a document to the workspace's target version of its framework. Raises Fault for one that is no config.

    ``since``: the release that it was written for; what has another default now is written out then.
    """
    config = _config(document, workspace)
    early = tuple(_defaults(config, since)) if since is not None else ()

    def of_age(changed: Document) -> list[Diagnostic]:
        return [one for one in _found(changed, workspace) if is_of_age(one)]

    releases = [release for one in of_age(document) if (release := _release(one, config))]
    written = fix(document, lambda _: early, unsafe=True) if early else None
    fixed = fix(written.document if written else document, of_age, unsafe=True)
    after = _found(fixed.document, workspace)
    applied = (*(written.applied if written else ()), *fixed.applied)
    return Migrated(
        fixed.document,
        tuple(_step(one, config) for one in applied),
        tuple(one for one in after if is_of_age(one) and one.severity == "error"),
        tuple(one for one in after if one.severity == "error" and not is_of_age(one)),
        min(releases, key=parse_version, default=""),
    )


def is_of_age(diagnostic: Diagnostic) -> bool:
    return diagnostic.code in OF_AGE or diagnostic.code.startswith("MG")


def _config(document: Document, workspace: Workspace) -> Config:
    entry = read_entry(document, workspace.setup(document.file).project, workspace.input_format)
    if isinstance(entry, Unread):
        raise Fault(f"{document.file}: {entry.report.diagnostics[0].message}")
    if entry is None:
        raise Fault(f"{document.file}: no known config; --input-format says what it is")
    return entry


def _found(document: Document, workspace: Workspace) -> list[Diagnostic]:
    """What the rules and the migrations say, the migrations first: of two repairs of one place theirs is made."""
    found = list(check_config(_config(document, workspace), NO_PLAN, migrations()).diagnostics)
    return sorted(found, key=lambda one: not one.code.startswith("MG"))


def _step(applied: Applied, config: Config) -> Step:
    diagnostic = applied.diagnostic
    return Step(format_path(diagnostic.path), applied.fix.title, diagnostic.message, _release(diagnostic, config))


def _release(diagnostic: Diagnostic, config: Config) -> str:
    """The release that made it wrong: as the schema says of a key, else as the rule's versions do."""
    framework, schema = config.form.framework, config.resolved.schema
    if diagnostic.code in ("SC008", "SC009"):
        name = str(diagnostic.path[-1])
        for block in config.resolved.blocks.values():
            if (info := block.gone.get(name)) is not None and info.removed is not None:
                return info.removed
        return ""
    if diagnostic.code == DEFAULT_CODE:
        return diagnostic.source
    for rule in (*migrations(), *all_rules()):
        if rule.id == diagnostic.code:
            bounds = dict(rule.versions).get(framework, ())
            return next((".".join(map(str, version)) for sign, version in bounds if sign == ">="), "")
    return schema.version


DEFAULT_CODE = "MG000"


def _defaults(config: Config, since: str) -> Iterable[Diagnostic]:
    """Keys that are not written and whose default is another now, as findings whose repair writes the old one."""
    framework = config.form.framework
    old = Schema.load(framework).at(since)
    for prefix, block in config.resolved.blocks.items():
        if block.name not in old.block_names():
            continue
        before = old.block(block.name).keys
        for name, info in block.keys.items():
            canonical = f"{prefix}.{name}" if prefix else name
            known = before.get(name)
            if canonical in config.resolved.places or known is None or known.default is None or known.default == info.default:
                continue
            path = config.resolved.path(canonical)
            message = f"{canonical} was {known.default} by default in {framework} {since}, and is {info.default} now"
            repair = Fix(f"write out {known.default}", "unsafe", (Change("set", path, known.default),))
            span = config.document.key_span(path)
            yield Diagnostic(config.document, DEFAULT_CODE, "migrate-default", "warning", path, span, message, "", "", (), (repair,))
