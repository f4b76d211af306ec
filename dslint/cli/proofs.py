"""Verification of checked files: which are trained, what the engine's complaint has to do with the findings, and how both are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dslint.document import Document, Scalar
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.family import Family
from dslint.engine.run import Report
from dslint.report.safe import printable
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.verify.outcome import Outcome
    from dslint.verify.runner import Wish

State = Literal["now", "before"]


class Proof(NamedTuple):
    """A verification of a file as it is ``now``, or as it was ``before`` its repair; ``cause``: the finding behind the engine's error."""

    state: State
    outcome: Outcome
    cause: Diagnostic | None

    def to_json(self) -> dict[str, Any]:
        cause = None
        if self.cause is not None:
            cause = {"code": self.cause.code, "line": self.cause.document.line_column(self.cause.span.start)[0]}
        return {**self.outcome.to_json(), "state": self.state, "cause": cause}

    def render(self) -> str:
        """The outcome, with the line and the finding that the engine's error is about."""
        lines = [printable(line) for line in self.outcome.render().splitlines()]
        if self.state == "before":
            lines[0] = f"before the repair: {lines[0]}"
        if self.cause is not None:
            line, column = self.cause.document.line_column(self.cause.span.start)
            file = self.cause.document.file
            lines.append(printable(f"  see       {file}:{line}:{column}: {self.cause.code} {self.cause.message}"))
        return "\n".join(lines)


def prove(
    reports: Sequence[Report],
    before: dict[str, Report],
    workspace: Workspace,
    timeout: float,
    *,
    together: bool = False,
    ranks: int | None = None,
) -> list[Proof]:
    """Train with each launch of the files that could be parsed: one with a repaired file also as it was before, ``timeout`` seconds each.

    ``together``: all files are one launch. ``ranks``: processes to train with.
    """
    from dslint.verify.pool import Pool
    from dslint.verify.runner import Wish

    documents = {report.document.file: report.document for report in reports}
    families = _families(list(documents.values()), workspace, together)
    jobs: list[tuple[State, Family, Sequence[Report]]] = []
    if before:
        old = {**documents, **{file: report.document for file, report in before.items()}}
        for family in _families(list(old.values()), workspace, together):
            if family.files & before.keys():
                jobs.append(("before", family, list(before.values())))
    jobs += [("now", family, reports) for family in families]
    with Pool() as pool:
        return [
            proof
            for state, family, said in jobs
            if (proof := _proof(state, family, said, workspace, Wish(timeout, ranks=ranks), pool)) is not None
        ]


def _families(documents: Sequence[Document], workspace: Workspace, together: bool) -> list[Family]:
    return [launch for launch in workspace.launches(documents, together=together) if isinstance(launch, Family)]


def _proof(state: State, family: Family, reports: Iterable[Report], workspace: Workspace, wish: Wish, pool: Any) -> Proof | None:
    """The proof of one launch; None where it holds no file of a training run."""
    from dslint.verify.runner import verify_subject
    from dslint.verify.subject import of_family

    world_size = workspace.setup(family.roots[0].document.file).project.facts.get("world_size")
    subject = of_family(family, int(world_size) if world_size is not None else None)
    if subject is None:
        return None
    outcome = verify_subject(subject, wish, pool)
    found = [diagnostic for report in reports if report.document.file in family.files for diagnostic in report.diagnostics]
    return Proof(state, outcome, behind(outcome.error.full, found) if outcome.error else None)


def behind(error: str, diagnostics: Iterable[Diagnostic]) -> Diagnostic | None:
    """The finding that an engine's error is about: the error whose key or value the engine names first, else the only one."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    places = [(place, number) for number, diagnostic in enumerate(errors) if (place := _named(diagnostic, error)) is not None]
    if places:
        return errors[min(places)[1]]
    return errors[0] if len(errors) == 1 else None


def _named(diagnostic: Diagnostic, error: str) -> int | None:
    """Where the error names the finding's key (a common one only with its block) or its value; None where it does not."""
    names = [step for step in diagnostic.path if isinstance(step, str)]
    node = diagnostic.document.node(diagnostic.path)
    wanted = [".".join(names[-2:])] if len(names) > 1 else []
    wanted += [name for name in names[-1:] if "_" in name]
    wanted += [node.value] if isinstance(node, Scalar) and isinstance(node.value, str) and len(node.value) > 3 else []
    found = [match.start() for name in wanted if (match := re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", error))]
    return min(found, default=None)
