"""``dslint explain``: one code, in full."""

from __future__ import annotations

import click

from dslint.catalogue import find
from dslint.explanation import explained_any


@click.command("explain", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("code", metavar="CODE|NAME")
def command(code: str) -> None:
    """Say what a code or a name of a rule means, why it matters and how to mend it."""
    click.echo(explained_any(find(code)))
