"""``dslint lsp``: the language server for editors, on standard input and output."""

from __future__ import annotations

import gc
import os
from importlib.util import find_spec
from typing import Any

import click

from dslint.cli.options import launch_options, workspace_of
from dslint.faults import Fault


@click.command("lsp", context_settings={"help_option_names": ["-h", "--help"]})
@launch_options
def command(**flags: Any) -> None:
    """Serve an editor over standard input and output: diagnostics while typing, hover, completion, quick fixes, linked files."""
    if find_spec("pygls") is None:
        raise Fault("the language server needs pygls: pip install 'dslint-train[lsp]'")
    workspace_of(flags)
    gc.enable()
    from dslint.lsp.server import server

    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # nothing but the protocol may reach the editor there
        server(lambda: workspace_of(flags)).start_io(asked, answers)
