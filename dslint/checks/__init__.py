"""The Python behind the rules that a condition cannot say.

A check is a generator of findings over a view; the rule that names it gives message, severity and explanation. A new module of
checks is imported here, which registers them.
"""

from dslint.checks import batch, context, precision
from dslint.checks.registry import CHECKS, check

__all__ = ["CHECKS", "batch", "check", "context", "precision"]
