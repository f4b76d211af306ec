"""The command line: one module per command, loaded when it is called, and one handler for everything that goes wrong."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from dslint import __version__
from dslint.faults import Fault

# command -> one line of help; the module has the command's name and holds it as ``command``
COMMANDS = {
    "check": "Find, explain and repair what is wrong in training configs.",
    "explain": "Say what a code means, why it matters and how to mend it.",
    "rules": "List every rule.",
    "show": "Show the run as it will be, each value with its origin.",
    "convert": "Write the run for another framework, with an account of every key.",
    "migrate": "Bring older configs to a release of their framework, comments and all.",
    "diff": "Show what two runs would train differently, across frameworks.",
    "memory": "Say what a run needs of GPU, host and disk, and whether it fits.",
    "config": "Show the settings that hold for a file, and from where.",
    "schema": "Print the JSON Schema of a framework's config, for editors.",
    "verify": "Train a few real steps with a config.",
    "lsp": "Serve an editor: diagnostics while typing, hover, completion, quick fixes.",
}
ERRORS_FOUND, WRONG_USE, NOTHING_TO_READ, INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141


class LazyGroup(click.Group):
    """Knows the names of its commands and imports one only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dslint.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dslint")
def cli() -> None:
    """Checks, repairs and proves training configs before they cost a GPU hour."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit.

    Exit codes: 0 no error, 1 errors found, 2 wrong use or configuration, 3 nothing to read, 4 internal error, 130 interrupted.
    """
    gc.disable()  # a short process: looking for cycles costs a fifth of its time with many files and frees next to nothing
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has gone; nothing is left to be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except OSError as error:  # a full disk behind the output
        code = _unwritten(error)
    sys.exit(code)


def _unwritten(error: OSError) -> int:
    click.echo(f"dslint: the output cannot be written: {error.strerror or error}", err=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return WRONG_USE


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; whatever goes wrong is said on stderr."""
    try:
        with cli.make_context("dslint", list(sys.argv[1:] if arguments is None else arguments)) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Fault as fault:
        click.echo(f"dslint: {fault}", err=True)
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        click.echo("dslint: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # that of a file has its name
            raise
        from dslint.cli.crash import report_crash

        report_crash(error)
        return INTERNAL_ERROR
    return code if isinstance(code, int) else 0
