"""One document through the rules: the pipeline, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from dslint.document import Change, Document, Mapping, Path, Scalar, to_python
from dslint.engine.diagnostics import RANK, Diagnostic, Fix, Related, Severity, Skipped
from dslint.engine.generic import CODES, NAME_CODES, schema_diagnostics
from dslint.engine.project import Project, Target
from dslint.engine.registry import all_rules, rule_text
from dslint.engine.rules import FixTemplate, Rule
from dslint.engine.versions import Version, parse_version, within
from dslint.engine.view import Finding, Place, View
from dslint.formats import FORMATS, detect
from dslint.formats.base import Context, Format
from dslint.schema.lookup import Schema
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


def check(document: Document, project: Project, *, input_format: str | None = None, extra_rules: tuple[Rule, ...] = ()) -> Report | None:
    """Check one document; None when it is of no known format.

    Raises only on a defect of dslint itself (a rule that raises is one).
    """
    name = input_format or detect(document, project.context)
    loading = tuple(_problem_diagnostics(document))
    if name is None and not (loading and document.root is None):
        return None
    if name is None or document.root is None:
        return Report(document, name, project.context, (), None, {}, (), loading)
    if not isinstance(document.root, Mapping):
        message = f"a {name} config is an object {{ }}, not {_shown(to_python(document.root))}"
        no_object = Diagnostic(document, "SC005", CODES["SC005"][0], "error", (), document.root.span, message, CODES["SC005"][1])
        return Report(document, name, project.context, (), None, {}, (), (*loading, no_object))
    return _check_config(document, FORMATS[name], project, loading, extra_rules)


def _check_config(document: Document, form: Format, project: Project, loading: tuple[Diagnostic, ...], extra: tuple[Rule, ...]) -> Report:
    schema = Schema.load(form.framework)
    target = project.targets.get(form.framework) or Target(schema.newest, "newest known")
    assert isinstance(document.root, Mapping)
    resolved = resolve(document.root, (), schema.at(target.version))
    context = project.context or form.context(resolved)
    view = View(document, resolved, project, context, parse_version(target.version))
    versions = {name: parse_version(known.version) for name, known in project.targets.items()} | {form.framework: view.version}
    found: list[Diagnostic] = []
    skipped: list[Skipped] = []
    by_block = _applicable(form.name, context, tuple(versions.items()), extra)
    for rule in chain.from_iterable(by_block.get(block, ()) for block in resolved.blocks):
        fired = _findings(rule, view)
        if fired:
            found += [_diagnostic(rule, finding, place, view) for finding, place in fired]
        if view.asked:
            if not fired and any(view.written(path) for path in rule.at):
                skipped += [Skipped(rule.id, fact) for fact in sorted(view.asked)]
            view.asked.clear()
    generic = [diagnostic for diagnostic in schema_diagnostics(view) if not _spoken_for(diagnostic, found)]
    ordered = sorted([*loading, *_dialect(document, context), *generic, *found], key=lambda d: (d.span.start, -RANK[d.severity], d.code))
    used = {form.framework: target} | {name: project.targets[name] for name in form.companions if name in project.targets}
    return Report(document, form.name, context, (), None, used, tuple(skipped), tuple(ordered))


@lru_cache(maxsize=64)
def _applicable(
    form: str, context: Context | None, versions: tuple[tuple[str, Version], ...], extra: tuple[Rule, ...]
) -> dict[str, list[Rule]]:
    """The rules that speak of this format, context and these versions, each under one block without which it cannot fire ("" is the root)."""
    known = dict(versions)
    by_block: dict[str, list[Rule]] = {}
    for rule in (*all_rules(), *extra):
        if form not in rule.formats or (rule.context and context and rule.context != context):
            continue
        if all(name not in known or within(known[name], bounds) for name, bounds in rule.versions):
            by_block.setdefault(max(rule.needs, key=len, default=""), []).append(rule)
    return by_block


def _spoken_for(generic: Diagnostic, found: list[Diagnostic]) -> bool:
    """A rule at the same place says it better; a refused value or a removed key is not silenced by one of less weight."""
    least = 0 if generic.code in NAME_CODES else RANK[generic.severity]
    return any(rule.path == generic.path and RANK[rule.severity] >= least for rule in found)


@cache
def _check_named(name: str) -> Callable[[View], Iterator[Finding]]:
    from dslint.checks import CHECKS

    return CHECKS[name]


def _findings(rule: Rule, view: View) -> Sequence[tuple[Finding, Place | None]]:
    when = rule.when
    if when is None:
        assert rule.check is not None
        return [(finding, None) for finding in _check_named(rule.check)(view)]
    if not rule.each:
        return [(Finding(_first_written(rule, view)), None)] if when(view, view.get, None) else ()
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
    related = tuple(
        Related(view.document, view.document.key_span(view.path(other)), f"{other} is written here")
        for other in rule.at
        if other not in ("it", finding.at) and view.written(other)
    )
    return Diagnostic(
        view.document, rule.id, rule.name, severity, path, view.document.key_span(path), message, text.why, text.source, related, fixes
    )


def _filled(message: str, finding: Finding, place: Place | None, view: View) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in finding.values:
            given = finding.values[name]
            return given if isinstance(given, str) else _shown(given)
        if place is not None and name.startswith("it."):
            return _shown(view.raw(place.path) if name == "it.value" else getattr(place, name[3:]))
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
        return value if len(value) <= 60 else value[:57] + "…"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (bool, dict, list)) or value is None:
        import json

        text = json.dumps(value, default=str)
        return text if len(text) <= 60 else text[:57] + "…"
    return str(value)


def _fix(template: FixTemplate, place: Place | None, view: View) -> Fix | None:
    """The fix with its paths and values; None where a value cannot be computed or there is nothing to change."""

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
        changes.append(Change("move", at(old), to=view.path(new)))
    return Fix(template.title, template.safety, tuple(changes)) if changes else None


def _dialect(document: Document, context: Context | None) -> Iterator[Diagnostic]:
    """What strict JSON readers refuse of the text, at its first place: an error where one of them reads the file, a warning where one may."""
    if not document.lenient or context == "native":
        return
    first, others = document.lenient[0], len(document.lenient) - 1
    message = f"{first.message}{f' (and {others} more places)' if others else ''}: strict JSON readers refuse the file"
    if context is None:
        message += f" — {ONLY_IN['hf']}"
    yield Diagnostic(document, first.code, first.name, "error" if context else "warning", first.path, first.span, message)


def _problem_diagnostics(document: Document) -> Iterable[Diagnostic]:
    for problem in document.problems:
        related = tuple(Related(document, span, message) for span, message in problem.related)
        yield Diagnostic(
            document, problem.code, problem.name, problem.severity, problem.path, problem.span, problem.message, related=related
        )
