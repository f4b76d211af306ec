"""The Python behind the rules which a condition cannot say.

A check is a generator of findings over a view; the rule that names it gives message, severity and explanation. A module is imported when one
of its checks is asked for: most files need a few of them only.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import chain

from dslint.checks.registry import CHECKS, Check, check

# format -> where its checks are looked for first
MODULES: Mapping[str, tuple[str, ...]] = {
    "deepspeed": ("batch", "context", "misc", "misplaced", "optimizer", "precision", "scheduler", "zero"),
    "accelerate": ("accelerate", "fsdp"),
    "axolotl": ("axolotl",),
    "fsdp": ("fsdp",),
    "trainer": ("trainer",),
    "llamafactory": ("llamafactory",),
    "env": ("env",),
    "hostfile": ("env",),
}


def check_named(name: str, form: str) -> Check:
    """The check of this name, for a rule of this format. Raises KeyError where there is none."""
    for module in (*MODULES.get(form, ()), *chain.from_iterable(MODULES.values())):
        if name in CHECKS:
            break
        import_module(f"dslint.checks.{module}")
    return CHECKS[name]


def every_check() -> Mapping[str, Check]:
    for module in chain.from_iterable(MODULES.values()):
        import_module(f"dslint.checks.{module}")
    return CHECKS


__all__ = ["CHECKS", "Check", "check", "check_named", "every_check"]
