"""What ends a run: a fault that the user can put right, or a defect of dslint."""

from __future__ import annotations


class Fault(Exception):
    """Wrong use or wrong configuration (exit code 2); the message says what to write instead."""


class CheckCrashed(Exception):
    """A check raised while it looked at ``file``; the cause hangs on ``__cause__``."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file
