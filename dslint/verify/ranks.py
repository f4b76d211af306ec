"""One rank of a verification: it writes down each phase as it comes to it, and at the end what it measured or what was raised."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from importlib import import_module
from typing import Any


class Notes:
    """A rank's own file of JSON lines in the scratch directory; it survives whatever happens to the process."""

    def __init__(self, rank: int) -> None:
        self._file = open(f"rank{rank}.jsonl", "a", encoding="utf-8")  # noqa: SIM115 (open until the process ends)

    def write(self, **note: Any) -> None:
        self._file.write(json.dumps({"at": time.time(), **note}) + "\n")
        self._file.flush()


# phase of a job -> the function of the engine's module, and what its result is called
PHASES = {"train": ("train", "report"), "resume": ("resume", "resumed"), "reshape": ("resume", "reshaped")}


def run(request: dict[str, Any], rank: int) -> None:
    """Do the request's phase with its engine, and end this process: interpreter exit under a process group has been seen to abort."""
    notes = Notes(rank)
    function, result = PHASES[request["phase"]]
    try:
        engine = import_module(f"dslint.verify.engines.{request['engine']}")
        notes.write(**{result: getattr(engine, function)({**request, "rank": rank}, rank, lambda phase: notes.write(phase=phase))})
        engine.wait_for_all()
        code = 0
    except BaseException as error:
        notes.write(error=describe(error))
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def causes(error: BaseException) -> list[str]:
    """What an error was raised from, or while handling, nearest first."""
    found: list[str] = []
    below = error.__cause__ or error.__context__
    while below is not None and len(found) < 10:
        found.append(f"{type(below).__name__}: {below}")
        below = below.__cause__ or below.__context__
    return found


def describe(error: BaseException) -> dict[str, Any]:
    """Type, message, causes and place (the innermost frame in an installed package) of what was raised.

    ``ours``: no package but dslint had a part in it, and it is not one that dslint raises in the place of a framework (``of_config``).
    """
    frames = traceback.extract_tb(error.__traceback__)
    installed = [frame for frame in frames if "-packages/" in frame.filename and "/dslint/verify/" not in frame.filename]
    last = (installed or frames)[-1:]
    where = "".join(f"{frame.filename.replace(os.sep, '/').split('-packages/')[-1]}:{frame.lineno} in {frame.name}" for frame in last)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "where": where,
        "ours": not installed and not getattr(error, "of_config", False),
        "causes": causes(error),
        "trace": "".join(traceback.format_exception(error))[-6000:],
    }
