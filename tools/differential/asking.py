"""One JSON line each way between a run and a framework's worker; imported by the workers, in the framework's own environment.

A request is ``{"id", "text"}``, the answer ``{"id", "accept", "error_type", "error", "where", "environment"}``. Each text is judged in a
forked child, so that what one config leaves behind does not reach the next.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

SECONDS = 60


def serve(prepare: Callable[[], Callable[[str], None]], environment: tuple[str, ...]) -> None:
    """Answer until the requests end. ``prepare`` does what takes long, once; what it gives back raises where the framework refuses a text.

    ``environment``: words of refusals for which the machine is to blame.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what upstream prints at start belongs to no answer
    judge = prepare()
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps({"id": request["id"], **_verdict(judge, request["text"], environment)}) + "\n")
        answers.flush()
    answers.flush()
    os._exit(0)


def _verdict(judge: Callable[[str], None], text: str, environment: tuple[str, ...]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        answer: dict[str, Any] = {"accept": True, "error_type": None, "error": None, "where": None, "environment": False}
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                judge(text)
        except BaseException as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" in frame.filename]
            where = f"{frames[-1].filename.split('site-packages/')[-1]}:{frames[-1].name}" if frames else None
            blamed = any(sign in str(error) for sign in environment)
            answer = {"accept": False, "error_type": type(error).__name__, "error": str(error)[:600], "where": where, "environment": blamed}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    if said:
        return dict(json.loads(said))
    return {"accept": False, "error_type": "Died", "error": "the parser's process died", "where": None, "environment": True}
