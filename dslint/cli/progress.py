"""How far a long command is, on standard error, from its third second on."""

from __future__ import annotations

import sys
import time
from types import TracebackType

SILENT, TERMINAL, LOG = 2.0, 0.2, 10.0


class Progress:
    """Called with how many of how many are done. A terminal sees one line that changes, a log a line now and then."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.next = time.monotonic() + SILENT
        self.terminal = sys.stderr.isatty()
        self.shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + (TERMINAL if self.terminal else LOG)
        line = f"dslint: {done:,} of {total:,} {self.what}"
        sys.stderr.write(f"\r{line}" if self.terminal else f"{line}\n")
        sys.stderr.flush()
        self.shown = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown and self.terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
