"""train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x data-parallel size, in all its forms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.generic import MAXIMUM_ISSUES
from dslint.engine.view import Finding, View
from dslint.schema.missing import MISSING
from dslint.schema.suggest import suggest

TOTAL, MICRO, STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
KEYS = (TOTAL, MICRO, STEPS)
# what may take a share of the ranks away from data parallelism, as far as the file says
SPLITTERS = ("sequence_parallel_size", "tensor_parallel.autotp_size", "pipeline.stages")
MAXIMUM_LISTED = 16


class Batch(NamedTuple):
    """The three numbers as the engine gets them; None where it (or the HF integration) works one out from the others."""

    total: int
    micro: int | None
    steps: int | None

    @property
    def known(self) -> int:
        """The product of what is given beside the total."""
        return (self.micro or 1) * (self.steps or 1)

    def fits(self, world: int) -> bool:
        exact = self.micro is not None and self.steps is not None
        share = self.known * world
        return self.total == share if exact else self.total % share == 0

    def worlds(self) -> list[int]:
        """The data-parallel sizes that it works with, ascending; empty when there is none."""
        if self.total % self.known:
            return []
        share = self.total // self.known
        if self.micro is not None and self.steps is not None:
            return [share]
        small = [world for world in range(1, min(share, 1 << 20) + 1) if world * world <= share and share % world == 0]
        return sorted({*small, *(share // world for world in small)})


def read_batch(view: View) -> Batch | None:
    """None where the total is not a positive number, or something written beside it is no positive number: other findings speak of that."""
    values: list[int | None] = []
    for path in KEYS:
        value = view.get(path)
        if value is MISSING and isinstance(plain := view.raw(path), (bool, float)) and plain == int(plain):
            value = int(plain)  # 2.0 and true count as whole numbers in the engine's arithmetic
        if isinstance(value, int) and value > 0:
            values.append(value)
        elif view.absent(path) or view.auto(path) or view.raw(path) is None:
            values.append(None)
        else:
            return None
    total, micro, steps = values
    if total is None or elastic(view):
        return None
    if steps is None and view.context == "hf" and view.absent(STEPS):
        steps = 1  # accelerate writes 1 where the key is not there
    return Batch(total, micro, steps)


def elastic(view: View) -> bool:
    """Does the elasticity block of older versions work out the batch?"""
    block = view.raw("elasticity")
    return isinstance(block, dict) and bool(block.get("enabled"))


def data_parallel_sizes(view: View) -> list[int]:
    """What the data-parallel size may be, the likeliest first; empty when the world size is unknown.

    Parallel dimensions that the script sets up (a pipeline, a tensor-parallel mesh) take ranks away from data parallelism; a config
    that mentions one is given the benefit of both.
    """
    world = view.fact("world_size")
    if not isinstance(world, int) or world < 1:
        return []
    splits = [value for path in SPLITTERS if isinstance(value := split_size(view, path), int) and value > 1]
    sizes = [world]
    for chosen in product(*[(1, split) for split in splits]):
        divisor = 1
        for split in chosen:
            divisor *= split
        if world % divisor == 0 and world // divisor not in sizes:
            sizes.append(world // divisor)
    return sizes


def split_size(view: View, path: str) -> object:
    value = view.get(path)
    return view.raw(path) if value is MISSING else value


@check("batch-product")
def batch_product(view: View) -> Iterator[Finding]:
    """All three are written and do not multiply out for the known world size."""
    batch, sizes = read_batch(view), data_parallel_sizes(view)
    if batch is None or batch.micro is None or batch.steps is None or not sizes or any(batch.fits(size) for size in sizes):
        return
    yield Finding(TOTAL, _values(batch, sizes), fixes=tuple(_repairs(view, batch, sizes[0])))


@check("batch-not-divisible")
def batch_not_divisible(view: View) -> Iterator[Finding]:
    """The total cannot be shared out among the ranks of the known world."""
    batch, sizes = read_batch(view), data_parallel_sizes(view)
    if batch is None or (batch.micro is not None and batch.steps is not None) or not sizes or any(batch.fits(size) for size in sizes):
        return
    share = batch.known * sizes[0]
    up, down = -(-batch.total // share) * share, batch.total // share * share
    fixes = [
        Fix(f"train_batch_size {total}", "unsafe", (Change("set", view.path(TOTAL), total),))
        for total in dict.fromkeys((down, up))
        if total
    ]
    yield Finding(TOTAL, {**_values(batch, sizes), "share": share, "factors": _factors(batch, sizes[0])}, fixes=tuple(fixes))


@check("batch-impossible")
def batch_impossible(view: View) -> Iterator[Finding]:
    """No world size at all makes the numbers fit."""
    batch = read_batch(view)
    if batch is None or data_parallel_sizes(view) or batch.worlds():
        return
    yield Finding(TOTAL, {**_values(batch, []), "known": batch.known, "factors": _factors(batch, None)})


@check("batch-world-sizes")
def batch_world_sizes(view: View) -> Iterator[Finding]:
    """Nobody said the world size: which ones the numbers allow."""
    batch = read_batch(view)
    if batch is None or data_parallel_sizes(view) or (batch.micro is None and batch.steps is None):
        return
    worlds = batch.worlds()
    if worlds and len(worlds) <= MAXIMUM_LISTED:
        named = ", ".join(map(str, worlds))
        exact = batch.micro is not None and batch.steps is not None
        yield Finding(TOTAL, {"worlds": f"world size {named}" if exact or len(worlds) == 1 else f"world sizes {named}"})


def _values(batch: Batch, sizes: list[int]) -> dict[str, object]:
    needed = None if batch.micro is None or batch.steps is None or batch.total % batch.known else batch.total // batch.known
    return {
        "total": batch.total,
        "micro": batch.micro,
        "steps": batch.steps,
        "world": " or ".join(map(str, sizes)),
        "product": " or ".join(str(batch.known * size) for size in sizes),
        "needed": f"; it would fit a data-parallel size of {needed}" if needed else "",
    }


def _factors(batch: Batch, world: int | None) -> str:
    parts = [f"{MICRO} {batch.micro}"] if batch.micro is not None else []
    parts += [f"{STEPS} {batch.steps}"] if batch.steps is not None else []
    parts += [f"world size {world}"] if world is not None else []
    return " x ".join(parts)


def _repairs(view: View, batch: Batch, world: int) -> Iterator[Fix]:
    assert batch.micro is not None
    assert batch.steps is not None
    product_ = batch.known * world
    yield Fix(f"train_batch_size {product_}", "unsafe", (Change("set", view.path(TOTAL), product_),))
    for path, other in ((STEPS, batch.micro), (MICRO, batch.steps)):
        if view.written(path) and batch.total % (other * world) == 0:
            value = batch.total // (other * world)
            yield Fix(f"{path} {value}", "unsafe", (Change("set", view.path(path), value),))


@check("no-batch-size")
def no_batch_size(view: View) -> Iterator[Finding]:
    """Neither the total nor the micro batch is given (null counts as not given); one that is only misspelt is said as that."""
    given = [path for path in (TOTAL, MICRO) if view.written(path) and view.raw(path) is not None]
    if given or elastic(view) or view.on("autotuning.enabled"):
        return
    unknown = [issue for issue in view.resolved.issues[:MAXIMUM_ISSUES] if issue.kind == "unknown" and "." not in issue.canonical]
    if any(suggest(issue.canonical, issue.block.keys) in (TOTAL, MICRO) for issue in unknown):
        return
    fix = Fix('"auto" for the HF integration to fill in', "unsafe", (Change("set", view.path(MICRO), "auto"),))
    one = Fix(f"{MICRO} 1", "unsafe", (Change("set", view.path(MICRO), 1),))
    yield Finding(next((path for path in (TOTAL, MICRO) if view.written(path)), TOTAL), fixes=(fix,) if view.context == "hf" else (one,))
