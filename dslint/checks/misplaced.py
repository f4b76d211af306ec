"""Blocks of another tool's name."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View

SCHEDULES = ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle", "LRRangeTest")


@check("lr-scheduler-block")
def lr_scheduler_block(view: View) -> Iterator[Finding]:
    """A schedule under the name lr_scheduler; one of DeepSpeed's own types only needs the other name."""
    if view.absent("lr_scheduler") or view.written("scheduler"):
        return
    block, path = view.raw("lr_scheduler"), view.path("lr_scheduler")
    fix = Fix("remove lr_scheduler", "unsafe", (Change("delete", path),))
    if isinstance(block, dict) and block.get("type") in SCHEDULES and isinstance(block.get("params"), dict):
        fix = Fix("rename it to scheduler", "safe", (Change("rename", path, to=(*path[:-1], "scheduler")),))
    yield Finding("lr_scheduler", fixes=(fix,))
