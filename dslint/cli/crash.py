"""What is said of a defect of dslint itself."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback

import click

from dslint import __version__
from dslint.faults import CheckCrashed


def report_crash(error: BaseException) -> None:
    """Write the traceback to a log in the temporary directory and say on stderr where it is and what to report."""
    cause = error.__cause__ if isinstance(error, CheckCrashed) and error.__cause__ else error
    while_doing = f" while checking {error.file}" if isinstance(error, CheckCrashed) else ""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="backslashreplace", prefix="dslint-", suffix=".log", delete=False
    ) as log:
        log.write(f"dslint {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
        log.write(f"command: {' '.join(sys.argv)}\n\n")
        log.writelines(traceback.format_exception(error))
    click.echo(f"dslint: internal error{while_doing}: {type(cause).__name__}: {cause}", err=True)
    click.echo(f"This is a defect of dslint. Please report it with the log {log.name} and, if you can, the file.", err=True)
