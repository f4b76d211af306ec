"""One document through the rules: the pipeline, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

from dslint.document import Change, Document, Path, Scalar, Span, to_python
from dslint.document import Mapping as MappingNode
from dslint.document.overlay import Override, overlaid
from dslint.engine.config import Config, known_keys, read_config
from dslint.engine.diagnostics import RANK, Diagnostic, Fix, Related, Severity, Skipped
from dslint.engine.family import NO_PLAN, Family
from dslint.engine.generic import CODES, NAME_CODES, schema_diagnostics
from dslint.engine.project import Project, Target
from dslint.engine.registry import all_rules, rule_text
from dslint.engine.rules import FixTemplate, Rule
from dslint.engine.versions import Version, parse_version, within
from dslint.engine.view import Finding, Place, View
from dslint.formats import FORMATS, detect
from dslint.formats.base import Context, Format
from dslint.plan import Plan
from dslint.schema.lookup import KeyInfo, Schema, VersionedSchema
from dslint.schema.missing import MISSING
from dslint.schema.resolve import resolve

PLACEHOLDER = re.compile(r"\{([^{}\s]+)\}")
ONLY_IN: dict[Context, str] = {
    "native": "when DeepSpeed itself reads this file (deepspeed.initialize)",
    "hf": "when the Hugging Face integration reads this file (Trainer, Accelerate)",
}


class Report(NamedTuple):
    """What was found in one document. ``format`` is None only where nothing could be parsed and no name told the format."""

    document: Document
    format: str | None
    context: Context | None
    mount: Path
    via: str | None
    targets: dict[str, Target]
    skipped: tuple[Skipped, ...]
    diagnostics: tuple[Diagnostic, ...]


class Unread(NamedTuple):
    """A document that is no config that could be checked: it cannot be parsed, or holds something else than an object."""

    report: Report

    @property
    def documents(self) -> tuple[Document, ...]:
        return (self.report.document,)

    @property
    def files(self) -> frozenset[str]:
        return frozenset({self.report.document.file})


Launch: TypeAlias = Family | Unread


def read_entry(
    document: Document, project: Project, input_format: str | None = None, overrides: Sequence[Override] = ()
) -> Config | Unread | None:
    """A document that stands for itself as a config; None when it is of no known format. ``overrides`` go above what is written."""
    name = input_format or detect(document, project.context)
    if name is None and not (document.problems and document.root is None):
        return None
    if name is None or document.root is None:
        return Unread(Report(document, name, project.context, (), None, {}, (), tuple(_problem_diagnostics(document))))
    if not isinstance(document.root, MappingNode):
        message = f"a {name} config is an object {{ }}, not {_shown(to_python(document.root))}"
        no_object = Diagnostic(document, "SC005", CODES["SC005"][0], "error", (), document.root.span, message, CODES["SC005"][1])
        found = (*_problem_diagnostics(document), no_object)
        return Unread(Report(document, name, project.context, (), None, {}, (), found))
    mine = [override for override in overrides if str(override.path[0]) in known_keys(name, document, project)]
    return read_config(document, overlaid(document.root, mine), name, project, overridden=frozenset(override.path for override in mine))


def check(
    document: Document,
    project: Project,
    *,
    input_format: str | None = None,
    extra_rules: tuple[Rule, ...] = (),
    plan: Plan = NO_PLAN,
) -> Report | None:
    """Check one document by itself; None when it is of no known format. ``plan``: what the run's other files say.

    Raises only on a defect of dslint itself (a rule that raises is one).
    """
    entry = read_entry(document, project, input_format)
    if entry is None or isinstance(entry, Unread):
        return None if entry is None else entry.report
    return check_config(entry, plan, extra_rules)


def check_family(family: Family, extra_rules: tuple[Rule, ...] = ()) -> Iterator[Report]:
    """Every config of a launch in the light of the others."""
    for config in family.configs:
        said = tuple(diagnostic for holder, diagnostic in family.said if holder is config)
        yield check_config(config, family.others(config), extra_rules, said)


def check_config(config: Config, plan: Plan, extra: tuple[Rule, ...] = (), said: tuple[Diagnostic, ...] = ()) -> Report:
    """One config through the rules; ``said``: what was found about its links."""
    document, form, project, target, context = config.document, config.form, config.project, config.target, config.context
    view = View(config, plan)
    versions = {name: parse_version(known.version) for name, known in project.targets.items()} | {form.framework: view.version}
    found: list[Diagnostic] = list(said)
    skipped: list[Skipped] = []
    rules = _applicable(form.name, view.resolved.blocks[""].name, context, tuple(versions.items()), extra)
    for rule in _chosen(rules, view):
        fired = _findings(rule, view)
        if fired:
            found += [_diagnostic(rule, finding, place, view) for finding, place in fired]
        if view.asked:
            if not fired and any(view.written(path) for path in rule.at):
                skipped += [Skipped(rule.id, fact) for fact in sorted(view.asked)]
            view.asked.clear()
    generic = [diagnostic for diagnostic in schema_diagnostics(view) if not _spoken_for(diagnostic, found)]
    of_text = [] if config.mount else [*_problem_diagnostics(document), *_dialect(config), *_duplicates(config)]
    if config.overridden:
        found, generic = ([_without_fixes_of(config.overridden, diagnostic) for diagnostic in part] for part in (found, generic))
    ordered = sorted([*of_text, *generic, *found], key=lambda d: (d.span.start, -RANK[d.severity], d.code))
    used = {form.framework: target} | {name: project.targets[name] for name in form.companions if name in project.targets}
    via = config.parent.document.file if config.parent is not None else None
    return Report(document, form.name, context, config.mount, via, used, tuple(skipped), tuple(ordered))


def _without_fixes_of(overridden: frozenset[Path], diagnostic: Diagnostic) -> Diagnostic:
    """No repair of a file changes what the command line says."""
    fixes = tuple(fix for fix in diagnostic.fixes if not any(change.path in overridden for change in fix.changes))
    return diagnostic._replace(fixes=fixes)


@lru_cache(maxsize=64)
def _applicable(
    form: str, root: str, context: Context | None, versions: tuple[tuple[str, Version], ...], extra: tuple[Rule, ...]
) -> Mapping[str, list[Rule]]:
    """The rules of this format, context and these versions, by a key or block that must be there for them to fire ("" is the root)."""
    known = dict(versions)
    schema = Schema.load(FORMATS[form].framework)
    empty = _empty(FORMATS[form], schema.at(".".join(map(str, known[schema.framework]))), root)
    found: dict[str, list[Rule]] = {}
    for rule in (*all_rules(), *extra):
        if form not in rule.formats or (rule.context and context and rule.context != context):
            continue
        if all(name not in known or within(known[name], bounds) for name, bounds in rule.versions):
            for key in _triggers(rule, empty):
                found.setdefault(key, []).append(rule)
    return found


def _empty(form: Format, schema: VersionedSchema, root: str) -> View:
    """A config of the format in which nothing is written."""
    resolved = resolve(MappingNode(Span(0, 0), []), (), schema, root)
    resolved.values.update(form.derives(resolved))
    document = Document("", b"", "", "yaml", resolved.root)
    return View(Config(document, form, resolved, Project(), Target(schema.version, ""), None), NO_PLAN)


def _triggers(rule: Rule, empty: View) -> Iterable[str]:
    """Keys of which one must be there for a rule to fire."""
    if rule.only_with:
        return rule.only_with
    if rule.each and not any(pattern or "[*]" in start for start, pattern in rule.each):
        return [start for start, _ in rule.each]
    schema, root = empty.resolved.schema, empty.resolved.blocks[""].name
    needed = [path for path, written in rule.needs if path == "plan" or written or _has_no_default(schema.key(path, root))]
    if not needed and rule.paths and rule.when is not None and not rule.when(empty, empty.get, None):
        return rule.paths
    return [max(needed, key=len, default="")]


def _has_no_default(info: KeyInfo | None) -> bool:
    return info is not None and info.default is None


def _chosen(rules: Mapping[str, list[Rule]], view: View) -> Iterable[Rule]:
    """The rules that could fire for a config, each once."""
    there = dict.fromkeys(("", *(("plan",) if view.plan else ()), *view.resolved.blocks, *view.resolved.places, *view.resolved.values))
    return {rule.id: rule for key in there if key in rules for rule in rules[key]}.values()


def _spoken_for(generic: Diagnostic, found: list[Diagnostic]) -> bool:
    """A rule at the same place says it better; a refused value or a removed key is not silenced by one of less weight."""
    least = 0 if generic.code in NAME_CODES else RANK[generic.severity]
    return any(rule.path == generic.path and RANK[rule.severity] >= least for rule in found)


@cache
def _check_named(name: str, form: str) -> Callable[[View], Iterator[Finding]]:
    from dslint.checks import check_named

    return check_named(name, form)


def _findings(rule: Rule, view: View) -> Sequence[tuple[Finding, Place | None]]:
    when = rule.when
    if when is not None and not rule.each:
        return [(Finding(_first_written(rule, view)), None)] if when(view, view.get, None) else ()
    if when is None:
        assert rule.check is not None
        return [(finding, None) for finding in _check_named(rule.check, view.config.form.name)(view)]
    return [
        (Finding(place.path if "it" in rule.at else _first_written(rule, view)), place)
        for place in view.each(rule.each)
        if when(view, view.get, place)
    ]


def _first_written(rule: Rule, view: View) -> str:
    return next((path for path in rule.at if view.written(path)), rule.at[0])


def _diagnostic(rule: Rule, finding: Finding, place: Place | None, view: View) -> Diagnostic:
    text = rule_text(rule.id)
    path = view.path(finding.at)
    message = _filled(finding.message or rule.message, finding, place, view)
    severity: Severity = finding.severity or rule.severity
    if rule.context and view.context is None:
        severity = "warning" if severity == "error" else severity
        message += f" — {ONLY_IN[rule.context]}"
    fixes = finding.fixes
    if fixes is None:
        fixes = tuple(fix for template in rule.fixes if (fix := _fix(template, place, view)))
    related = tuple(_related(rule, finding, view))
    return Diagnostic(
        view.document, rule.id, rule.name, severity, path, view.document.key_span(path), message, text.why, text.source, related, fixes
    )


def _related(rule: Rule, finding: Finding, view: View) -> Iterator[Related]:
    """The other places that a finding rests on: in this file, and in the run's other files."""
    for other in rule.at:
        if other not in ("it", finding.at) and not other.startswith("plan.") and view.written(other):
            yield Related(view.document, view.document.key_span(view.path(other)), f"{other} is written here")
    for name in (*rule.plan, *finding.plan):
        statement = view.plan.statement(name)
        if statement is not None and statement.document is not None:
            yield Related(
                statement.document,
                statement.document.key_span(statement.path),
                f"{statement.key} is written here" if statement.key else "the file that says it",
            )


def _filled(message: str, finding: Finding, place: Place | None, view: View) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in finding.values:
            given = finding.values[name]
            return given if isinstance(given, str) else _shown(given)
        if place is not None and name.startswith("it."):
            if name in ("it.name", "it.path"):
                return _shown(getattr(place, name[3:]))
            return _shown(view.raw(place.path if name == "it.value" else place.path + name[2:]))
        if name.startswith("facts."):
            return _shown(view.fact(name[6:]))
        if name.startswith("env."):
            return _shown(view.env(name[4:]))
        node = view.node(name)
        if isinstance(node, Scalar):
            return _shown(node.value)
        return _shown(view.get(name) if node is None else view.raw(name))

    return PLACEHOLDER.sub(value, message)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "unset"
    if isinstance(value, str):
        short = value if len(value) <= 60 else value[:57] + "…"
        return short if value and value == value.strip() else f'"{short}"'
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (bool, dict, list)) or value is None:
        import json

        text = json.dumps(value, default=str)
        return text if len(text) <= 60 else text[:57] + "…"
    return str(value)


def _fix(template: FixTemplate, place: Place | None, view: View) -> Fix | None:
    """The fix with its paths and values; None where a value cannot be computed, there is nothing to change, or its goal is already written."""

    def at(path: str) -> Path:
        return view.path(place.path if path == "it" and place else path)

    changes: list[Change] = []
    for path, value in template.set:
        if callable(value) and (value := value(view, view.get, place)) is MISSING:
            return None
        changes.append(
            Change("set", at(path), int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value)
        )
    for path in template.delete:
        if view.document.node(at(path)) is not None:
            changes.append(Change("delete", at(path)))
    for old, new in template.rename:
        changes.append(Change("rename", at(old), to=(*at(old)[:-1], new)))
    for old, new in template.move:
        if view.written(new):
            return None
        changes.append(Change("move", at(old), to=view.path(new)))
    return Fix(template.title, template.safety, tuple(changes)) if changes else None


def _dialect(config: Config) -> Iterator[Diagnostic]:
    """What strict JSON readers refuse of the text, at its first place: an error where one of them reads the file, a warning where one may."""
    document = config.document
    strict = config.form.strict_json or config.context == "hf"
    if not document.lenient or (not strict and config.context == "native"):
        return
    first, others = document.lenient[0], len(document.lenient) - 1
    more = f" (and {others} more place{'s' * (others > 1)})" if others else ""
    message = f"{first.message}{more}: strict JSON readers refuse the file"
    if not strict:
        message += f" — {ONLY_IN['hf']}"
    yield Diagnostic(document, first.code, first.name, "error" if strict else "warning", first.path, first.span, message)


def _duplicates(config: Config) -> Iterator[Diagnostic]:
    """Keys written twice, where no rule of the format speaks of them."""
    severity = config.form.duplicates
    if severity is None:
        return
    effect = f"{config.form.title} refuses the file" if severity == "error" else "the last one counts, silently"
    for problem in config.document.duplicates:
        related = tuple(Related(config.document, span, message) for span, message in problem.related)
        message = f"{problem.message}: {effect}"
        yield Diagnostic(config.document, problem.code, problem.name, severity, problem.path, problem.span, message, related=related)


def _problem_diagnostics(document: Document) -> Iterable[Diagnostic]:
    for problem in document.problems:
        related = tuple(Related(document, span, message) for span, message in problem.related)
        yield Diagnostic(
            document, problem.code, problem.name, problem.severity, problem.path, problem.span, problem.message, related=related
        )
