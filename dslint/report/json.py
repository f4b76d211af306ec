"""The machine's output: docs/output.schema.json describes it, and its ``version`` changes when its meaning does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dslint.document import Document, format_path
from dslint.document.edits import edits_for
from dslint.engine.diagnostics import Diagnostic, Fix, Related
from dslint.engine.run import Report
from dslint.report.places import Places

VERSION = 1
# each repair is proved by reading the whole text again; beyond this many code points of one document its repairs come without edits
MAXIMUM_REREAD = 1_000_000


def render(reports: Sequence[Report], verified: Sequence[dict[str, Any]] | None = None) -> str:
    """One JSON object. ``verified``: the outcomes of --verify, where it was asked for."""
    output: dict[str, Any] = {
        "version": VERSION,
        "files": [_file(report) for report in reports],
        "diagnostics": [diagnostic for report in reports for diagnostic in _Writer(report.document).diagnostics(report.diagnostics)],
    }
    if verified is not None:
        output["verify"] = list(verified)
    return json.dumps(output, ensure_ascii=False, indent=2)


def _file(report: Report) -> dict[str, Any]:
    return {
        "file": report.document.file,
        "format": report.format,
        "context": report.context,
        "mount": format_path(report.mount),
        "via": report.via,
        "targets": {name: {"version": target.version, "from": target.origin} for name, target in report.targets.items()},
        "skipped": [{"code": skipped.code, "fact": skipped.fact} for skipped in report.skipped],
    }


class _Writer:
    """The findings of one document, with places in it counted once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.places = Places(document)
        self.reread = 0

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> Iterator[dict[str, Any]]:
        for diagnostic in diagnostics:
            yield {
                "file": self.document.file,
                "code": diagnostic.code,
                "name": diagnostic.name,
                "severity": diagnostic.severity,
                "path": format_path(diagnostic.path),
                **self.places.of(diagnostic.span),
                "message": diagnostic.message,
                "why": diagnostic.why,
                "source": diagnostic.source,
                "related": [self.related(related) for related in diagnostic.related],
                "fixes": [shown for fix in diagnostic.fixes if (shown := self.fix(fix))],
            }

    def related(self, related: Related) -> dict[str, Any]:
        places = self.places if related.document is self.document else Places(related.document)
        return {"file": related.document.file, **places.of(related.span), "message": related.message}

    def fix(self, fix: Fix) -> dict[str, Any] | None:
        """A repair as edits; None where it cannot be made in this text without doubt."""
        self.reread += len(self.document.text) * len(fix.changes)
        edits = edits_for(self.document, fix.changes) if self.reread <= MAXIMUM_REREAD else []
        if edits is None:
            return None
        return {
            "title": fix.title,
            "safety": fix.safety,
            "edits": [
                {"file": self.document.file, "start": self.places.byte(edit.start), "end": self.places.byte(edit.end), "text": edit.text}
                for edit in edits
            ],
        }
