"""What is looked at in a run that came to its end: one function for each thing, each with a verdict of its own.

A check returns None where nothing was declared that it could compare, or where the engine does not tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from dslint.verify import learning, schedules
from dslint.verify.outcome import Row, Status
from dslint.verify.prepare import Prepared
from dslint.verify.values import number, section


class Run(NamedTuple):
    """A run as it was prepared, and what its ranks report of training, of loading in fresh processes, and of loading on another number of ranks."""

    prepared: Prepared
    measured: Sequence[dict[str, Any]]
    resumed: Sequence[dict[str, Any]] = ()
    reshaped: Sequence[dict[str, Any]] = ()

    @property
    def report(self) -> dict[str, Any]:
        """The first rank's."""
        return self.measured[0]

    @property
    def found(self) -> dict[str, Any]:
        """What the first rank's engine turned out to be."""
        found: dict[str, Any] = self.measured[0]["found"]
        return found

    @property
    def plans_its_own_updates(self) -> bool:
        """ZenFlow sets the accumulation itself and updates in a process beside the training."""
        return bool(section(self.prepared.config, "zero_optimization", "zenflow"))


Check: TypeAlias = Callable[[Run], Row | None]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Register a check; they are made in the order of this module."""
    CHECKS.append(function)
    return function


def rows(run: Run) -> Iterator[Row]:
    """Every check that has something to say."""
    for one in CHECKS:
        if (row := one(run)) is not None:
            yield row


def compared(what: str, declared: Any, found: Any, same: bool | None = None) -> Row:
    """A row of something that must be as it was declared."""
    status: Status = "pass" if (declared == found if same is None else same) else "fail"
    return Row(what, str(declared), str(found), status)


HALF = ("bfloat16", "float16")
ADAM_CLASSES = ("FusedAdam", "DeepSpeedCPUAdam", "ZenFlowCPUAdam", "ZenFlowSelectiveAdamW", "Adam", "AdamW")
# optimizer type in lower case -> classes of its own; others have torch's class of that name
CLASSES = {
    "adam": ADAM_CLASSES,
    "adamw": ADAM_CLASSES,
    "lion": ("FusedLion", "DeepSpeedCPULion"),
    "lamb": ("FusedLamb",),
    "adagrad": ("Adagrad", "DeepSpeedCPUAdagrad"),
    "muon": ("MuonWithAuxAdam",),
}
# wrapper classes of the ZeRO stages
WRAPPERS = {
    1: ("DeepSpeedZeroOptimizer", "BF16_Optimizer", "ZenFlowZeroOptimizer"),
    2: ("DeepSpeedZeroOptimizer", "ZenFlowZeroOptimizer"),
    3: ("DeepSpeedZeroOptimizer_Stage3", "SuperOffloadOptimizer_Stage3"),
}


@check
def engine(run: Run) -> Row:
    return compared("engine", run.prepared.declared.engine, run.found["engine"])


@check
def zero_stage(run: Run) -> Row | None:
    return None if "stage" not in run.found else compared("ZeRO stage", run.prepared.declared.stage, run.found["stage"])


@check
def data_parallel(run: Run) -> Row:
    return compared("data-parallel ranks", run.prepared.declared.data_parallel, run.found["world_size"])


@check
def precision(run: Run) -> Row:
    return compared("precision", run.prepared.declared.precision, run.found["precision"])


@check
def accumulation_precision(run: Run) -> Row | None:
    """The precision in which gradients of the micro-batches are summed."""
    declared = run.prepared.declared.accumulated_in
    return None if declared is None else compared("gradients summed in", declared, run.found["accumulated_in"])


@check
def reduction_precision(run: Run) -> Row | None:
    """The precision of the sums over the ranks, as the collectives saw them."""
    declared, found = run.prepared.declared.reduced_in, run.report["reductions"]
    return None if declared is None or not found else compared("gradients reduced in", declared, " and ".join(found), declared in found)


@check
def batch(run: Run) -> Row | None:
    """Samples of one optimizer step: the engine's own numbers, as the config's numbers make them for this many ranks."""
    if run.prepared.declared.batch is None or run.plans_its_own_updates:
        return None
    found = run.found
    real = found["micro_batch"] * found["accumulation"] * found["world_size"]
    return compared("samples a step", run.prepared.declared.batch, real, run.prepared.declared.batch == real == found["batch"])


@check
def optimizer(run: Run) -> Row:
    """The optimizer as it was asked for in the run (after replacements, which are named elsewhere)."""
    declared = run.prepared.asked_optimizer
    classes = CLASSES.get(str(declared).lower(), (str(declared),))
    return compared("optimizer", declared, run.found["optimizer"], run.found["optimizer"].lower() in {name.lower() for name in classes})


@check
def scheduler(run: Run) -> Row:
    return compared("scheduler", run.prepared.declared.scheduler, run.found["scheduler"])


@check
def learning_rate(run: Run) -> Row | None:
    """The rate of each step as the declared schedule defines it; a schedule that ought to move and does not is said in words."""
    declared, rates = run.prepared.declared, run.report["all_rates"]
    if declared.peak is None or run.report["skipped"]:
        return None
    if declared.scheduler is None:
        return compared(
            "learning rate", f"{declared.peak:g}", _range(rates), all(math.isclose(rate, declared.peak, rel_tol=1e-6) for rate in rates)
        )
    expected = schedules.expected(declared.scheduler, declared.schedule, declared.peak, len(rates))
    if expected is None:
        return None
    same = all(math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-12) for one, other in zip(expected, rates, strict=True))
    if same and declared.warms_up and len(rates) > 1 and schedules.constant(rates):
        return Row("learning rate", f"a warm-up by {declared.scheduler}", f"{rates[0]:g} from the first step on", "fail")
    return compared("learning rate", _range(expected), _range(rates), same)


def _range(rates: Sequence[float]) -> str:
    return f"{rates[0]:g}" if schedules.constant(rates) else f"{rates[0]:g} to {rates[-1]:g}"


@check
def clipping(run: Run) -> Row | None:
    """No gradient that reaches the optimizer is longer than declared, and a longer one was seen to be cut."""
    limit, norms = run.prepared.declared.clipping, [pair for pair in run.report["norms"] if pair[1] is not None and math.isfinite(pair[1])]
    if not limit or not norms:
        return None
    longest = max(after for _, after in norms)
    cut = any(before is not None and before > limit * 1.01 >= after for before, after in norms)
    if longest > limit * 1.02:
        return Row("gradient clipping", f"{limit:g}", f"a gradient of norm {longest:.3g} reached the optimizer", "fail")
    return Row("gradient clipping", f"{limit:g}", f"{longest:.3g} at most" + ("" if cut else ", no longer one came up"), "pass")


@check
def activation_checkpointing(run: Run) -> Row | None:
    """A layer whose activations are recomputed is passed twice for each micro-batch."""
    if not run.prepared.declared.activation_checkpointing:
        return None
    passes = run.report["passes"]
    return Row("activation checkpointing", "on", f"{passes:.3g} passes of a layer for each micro-batch", "pass" if passes > 1.5 else "fail")


@check
def offload_optimizer(run: Run) -> Row | None:
    return _offload(run, "optimizer offload", run.prepared.declared.offload_optimizer, "offload_optimizer")


@check
def offload_parameters(run: Run) -> Row | None:
    return _offload(run, "parameter offload", run.prepared.declared.offload_parameters, "offload_parameters")


def _offload(run: Run, what: str, declared: str | None, key: str) -> Row | None:
    if declared is None:
        return None
    active = run.found[key]
    return Row(what, declared, "active" if active else "not active", "pass" if active else "fail")


@check
def wrapper(run: Run) -> Row | None:
    stage = run.found.get("stage")
    if stage not in WRAPPERS:
        return None
    found = run.found["wrapper"]
    return compared("optimizer wrapper", f"one of stage {stage}", found, found in WRAPPERS[stage] or found.startswith("ZenFlow"))


@check
def parameter_shard(run: Run) -> Row | None:
    return _shard(run, "parameters on a rank", "parameter_shard", run.prepared.declared.parameters_split)


@check
def optimizer_shard(run: Run) -> Row | None:
    return _shard(run, "optimizer part on a rank", "optimizer_shard", run.prepared.declared.optimizer_split)


def _shard(run: Run, what: str, key: str, parts: int | None) -> Row | None:
    """Every rank holds its part of the whole, padding apart."""
    if parts is None:
        return None
    whole = run.found["whole" if key == "parameter_shard" else "trained"]
    expected = math.ceil(whole / parts)
    sizes = [report["found"][key] for report in run.measured]
    good = all(expected * 0.9 <= size <= expected * 1.1 + 512 for size in sizes)
    return compared(what, f"{expected:,} of {whole:,}", f"{max(sizes):,}", good)


@check
def finite(run: Run) -> Row:
    losses = [loss for report in run.measured for loss in (*report["losses"], report["loss_after"])]
    if all(map(math.isfinite, losses)):
        return Row("loss", "finite", "finite", "pass")
    rates = run.report["rates"]
    if run.prepared.reservations:
        return Row("loss", "finite", "not finite", "unverified", f"the loss is not finite here; {'; '.join(run.prepared.reservations)}")
    if learning.too_large(rates, run.found["optimizer"]):
        why = f"the loss is not finite with a learning rate of {max(rates):g}, too large for the small model"
        return Row("loss", "finite", "not finite", "unverified", why)
    return Row("loss", "finite", "not finite", "fail", "the loss is not finite")


@check
def steps_taken(run: Run) -> Row:
    """Were steps taken, and none skipped once the loss scale had settled?"""
    report, fp16 = run.report, section(run.prepared.config, "fp16")
    skipped, steps = report["skipped"], len(report["losses"])
    found = f"{steps - len(skipped)} of {steps}"
    if not report["rates"]:
        if number(fp16.get("loss_scale")):
            why = f"every step overflows and is skipped with the fixed loss_scale {fp16['loss_scale']}"
            return Row("steps taken", "all", found, "fail", why)
        why = f"the loss scale ({report['loss_scale']:g}) has not settled in {steps} steps, all of them skipped"
        return Row("steps taken", "all", found, "unverified", why)
    settled = min(set(range(steps)) - set(skipped))
    later = [step for step in skipped if step > settled]
    if later and (number(fp16.get("loss_scale_window")) or 1000) > steps:
        return Row("steps taken", "all", found, "fail", f"steps {later} were skipped although the loss scale had settled")
    return Row("steps taken", "all", found, "pass")


@check
def checkpoint(run: Run) -> Row | None:
    """What was saved comes back in fresh processes, and the next losses are the same."""
    if run.plans_its_own_updates:
        return None
    for rank, (before, after) in enumerate(zip(run.measured, run.resumed, strict=False)):
        if not after["loaded"]:
            return Row("checkpoint", "comes back", "nothing", "fail", "the checkpoint that was saved could not be loaded")
        if after["differences"]:
            why = f"after loading the checkpoint rank {rank} differs in: {', '.join(after['differences'][:5])}"
            return Row("checkpoint", "comes back", "something else", "fail", why)
        for one, other in zip(before["continued"], after["losses"], strict=True):
            if not math.isclose(one, other, rel_tol=1e-4) and math.isfinite(one):
                if run.found["master_precision"] in HALF:
                    why = "weights and optimizer states kept in 16 bits are rounded when they are loaded: the next losses are others"
                    return Row("checkpoint", "comes back", "rounded", "unverified", why)
                why = f"after loading the checkpoint the loss is {other:.6f}, not {one:.6f}"
                return Row("checkpoint", "comes back", "something else", "fail", why)
    return Row("checkpoint", "comes back", "in fresh processes, with the same losses", "pass") if run.resumed else None


@check
def other_world(run: Run) -> Row | None:
    """The checkpoint on another number of ranks goes on where it ended."""
    if not run.reshaped:
        return None
    what = f"checkpoint on {len(run.reshaped)} rank{'s' * (len(run.reshaped) > 1)}"
    if not all(after["loaded"] for after in run.reshaped):
        return Row(what, "loads", "nothing", "fail", "the checkpoint could not be loaded on another number of ranks")
    loss, was = run.reshaped[0]["losses"][0], run.report["loss_after"]
    return Row(what, f"a loss of {was:.4f}", f"{loss:.4f}", "pass" if math.isclose(loss, was, rel_tol=1e-3) else "fail")


@check
def saved_16bit(run: Run) -> Row | None:
    saved = run.report.get("saved_16bit")
    if saved is None:
        return None
    found = f"{saved['bytes']:,} bytes" if saved["bytes"] else "nothing"
    return Row("16-bit model", "saved", found, "pass" if saved["said"] and saved["bytes"] > run.found["whole"] else "fail")


@check
def learned(run: Run) -> Row | None:
    measured, rates, kind = run.measured, run.report["rates"], run.found["optimizer"]
    before, after = (sum(report[name] for report in measured) / len(measured) for name in ("loss_before", "loss_after"))
    if not rates or not math.isfinite(after):
        return None
    found = f"{before:.4f} → {after:.4f}"
    if not learning.enough(rates, kind):
        why = f"the learning rate of the first {len(rates)} steps (at most {max(rates):g}) is too small to see the loss fall"
        return Row("memorises", "the loss falls", found, "unverified", why)
    if after < before:
        return Row("memorises", "the loss falls", found, "pass")
    if learning.too_large(rates, kind):
        why = f"the loss does not fall with a learning rate of {max(rates):g}, too large for the small model"
        return Row("memorises", "the loss falls", found, "unverified", why)
    if run.found["master_precision"] in HALF:
        why = f"the loss does not fall: weights kept in 16 bits round steps of {max(rates):g} away"
        return Row("memorises", "the loss falls", found, "unverified", why)
    return Row(
        "memorises", "the loss falls", found, "fail", f"the loss does not fall ({found}) with a learning rate of up to {max(rates):g}"
    )
