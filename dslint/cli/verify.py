"""``dslint verify FILE``: train a few real steps with one config."""

from __future__ import annotations

import json

import click

from dslint.cli import ERRORS_FOUND
from dslint.document import Mapping, load
from dslint.document.load import read
from dslint.faults import Fault
from dslint.formats.base import Context
from dslint.launch import Launch, facts_of_flags
from dslint.workspace import Workspace


@click.command("verify", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the outcome is shown.")
@click.option(
    "--verify-timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="SECONDS", help="Limit of the verification."
)
@click.option("--strict", is_flag=True, help="A verification without a verdict counts as an error.")
@click.option("--context", type=click.Choice(["native", "hf"]), help="Who reads the file: DeepSpeed itself, or the HF integration.")
@click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Ranks of the run that the file is meant for.")
@click.option(
    "--nproc", type=click.IntRange(min=1, max=64), metavar="N", help="Processes to train with: by default one on each GPU, else two."
)
def command(
    file: str, output: str, verify_timeout: float, strict: bool, context: Context | None, world_size: int | None, nproc: int | None
) -> int:
    """Train a small model for a few steps with FILE and the files that it names, through the engine that it is for."""
    from dslint.cli.proofs import prove

    try:
        document = load(file, read(file))
    except OSError as error:
        raise Fault(f"{file}: {error.strerror}") from None
    if not isinstance(document.root, Mapping):
        raise Fault(f"{file}: {document.problems[0].message if document.problems else 'a config is an object'}")
    workspace = Workspace(Launch(facts_of_flags(None, world_size, None), {}, context))
    proofs = prove(workspace.check(workspace.launches([document])), {}, workspace, verify_timeout, ranks=nproc)
    if not proofs:
        raise Fault(f"{file}: no config of a training run that dslint knows")
    click.echo(json.dumps(proofs[0].to_json(), ensure_ascii=False, indent=2) if output == "json" else proofs[0].render())
    return ERRORS_FOUND if proofs[0].outcome.exit_code(strict) else 0
