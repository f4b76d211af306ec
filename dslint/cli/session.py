"""What ``dslint check`` does with its files: read, check, repair, verify, print, and the exit code of it all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import click

from dslint.cli import ERRORS_FOUND, NOTHING_TO_READ, WRONG_USE
from dslint.cli.inputs import Inputs, Source, collect, describe
from dslint.document import Document, load
from dslint.document.load import read
from dslint.engine.run import Launch, Report
from dslint.faults import Fault
from dslint.formats import FORMATS
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.cli.proofs import Proof
    from dslint.engine.fixes import Applied

# from so many files on they are checked in parts, by several processes
MANY = 400
PRECEDENCE = (0, NOTHING_TO_READ, ERRORS_FOUND, WRONG_USE)


Read: TypeAlias = tuple[Source, Document]


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
    launch: bool = False
    stdin_name: str = "<stdin>"
    max_bytes: int = 1_000_000
    verify_timeout: float = 300
    output_file: str | None = None
    statistics: bool = False
    write_baseline: str | None = None
    changed: str | None = None


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
    _leave_out_our_own(inputs, workspace, options)
    if options.changed is not None:
        from dslint.changed import changed_since

        changed = changed_since(options.changed)
        inputs.sources = [source for source in inputs.sources if os.path.realpath(source.name) in changed]
        inputs.directories = []  # one without a change holds nothing to read, and rightly so
    outcome = Outcome()
    for trouble in inputs.unreadable:
        note(trouble)
        outcome.at_least(WRONG_USE)
    read: list[Read] = []
    launches: list[Launch] = []
    if len(inputs.sources) >= MANY and _only_looks(inputs, workspace, options):
        files = _check_many(inputs, workspace, options, outcome)
    else:
        read = [(source, document) for source in inputs.sources if (document := _document(source, options, outcome)) is not None]
        launches = workspace.launches([document for _, document in read], together=options.launch)
        outcome.reports = workspace.check(launches)
        files = [(source, document.file) for source, document in read]
    known = _known(files, inputs, options, outcome)
    read = [(source, document) for source, document in read if document.file in known]
    if options.write_baseline:
        from dslint.baseline import write

        count = write(options.write_baseline, outcome.reports)
        note(f"{options.write_baseline}: {count} finding{'s' * (count != 1)} accepted")
        return outcome.code
    if options.fix or options.diff:
        _repair(read, launches, workspace, options, outcome)
    proofs = None
    if options.verify:
        from dslint.cli.proofs import prove

        proofs = prove(outcome.reports, outcome.before, workspace, options.verify_timeout, together=options.launch)
    _print(outcome, proofs, options, stdin_repaired=options.fix and any(source.is_stdin for source in inputs.sources))
    if not options.exit_zero and _fails(outcome, proofs or (), options):
        outcome.at_least(ERRORS_FOUND)
    return outcome.code


def _leave_out_our_own(inputs: Inputs, workspace: Workspace, options: Options) -> None:
    """What dslint itself writes is no config, where a directory holds it."""
    accepted = workspace.baseline.file if workspace.baseline is not None else None
    own = {os.path.realpath(name) for name in (accepted, options.write_baseline, options.output_file) if name}
    if own:
        inputs.sources = [source for source in inputs.sources if source.named or os.path.realpath(source.name) not in own]


def note(message: str) -> None:
    click.echo(f"dslint: {message}", err=True)


def _standard_input(max_bytes: int) -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer.read(max_bytes + 1)


def _document(source: Source, options: Options, outcome: Outcome) -> Document | None:
    """The document of a file, or None after a note of why it cannot be read."""
    try:
        data = _standard_input(options.max_bytes) if source.is_stdin else read(source.name, options.max_bytes)
    except OSError as error:
        note(f"{source.name}: {describe(error)}")
        outcome.at_least(WRONG_USE)
        return None
    return load(options.stdin_name if source.is_stdin else source.name, data, max_bytes=options.max_bytes)


def _only_looks(inputs: Inputs, workspace: Workspace, options: Options) -> bool:
    """Is nothing asked for that needs all files at once?"""
    changes = options.fix or options.diff or options.verify
    together = options.launch or workspace.overrides or workspace.env.document is not None
    return not changes and not together and not any(source.is_stdin for source in inputs.sources)


def _check_many(inputs: Inputs, workspace: Workspace, options: Options, outcome: Outcome) -> list[tuple[Source, str]]:
    """Check the files in parts, and return those that could be read."""
    from dslint.cli.progress import Progress
    from dslint.many import check_many

    with Progress("files") as progress:
        found = check_many(workspace, [source.name for source in inputs.sources], options.max_bytes, progress)
    for name, error in found.unreadable:
        note(f"{name}: {describe(error)}")
        outcome.at_least(WRONG_USE)
    outcome.reports = found.reports
    unread = {name for name, _ in found.unreadable}
    return [(source, source.name) for source in inputs.sources if source.name not in unread]


def _known(files: Sequence[tuple[Source, str]], inputs: Inputs, options: Options, outcome: Outcome) -> set[str]:
    """The files of a known format; the reports of others go, with a note where their own name was given."""
    formats = {report.document.file: report.format for report in outcome.reports if not report.mount}
    known: list[tuple[Source, str]] = []
    for source, file in files:
        form = formats.get(file)
        if form is not None or (file in formats and source.named and not options.skip_unknown):
            known.append((source, file))
        elif source.named and not options.skip_unknown:
            note(f"{file}: not a known config ({', '.join(FORMATS)}); --input-format says what it is")
            outcome.at_least(NOTHING_TO_READ)
    dropped = {file for _, file in files} - {file for _, file in known}
    outcome.reports = [report for report in outcome.reports if report.document.file not in dropped]
    holding = {source.directory for source, _ in known}
    for directory in inputs.directories:
        if directory not in holding:
            note(f"{directory}: holds no known config ({', '.join(FORMATS)})")
            outcome.at_least(NOTHING_TO_READ)
    return {file for _, file in known}


def _repair(read: Sequence[Read], launches: Sequence[Launch], workspace: Workspace, options: Options, outcome: Outcome) -> None:
    """Repair the named files (and write them, unless only their difference is wanted); the reports then are those of what remains."""
    from dslint.cli.repair import Repairs
    from dslint.document.edits import FileChanged, encode

    def check(documents: Sequence[Document]) -> list[Report]:
        return workspace.check(workspace.launches(documents, together=options.launch))

    repairs = Repairs([document for _, document in read], launches, check)
    for source, document in read:
        try:
            repairs.repair(document, unsafe=options.unsafe, save=not options.diff and not source.is_stdin)
        except (FileChanged, OSError) as error:
            reason = describe(error) if isinstance(error, OSError) else "it was changed by someone else since it was read"
            note(f"{source.name}: not repaired: {reason}")
            outcome.at_least(WRONG_USE)
        if source.is_stdin and options.fix and not options.diff:
            after = repairs.current[document.file]
            click.echo(encode(document, after.text) if document.text else document.data, nl=False)
    if repairs.before:
        outcome.before = {
            report.document.file: report for report in outcome.reports if report.document.file in repairs.before and not report.mount
        }
        outcome.mended = repairs.mended
        outcome.reports = check([repairs.current[document.file] for _, document in read])


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
    to_stderr = stdin_repaired and options.output_file is None
    stream = sys.stderr if to_stderr else sys.stdout
    text = _rendered(outcome, proofs, options, colour=options.output_file is None and stream.isatty() and not os.environ.get("NO_COLOR"))
    if proofs and options.output != "json":
        proved = "\n\n".join(proof.render() for proof in proofs)
        if options.output in ("text", "concise"):
            text = "\n\n".join(filter(None, [text, proved]))
        else:
            click.echo(proved, err=True)
    if options.output_file is not None:
        _write(options.output_file, text + "\n" if text else "")
    elif text:
        click.echo(text, err=to_stderr, color=True)


def _write(name: str, text: str) -> None:
    """Raises Fault where the file cannot be written."""
    try:
        with open(name, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise Fault(f"--output-file {name}: {describe(error)}") from None


def _rendered(outcome: Outcome, proofs: Sequence[Proof] | None, options: Options, *, colour: bool) -> str:
    """The reports in the wanted output; its module is loaded only then."""
    reports = outcome.reports
    if options.statistics:
        from dslint.report import statistics

        return statistics.render(reports)
    if options.output == "text":
        from dslint.report import text

        return text.render(reports, mended=outcome.mended, colour=colour) if reports else ""
    if options.output == "json":
        from dslint.report import json

        return json.render(reports, None if proofs is None else [proof.to_json() for proof in proofs])
    if options.output == "junit":
        from dslint.report import junit

        return junit.render(reports, strict=options.strict)
    from importlib import import_module

    return str(import_module(f"dslint.report.{options.output}").render(reports))


def unified(before: Document, after: Document) -> str:
    """The difference of a repair as a patch."""
    from difflib import unified_diff

    lines = unified_diff(
        before.text.splitlines(keepends=True), after.text.splitlines(keepends=True), before.file, f"{after.file} (repaired)"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
