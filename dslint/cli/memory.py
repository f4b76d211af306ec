"""``dslint memory FILES``: what the run needs of GPU, host and disk, item by item, and whether the machine has it."""

from __future__ import annotations

import os
from typing import Any

import click

from dslint.cli import ERRORS_FOUND
from dslint.cli.options import launch_options, workspace_of
from dslint.cli.show import family_of
from dslint.document import Document
from dslint.engine.family import Family
from dslint.faults import Fault


@click.command("memory", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--model", metavar="DIR|CONFIG|NAME", help="The model: its folder, config.json, name on the Hub, or a size such as 7b.")
@click.option("--seq-len", type=click.IntRange(min=1), metavar="N", help="Tokens of each sample, where no file says it.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the ledger is shown.")
@launch_options
def command(files: tuple[str, ...], model: str | None, seq_len: int | None, output: str, **flags: Any) -> int:
    """Say what the run that FILES describe needs of each GPU, host and disk, and whether it fits; exit 1 when it does not."""
    from dslint.memory.ledger import ledger_of
    from dslint.memory.machine import machine_of
    from dslint.memory.run import run_of

    workspace = workspace_of(flags)
    family = family_of(files, workspace)
    shape = _model(model, family)
    facts = workspace.setup(family.roots[0].document.file).project.facts
    machine = machine_of(facts)
    ledger = ledger_of(run_of(family.plan, shape, machine.world, machine.per_node, seq_len), shape, machine)
    if output == "json":
        from dslint.report import memory_json

        click.echo(memory_json.render(ledger))
    else:
        from dslint.report import memory_text

        click.echo(memory_text.render(ledger))
    return ERRORS_FOUND if ledger.verdict == "does not fit" else 0


def _model(given: str | None, family: Family) -> Any:
    """The model of --model, or the one that the files name. Raises Fault, UnknownModel."""
    from dslint.memory.find import find_model

    if given is not None:
        return find_model(given, "")
    statement = family.plan.statement("model.path")
    if statement is None or not isinstance(statement.value, str):
        raise Fault("no file names the model; --model DIR, NAME or a size such as 7b says which")
    return find_model(statement.value, _folder(statement.document))


def _folder(document: Document | None) -> str:
    return os.path.dirname(document.file) if document is not None else ""
