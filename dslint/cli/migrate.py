"""``dslint migrate FILES --to FRAMEWORK==VERSION``: older configs brought to a release, comments and all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from dslint.cli import ERRORS_FOUND
from dslint.cli.inputs import describe
from dslint.cli.options import launch_options, workspace_of
from dslint.cli.session import unified
from dslint.document import Document, load
from dslint.document.edits import FileChanged, encode, write
from dslint.document.load import read
from dslint.faults import Fault
from dslint.launch import Launch
from dslint.migrate.steps import Migrated, migrate
from dslint.report.safe import printable
from dslint.targets import parse_targets


@click.command("migrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--to", "to", multiple=True, metavar="NAME==VERSION", help="The release to bring them to (repeatable); the newest known by default."
)
@click.option(
    "--from", "since", metavar="NAME==VERSION", help="The release that they were written for: defaults that changed since are written out."
)
@click.option("--diff", is_flag=True, help="Show the change and write nothing (the default).")
@click.option("--write", "save", is_flag=True, help="Write the files.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the steps are shown.")
@launch_options
def command(files: tuple[str, ...], to: tuple[str, ...], since: str | None, diff: bool, save: bool, output: str, **flags: Any) -> int:
    """Bring FILES to a release of their framework: keys that were renamed, moved or removed, each step with the release that asked for it.

    Exit 1 when something would change and was not written, or when something is left that no step can mend.
    """
    if diff and save:
        raise Fault("--diff only shows the change: leave it out, or --write")
    workspace = workspace_of(flags)
    targets = dict(parse_targets(to))
    workspace.flags = Launch(
        workspace.flags.facts, {**workspace.flags.targets, **targets}, workspace.flags.context, workspace.flags.document
    )
    old = next(iter(parse_targets((since,)).values())).version if since else None
    results = [(document, migrate(document, workspace, old)) for document in map(_read, files)]
    if save:
        for document, done in results:
            _save(document, done)
    if output == "json":
        click.echo(json.dumps({"version": 1, "files": [_json(*result) for result in results]}, ensure_ascii=False, indent=2, default=str))
    else:
        _print(results, save=save)
    open_ends = any(done.left for _, done in results)
    unwritten = not save and any(done.steps for _, done in results)
    return ERRORS_FOUND if open_ends or unwritten else 0


def _read(file: str) -> Document:
    try:
        return load(file, read(file))
    except OSError as error:
        raise Fault(f"{file}: {describe(error)}") from None


def _save(document: Document, done: Migrated) -> None:
    if not done.steps:
        return
    try:
        write(document.file, document.data, encode(document, done.document.text))
    except FileChanged as changed:
        raise Fault(str(changed)) from None
    except OSError as error:
        raise Fault(f"{document.file}: {describe(error)}") from None


def _print(results: Sequence[tuple[Document, Migrated]], *, save: bool) -> None:
    for document, done in results:
        if not save and done.steps:
            click.echo(unified(document, done.document), nl=False)
        if done.before:
            click.echo(printable(f"{document.file}: written for a release before {done.before}"), err=True)
        for step in done.steps:
            release = f" ({step.release})" if step.release else ""
            click.echo(printable(f"{document.file}: {step.path}: {step.title}{release}: {step.message}"), err=True)
        for kind, found in (("left", done.left), ("not of age", done.errors)):
            for one in found:
                click.echo(printable(f"{document.file}: {kind}: {one.code} {one.message}"), err=True)
        if not done.steps and not done.left:
            click.echo(printable(f"{document.file}: up to date"), err=True)


def _json(document: Document, done: Migrated) -> dict[str, Any]:
    def shown(found: Sequence[Any]) -> list[dict[str, str]]:
        return [{"code": one.code, "message": one.message} for one in found]

    return {
        "file": document.file,
        "written_before": done.before or None,
        "steps": [step._asdict() for step in done.steps],
        "left": shown(done.left),
        "errors": shown(done.errors),
    }
