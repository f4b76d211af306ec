"""Verification of checked files: which are trained, what the engine's complaint has to do with the findings, and how both are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dslint.document import Mapping, Scalar, to_python
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.run import Report
from dslint.report.safe import printable
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.verify.outcome import Outcome

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


def prove(reports: Sequence[Report], before: dict[str, Report], workspace: Workspace, timeout: float) -> list[Proof]:
    """Train with each DeepSpeed config that could be parsed: for a repaired file also with the text before, ``timeout`` seconds each."""
    from dslint.verify.pool import Pool

    jobs: list[tuple[State, Report]] = []
    for report in reports:
        if report.document.file in before:
            jobs.append(("before", before[report.document.file]))
        jobs.append(("now", report))
    jobs = [job for job in jobs if job[1].format == "deepspeed" and not job[1].mount and isinstance(job[1].document.root, Mapping)]
    if not jobs:
        return []
    pool = Pool()
    try:
        return [_proof(state, report, workspace, timeout, pool) for state, report in jobs]
    finally:
        pool.close()


def _proof(state: State, report: Report, workspace: Workspace, timeout: float, pool: Any) -> Proof:
    from dslint.verify.runner import verify

    document = report.document
    assert document.root is not None
    world_size = workspace.setup(document.file).project.facts.get("world_size")
    outcome = verify(
        to_python(document.root),
        context=report.context,
        name=document.file,
        timeout=timeout,
        world_size=int(world_size) if world_size is not None else None,
        text=document.text,
        pool=pool,
    )
    cause = behind(outcome.error.full, report.diagnostics) if outcome.error else None
    return Proof(state, outcome, cause)


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
