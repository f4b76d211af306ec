"""The Python behind the rules that a condition cannot say.

A check is a generator of findings over a view; the rule that names it gives message, severity and explanation.
"""

from dslint.checks.registry import CHECKS, check

__all__ = ["CHECKS", "check"]
