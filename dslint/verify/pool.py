"""The parent's side of the fork server: start it, ask it, and be sure that it ends."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from dslint.verify import jail

# no stray file of a working directory can shadow a package; where dslint itself is, comes last
BOOT = "import sys; sys.path[:] = [p for p in sys.path if p] + [{root!r}]; from dslint.verify.server import main, rank; "
GRACE = 15.0


class ServerDied(Exception):
    """The server ended or did not answer in time; the message is what it last said."""


class Pool:
    """One fork server of this interpreter, started when it is first asked and used for any number of configs, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch = ""
        self._waiting = b""
        self.hello: dict[str, Any] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def start(self, limit: float) -> dict[str, Any]:
        """The server's hello; ``limit`` is a time of ``time.monotonic``. Raises ServerDied."""
        if self._process is None:
            boot = BOOT.format(root=str(Path(__file__).parents[2]))
            self._scratch = tempfile.mkdtemp(prefix="dslint-")
            self._process = subprocess.Popen(
                [sys.executable, "-c", boot + "main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**jail.environment(os.environ, self._scratch), "DSLINT_BOOT": boot},
                cwd=self._scratch,
                start_new_session=True,
            )
            self.hello = self._answer(limit)
        return self.hello

    def run(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Run one job, to end by ``limit``, a time of ``time.monotonic``. Raises ServerDied."""
        self.start(limit)
        assert self._process is not None
        assert self._process.stdin is not None
        seconds = max(0.1, limit - time.monotonic())
        try:
            self._process.stdin.write(json.dumps({**request, "seconds": seconds}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died("ended") from None
        return self._answer(limit + GRACE)

    def _answer(self, limit: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        channel = self._process.stdout.fileno()
        while b"\n" not in self._waiting:
            if not select.select([channel], [], [], max(0.0, limit - time.monotonic()))[0]:
                raise self._died("did not answer in time")
            block = os.read(channel, 1 << 16)
            if not block:
                raise self._died("ended")
            self._waiting += block
        line, self._waiting = self._waiting.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self, how: str) -> ServerDied:
        log = Path(self._scratch, "server.log")
        said = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""
        self.close()
        return ServerDied(f"the verification process {how}" + (f":\n{said}" if said else ""))

    def close(self) -> None:
        """End the server and everything below it, and remove its directory."""
        process, self._process, self._waiting = self._process, None, b""
        if process is None:
            return
        serving, self.hello = bool(self.hello), {}
        assert process.stdin is not None
        assert process.stdout is not None
        below = jail.descendants(process.pid)
        process.stdin.close()
        if below or not serving:
            process.kill()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for survivor in below:
            try:
                os.kill(survivor, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.stdout.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
