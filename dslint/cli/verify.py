"""``dslint verify FILE``: train a few real steps with one config."""

from __future__ import annotations

import json
from typing import Literal

import click

from dslint.document import Mapping, load, to_python
from dslint.document.load import MAXIMUM_BYTES, read
from dslint.faults import Fault


@click.command("verify", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the outcome is shown.")
@click.option(
    "--verify-timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="SECONDS", help="Limit of the verification."
)
@click.option("--strict", is_flag=True, help="No verdict counts as an error.")
@click.option("--context", type=click.Choice(["native", "hf"]), help="Who reads the file: DeepSpeed itself, or the HF integration.")
@click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Ranks of the run that the file is meant for.")
def command(
    file: str, output: str, verify_timeout: float, strict: bool, context: Literal["native", "hf"] | None, world_size: int | None
) -> int:
    """Train a small model for a few steps through the real engine with the DeepSpeed config FILE."""
    from dslint.verify.runner import verify

    try:
        data = read(file)
    except OSError as error:
        raise Fault(f"{file}: {error.strerror}") from None
    document = load(file, data, max_bytes=MAXIMUM_BYTES)
    if not isinstance(document.root, Mapping):
        raise Fault(f"{file}: {document.problems[0].message if document.problems else 'not a config: an object is wanted'}")
    outcome = verify(
        to_python(document.root), context=context, name=file, timeout=verify_timeout, world_size=world_size, text=document.text
    )
    click.echo(json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) if output == "json" else outcome.render())
    return outcome.exit_code(strict)
