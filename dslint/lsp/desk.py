"""The texts that are open in an editor, checked together whenever one of them changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from dslint.cli.inputs import SUFFIXES
from dslint.document import Document, load
from dslint.document.load import MAXIMUM_BYTES
from dslint.engine.config import Config
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.family import Family
from dslint.engine.run import Report
from dslint.workspace import Workspace, forget_files

SETTINGS = ("dslint.yaml", "pyproject.toml")


class Desk:
    """``workspace``: makes what files are checked against, anew after ``forget``; it may raise Fault."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._make = workspace
        self._workspace: Workspace | None = None
        self._open: dict[str, Document] = {}
        # the configs of the last text of each file that could be read: what is completed and explained while it cannot
        self._configs: dict[str, list[Config]] = {}
        self.reports: list[Report] = []

    def put(self, file: str, text: str) -> None:
        """A file is open and holds this text, saved or not."""
        if file.lower().endswith(SUFFIXES):
            self._open[file] = load(file, text.encode("utf-8", errors="replace"), max_bytes=MAXIMUM_BYTES)

    def take(self, file: str) -> None:
        """A file is closed: from now on what is on the disk counts."""
        self._open.pop(file, None)
        self._configs.pop(file, None)

    def forget(self) -> None:
        """Something on the disk has changed: settings, lock files and linked files are read again."""
        forget_files()
        self._workspace = None

    def check(self) -> dict[str, list[Diagnostic]]:
        """What is found in the open files and in those that they link, by file. Raises Fault, CheckCrashed."""
        workspace = self._workspace = self._workspace or self._make()
        launches = workspace.launches(list(self._open.values()))
        known: dict[str, list[Config]] = {}
        for launch in launches:
            for config in launch.configs if isinstance(launch, Family) else ():
                known.setdefault(config.document.file, []).append(config)
        self._configs |= known
        self.reports = [report for report in workspace.check(launches) if report.document.file in self._configs]
        found: dict[str, list[Diagnostic]] = {file: [] for file in self._open}
        for report in self.reports:
            found.setdefault(report.document.file, []).extend(report.diagnostics)
        return found

    def document(self, file: str) -> Document | None:
        """The open text of a file."""
        return self._open.get(file)

    def configs(self, file: str) -> list[Config]:
        """The configs in a file, as they were when it could last be read; the file's own before those that it holds inside."""
        return self._configs.get(file, [])

    def diagnostics(self, file: str) -> Iterable[Diagnostic]:
        """What was last found in a file."""
        return (diagnostic for report in self.reports if report.document.file == file for diagnostic in report.diagnostics)

    def refind(self, document: Document) -> list[Diagnostic]:
        """What would be found if a file held another text."""
        assert self._workspace is not None
        others = [other for file, other in self._open.items() if file != document.file]
        reports = self._workspace.check(self._workspace.launches([*others, document]))
        return [diagnostic for report in reports if report.document.file == document.file for diagnostic in report.diagnostics]


def file_name(path: str) -> str:
    """The one name of a file, however an editor writes it."""
    return os.path.normpath(path)
