"""The Python behind the rules which a condition cannot say.

A check is a generator of findings over a view; the rule that names it gives message, severity and explanation.
"""

from dslint.checks import (
    accelerate,
    batch,
    context,
    env,
    fsdp,
    llamafactory,
    misc,
    misplaced,
    optimizer,
    precision,
    scheduler,
    trainer,
    zero,
)
from dslint.checks.registry import CHECKS, check

__all__ = [
    "CHECKS",
    "accelerate",
    "batch",
    "check",
    "context",
    "env",
    "fsdp",
    "llamafactory",
    "misc",
    "misplaced",
    "optimizer",
    "precision",
    "scheduler",
    "trainer",
    "zero",
]
