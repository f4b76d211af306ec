"""Findings that a project has accepted: a file of them, so that only new ones are shown.

A finding is known again by file, code and the keys that lead to it, not by line, value or message; of several alike, as many as were accepted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from dslint.engine.diagnostics import Diagnostic
from dslint.engine.run import Report
from dslint.faults import Fault
from dslint.report.fingerprint import keys_of

VERSION = 1
Key: TypeAlias = tuple[str, str, str]


class Baseline:
    """The accepted findings of one file; paths in it are relative to its directory."""

    def __init__(self, file: str, accepted: Counter[Key]) -> None:
        self.file = file
        self.accepted = accepted

    def without(self, reports: Iterable[Report]) -> list[Report]:
        """The reports without what is accepted."""
        left = Counter(self.accepted)
        return [report._replace(diagnostics=tuple(d for d in report.diagnostics if not self._taken(left, d))) for report in reports]

    def _taken(self, left: Counter[Key], diagnostic: Diagnostic) -> bool:
        key = _key(self.file, diagnostic)
        if left[key] <= 0:
            return False
        left[key] -= 1
        return True


def read(file: str) -> Baseline:
    """Raises Fault."""
    try:
        with open(file, encoding="utf-8") as stream:
            raw: Any = json.load(stream)
        if raw["version"] != VERSION:
            raise Fault(f"--baseline {file}: version {raw['version']!r} was written by another dslint; write it anew with --write-baseline")
        entries = [(str(entry["file"]), str(entry["code"]), str(entry["path"]), int(entry["count"])) for entry in raw["findings"]]
    except OSError as error:
        raise Fault(f"--baseline {file}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Fault(f"--baseline {file}: this is no baseline; write one with --write-baseline {file}") from None
    accepted: Counter[Key] = Counter()
    for name, code, path, count in entries:
        accepted[(name, code, path)] += count
    return Baseline(file, accepted)


def write(file: str, reports: Iterable[Report]) -> int:
    """Accept all that the reports say, and return how much that is. Raises Fault."""
    found = Counter(_key(file, diagnostic) for report in reports for diagnostic in report.diagnostics)
    findings = [{"file": name, "code": code, "path": path, "count": count} for (name, code, path), count in sorted(found.items())]
    try:
        unfinished = f"{file}.{os.getpid()}"
        with open(unfinished, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(json.dumps({"version": VERSION, "findings": findings}, ensure_ascii=False, indent=1) + "\n")
        os.replace(unfinished, file)
    except OSError as error:
        raise Fault(f"--write-baseline {file}: {error.strerror or error}") from None
    return found.total()


def _key(baseline: str, diagnostic: Diagnostic) -> Key:
    relative = os.path.relpath(os.path.abspath(diagnostic.document.file), os.path.dirname(os.path.abspath(baseline)))
    return relative.replace(os.sep, "/"), diagnostic.code, keys_of(diagnostic.path)
