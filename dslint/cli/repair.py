"""Repairs of the files that a command line names, each as its launch sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from dslint.document import Document
from dslint.document.edits import encode, write
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.fixes import Applied, fix
from dslint.engine.run import Launch, Report

Check: TypeAlias = Callable[[Sequence[Document]], list[Report]]


class Repairs:
    """``current``: each file's document as it stands; ``before``: the document before, of those that were repaired; ``mended``: what was repaired."""

    def __init__(self, documents: Iterable[Document], launches: Sequence[Launch], check: Check) -> None:
        self.current = {document.file: document for document in documents}
        self.before: dict[str, Document] = {}
        self.mended: list[Applied] = []
        self._launches = launches
        self._check = check

    def repair(self, document: Document, *, unsafe: bool, save: bool) -> None:
        """Repair a document, and its file where ``save`` says so. Raises FileChanged, OSError; then nothing is repaired."""

        def diagnose(changed: Document) -> list[Diagnostic]:
            reports = self._check(self._with(changed))
            return [diagnostic for report in reports if report.document.file == changed.file for diagnostic in report.diagnostics]

        fixed = fix(document, diagnose, unsafe=unsafe)
        if not fixed.applied:
            return
        if save:
            write(document.file, document.data, encode(document, fixed.document.text))
        self.current[document.file] = fixed.document
        self.before[document.file] = document
        self.mended += fixed.applied

    def _with(self, changed: Document) -> list[Document]:
        """The named documents of the launches that a document belongs to, with its text as it is now."""
        files = [root.file for launch in self._launches if changed.file in launch.files for root in launch.documents]
        others = [self.current[file] for file in dict.fromkeys(files) if file != changed.file]
        return [*others, changed]
