"""What ``dslint check`` does with its files: read, check, repair, verify, print, and the exit code of it all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from dslint.cli import ERRORS_FOUND, NOTHING_TO_READ, WRONG_USE
from dslint.cli.inputs import Source, collect, describe
from dslint.document import Document, load
from dslint.document.load import read
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.run import Report
from dslint.faults import CheckCrashed, Fault
from dslint.formats import FORMATS
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.cli.proofs import Proof
    from dslint.engine.fixes import Applied

PRECEDENCE = (0, NOTHING_TO_READ, ERRORS_FOUND, WRONG_USE)


class Options(NamedTuple):
    """What the command line asks of each file."""

    fix: bool = False
    unsafe: bool = False
    diff: bool = False
    verify: bool = False
    output: str = "text"
    strict: bool = False
    exit_zero: bool = False
    skip_unknown: bool = False
    stdin_name: str = "<stdin>"
    max_bytes: int = 1_000_000
    verify_timeout: float = 300


class Outcome:
    """What came of the files: their reports as they stand at the end, and for each repaired file the report before."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.before: dict[str, Report] = {}
        self.mended: list[Applied] = []
        self.code = 0

    def at_least(self, code: int) -> None:
        self.code = max(self.code, code, key=PRECEDENCE.index)


def run(arguments: tuple[str, ...], workspace: Workspace, options: Options) -> int:
    """Check what the arguments name, print, and return the exit code. Raises Fault, CheckCrashed."""
    inputs = collect(arguments)
    outcome = Outcome()
    for trouble in inputs.unreadable:
        note(trouble)
        outcome.at_least(WRONG_USE)
    holding: set[str | None] = set()
    for source in inputs.sources:
        document = _document(source, options, outcome)
        if document is None:
            continue
        report = _checked(workspace, document)
        if report is None or (report.format is None and (options.skip_unknown or not source.named)):
            if source.named and not options.skip_unknown:
                note(f"{document.file}: not a known config ({', '.join(FORMATS)}); --input-format says what it is")
                outcome.at_least(NOTHING_TO_READ)
            continue
        holding.add(source.directory)
        outcome.reports.append(_repaired(source, report, workspace, options, outcome) if options.fix or options.diff else report)
    for directory in inputs.directories:
        if directory not in holding:
            note(f"{directory}: holds no known config ({', '.join(FORMATS)})")
            outcome.at_least(NOTHING_TO_READ)
    proofs = None
    if options.verify:
        from dslint.cli.proofs import prove

        proofs = prove(outcome.reports, outcome.before, workspace, options.verify_timeout)
    _print(outcome, proofs, options, stdin_repaired=options.fix and any(source.is_stdin for source in inputs.sources))
    if not options.exit_zero and _fails(outcome, proofs or (), options):
        outcome.at_least(ERRORS_FOUND)
    return outcome.code


def note(message: str) -> None:
    click.echo(f"dslint: {message}", err=True)


def _document(source: Source, options: Options, outcome: Outcome) -> Document | None:
    """The document of a file, or None after a note of why it cannot be read."""
    try:
        data = sys.stdin.buffer.read(options.max_bytes + 1) if source.is_stdin else read(source.name, options.max_bytes)
    except OSError as error:
        note(f"{source.name}: {describe(error)}")
        outcome.at_least(WRONG_USE)
        return None
    return load(options.stdin_name if source.is_stdin else source.name, data, max_bytes=options.max_bytes)


def _checked(workspace: Workspace, document: Document) -> Report | None:
    try:
        return workspace.check(document)
    except Fault:
        raise
    except Exception as error:
        raise CheckCrashed(document.file) from error


def _repaired(source: Source, report: Report, workspace: Workspace, options: Options, outcome: Outcome) -> Report:
    """The report of what remains once the repairs are made (and written, unless only their difference is wanted)."""
    from dslint.document.edits import FileChanged, encode, write
    from dslint.engine.fixes import fix

    before = report.document

    def diagnose(document: Document) -> Iterable[Diagnostic]:
        if document is before:
            return report.diagnostics
        again = _checked(workspace, document)
        return again.diagnostics if again else ()

    fixed = fix(before, diagnose, unsafe=options.unsafe)
    after = fixed.document
    if source.is_stdin and options.fix and not options.diff:
        click.echo(encode(before, after.text) if before.text else before.data, nl=False)
    if not fixed.applied:
        return report
    if not options.diff and not source.is_stdin:
        try:
            write(source.name, before.data, encode(before, after.text))
        except (FileChanged, OSError) as error:
            reason = describe(error) if isinstance(error, OSError) else "it was changed by someone else since it was read"
            note(f"{source.name}: not repaired: {reason}")
            outcome.at_least(WRONG_USE)
            return report
    outcome.before[before.file] = report
    outcome.mended += fixed.applied
    remaining = _checked(workspace, after)
    assert remaining is not None, "a repair made the file unrecognisable"
    return remaining


def _fails(outcome: Outcome, proofs: Iterable[Proof], options: Options) -> bool:
    bad = ("error", "warning") if options.strict else ("error",)
    remaining = any(diagnostic.severity in bad for report in outcome.reports for diagnostic in report.diagnostics)
    refuted = any(proof.state == "now" and proof.outcome.exit_code(options.strict) for proof in proofs)
    return remaining or refuted or (options.diff and bool(outcome.before))


def _print(outcome: Outcome, proofs: Sequence[Proof] | None, options: Options, *, stdin_repaired: bool) -> None:
    if options.diff:
        for report in outcome.reports:
            if (before := outcome.before.get(report.document.file)) is not None:
                click.echo(unified(before.document, report.document), nl=False)
        if remaining := sum(diagnostic.severity == "error" for report in outcome.reports for diagnostic in report.diagnostics):
            note(f"{remaining} error{'s' * (remaining != 1)} would remain; `dslint check` shows them")
        return
    if options.output == "json":
        from dslint.report import json

        text = json.render(outcome.reports, None if proofs is None else [proof.to_json() for proof in proofs])
    elif options.output == "concise":
        from dslint.report import concise

        text = concise.render(outcome.reports)
    elif outcome.reports:
        from dslint.report.text import render

        stream = sys.stderr if stdin_repaired else sys.stdout
        text = render(outcome.reports, mended=outcome.mended, colour=stream.isatty() and not os.environ.get("NO_COLOR"))
    else:
        text = ""
    if proofs and options.output != "json":
        text = "\n\n".join(filter(None, [text, *(proof.render() for proof in proofs)]))
    if text:
        click.echo(text, err=stdin_repaired, color=True)


def unified(before: Document, after: Document) -> str:
    """The difference of a repair as a patch."""
    from difflib import unified_diff

    lines = unified_diff(
        before.text.splitlines(keepends=True), after.text.splitlines(keepends=True), before.file, f"{after.file} (repaired)"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
