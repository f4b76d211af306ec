"""SARIF 2.1.0, for code scanning: findings with what their rules mean, repairs, related places and fingerprints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from dslint import __version__
from dslint.catalogue import find
from dslint.document import Document, Span
from dslint.document.edits import edits_for
from dslint.engine.diagnostics import Diagnostic, Fix
from dslint.engine.registry import rule_text
from dslint.engine.rules import Rule
from dslint.engine.run import Report
from dslint.faults import Fault
from dslint.report.fingerprint import fingerprints, posix
from dslint.report.json import MAXIMUM_REREAD

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(reports: Sequence[Report]) -> str:
    diagnostics = [diagnostic for report in reports for diagnostic in report.diagnostics]
    rules = {diagnostic.code: diagnostic for diagnostic in diagnostics}
    numbers = {code: number for number, code in enumerate(rules)}
    driver = {"name": "dslint", "semanticVersion": __version__, "rules": [_rule(diagnostic) for diagnostic in rules.values()]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": _artifact(file)} for file in dict.fromkeys(report.document.file for report in reports)],
        "results": list(_results(diagnostics, numbers)),
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)


def _rule(diagnostic: Diagnostic) -> dict[str, Any]:
    """A rule's metadata; of one that is not built in, what its finding says."""
    why, level, source = diagnostic.why or diagnostic.message, diagnostic.severity, diagnostic.source
    try:
        found = find(diagnostic.code)
    except Fault:
        found = None
    if isinstance(found, Rule):
        why, level, source = rule_text(found.id).why, found.severity, rule_text(found.id).source
    elif found is not None:
        why = found.meaning
    text = " ".join(why.split())
    help_text = f"{text} Source: {source}" if source else text
    return {
        "id": diagnostic.code,
        "name": diagnostic.name,
        "shortDescription": {"text": diagnostic.name.replace("-", " ")},
        "fullDescription": {"text": text},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": LEVELS[level]},
    }


def _results(diagnostics: Iterable[Diagnostic], numbers: dict[str, int]) -> Iterator[dict[str, Any]]:
    reread: dict[int, int] = {}
    for diagnostic, fingerprint in fingerprints(diagnostics):
        document = diagnostic.document
        result: dict[str, Any] = {
            "ruleId": diagnostic.code,
            "ruleIndex": numbers[diagnostic.code],
            "level": LEVELS[diagnostic.severity],
            "message": {"text": diagnostic.message},
            "locations": [_location(document, diagnostic.span)],
            "partialFingerprints": {"dslint/v1": fingerprint},
        }
        if diagnostic.related:
            result["relatedLocations"] = [
                {"id": number, **_location(related.document, related.span), "message": {"text": related.message}}
                for number, related in enumerate(diagnostic.related)
            ]
        fixes = []
        for repair in diagnostic.fixes:
            reread[id(document)] = reread.get(id(document), 0) + len(document.text) * len(repair.changes)
            if reread[id(document)] <= MAXIMUM_REREAD and (shown := _fix(document, repair)):
                fixes.append(shown)
        if fixes:
            result["fixes"] = fixes
        yield result


def _fix(document: Document, repair: Fix) -> dict[str, Any] | None:
    edits = edits_for(document, repair.changes)
    if not edits:
        return None
    replacements = [
        {"deletedRegion": _region(document, Span(edit.start, edit.end)), "insertedContent": {"text": edit.text}} for edit in edits
    ]
    flags = "--fix" if repair.safety == "safe" else "--fix --unsafe-fixes"
    return {
        "description": {"text": f"{repair.title} ({flags})"},
        "artifactChanges": [{"artifactLocation": _artifact(document.file), "replacements": replacements}],
    }


def _location(document: Document, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(document.file), "region": _region(document, span)}}


def _region(document: Document, span: Span) -> dict[str, int]:
    line, column = document.line_column(span.start)
    end_line, end_column = document.line_column(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _artifact(file: str) -> dict[str, str]:
    """A relative name stays relative: whoever reads the log takes it from the root of the repository."""
    name = quote(posix(file).encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{name}" if name.startswith("/") else name}
