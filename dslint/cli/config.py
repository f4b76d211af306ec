"""``dslint config FILE``: what holds for a file, and who says so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from dslint.cli.options import launch_options, workspace_of
from dslint.report.safe import printable
from dslint.workspace import Workspace


class Held(NamedTuple):
    """One value that holds for a file. ``origin``: the flag, file or setting that says it."""

    name: str
    value: Any
    origin: str


@click.command("config", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", metavar="FILE")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How it is shown.")
@click.option("--select", multiple=True, metavar="CODES", help="As for check.")
@click.option("--ignore", multiple=True, metavar="CODES", help="As for check.")
@launch_options
def command(file: str, output: str, **flags: Any) -> int:
    """Show the settings, versions and facts that hold for FILE, each with its origin. FILE need not exist."""
    workspace = workspace_of(flags)
    shown = list(held(workspace, file))
    if output == "json":
        settings = workspace.setup(file).settings.file or None
        values = [entry._asdict() for entry in shown]
        click.echo(json.dumps({"version": 1, "file": file, "settings": settings, "values": values}, ensure_ascii=False, indent=2))
        return 0
    names = max((len(entry.name) for entry in shown), default=0)
    width = max((len(str(entry.value)) for entry in shown), default=0)
    click.echo(f"{printable(file)}: {printable(workspace.setup(file).settings.file or 'no settings file')}")
    for entry in shown:
        click.echo(printable(f"  {entry.name:{names}}  {entry.value!s:{width}}  {entry.origin}"))
    return 0


def held(workspace: Workspace, file: str) -> Iterator[Held]:
    """Everything that holds for a file. Raises Fault."""
    project, settings = workspace.setup(file)
    own = os.path.basename(settings.file)
    if project.context:
        yield Held("context", project.context, "--context" if workspace.flags.context else "--env-file")
    for name, target in project.targets.items():
        yield Held(f"targets: {name}", target.version, target.origin)
    layers = [
        (workspace.flags.facts.values, "the command line"),
        (workspace.env.facts.values, "--env-file"),
        *((facts.values, f"{own}: per-file-facts: {pattern}") for pattern, facts in reversed(settings.facts_by_path(file))),
        (settings.facts.values, f"{own}: facts"),
    ]
    for name, value in project.facts.values.items():
        origin = next((origin for values, origin in layers if name in values), "known of the GPU")
        yield Held(f"facts: {name}", value, origin)
    chosen = workspace.select or settings.select
    for choice in (*chosen, *(settings.extend_select if chosen else ())):
        of_settings = f"{own}: {'extend-select' if choice in settings.extend_select else 'select'}"
        yield Held("select", str(choice), "--select" if choice in workspace.select else of_settings)
    for choice in workspace.ignore:
        yield Held("ignore", str(choice), "--ignore")
    for choice in settings.ignore:
        yield Held("ignore", str(choice), f"{own}: ignore")
    for per_file in settings.per_file_that_match(file):
        for choice in per_file.ignores:
            yield Held("ignore", str(choice), f"{own}: per-file-ignores: {per_file.pattern}")
    for choice, severity in settings.severities:
        yield Held("severity", f"{choice} {severity}", f"{own}: severity")
    for name, patterns in (("include", settings.include), ("exclude", settings.exclude)):
        for pattern in patterns:
            yield Held(name, pattern, f"{own}: {name}")
    for rule in settings.extra_rules:
        yield Held("extend-rules", f"{rule.id} {rule.name}", f"{own}: extend-rules")
