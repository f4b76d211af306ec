"""From what the ranks wrote down to a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dslint.verify import learning, model_size
from dslint.verify.known import ECHO
from dslint.verify.outcome import EngineError, Row, Status
from dslint.verify.prepare import Prepared
from dslint.verify.values import number, section

Notes = Sequence[dict[str, Any]]
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


def last_phase(ranks: Sequence[Notes]) -> str:
    phases = [note["phase"] for notes in ranks for note in notes if "phase" in note]
    return phases[-1] if phases else "start"


def first_error(ranks: Sequence[Notes]) -> EngineError | None:
    """The error that was raised first; one that only echoes another rank's end comes last."""
    errors = []
    for notes in ranks:
        phase = "start"
        for note in notes:
            phase = note.get("phase", phase)
            if "error" in note:
                errors.append((bool(ECHO.search(note["error"]["message"])), note["at"], _error(note["error"], phase)))
    return min(errors, key=lambda entry: entry[:2])[2] if errors else None


def _error(note: dict[str, Any], phase: str) -> EngineError:
    return EngineError(**{**note, "causes": tuple(note["causes"])}, phase=phase)


def reports(ranks: Sequence[Notes]) -> list[dict[str, Any]]:
    return [note["report"] for notes in ranks for note in notes if "report" in note]


def signals(ranks: Sequence[Notes]) -> list[int]:
    """The signals that ended ranks, SIGKILL by the server aside."""
    return [-note["exit"] for notes in ranks for note in notes if note.get("exit", 0) < 0]


def table(prepared: Prepared, measured: Sequence[dict[str, Any]]) -> tuple[Row, ...]:
    """What was declared beside what the engines are."""
    declared, found = prepared.declared, measured[0]["found"]
    ranks = declared.data_parallel
    rows = [
        Row("engine", "a DeepSpeed engine", found["engine"], "Engine" in found["engine"]),
        Row("ZeRO stage", str(declared.stage), str(found["stage"]), declared.stage == found["stage"]),
        Row("data-parallel ranks", str(ranks), str(found["world_size"]), ranks == found["world_size"]),
        Row("precision", declared.precision, found["precision"], declared.precision == found["precision"]),
        _optimizer_row(prepared, found),
        Row("scheduler", str(declared.scheduler), str(found["scheduler"]), declared.scheduler == found["scheduler"]),
    ]
    if found["stage"] in WRAPPERS:
        rows.append(_wrapper_row(found))
        if prepared.declared.data_parallel == prepared.ranks:
            rows += _shard_rows(found["stage"], ranks, measured)
    return tuple(rows)


def _optimizer_row(prepared: Prepared, found: dict[str, Any]) -> Row:
    """The optimizer as it was asked for in the run (after replacements, which are named elsewhere)."""
    kind = section(prepared.config, "optimizer").get("type")
    declared = kind if isinstance(kind, str) else prepared.client_optimizer
    classes = CLASSES.get(str(declared).lower(), (str(declared),))
    return Row("optimizer", str(declared), found["optimizer"], found["optimizer"].lower() in {name.lower() for name in classes})


def _wrapper_row(found: dict[str, Any]) -> Row:
    expected = WRAPPERS[found["stage"]]
    good = found["wrapper"] in expected or found["wrapper"].startswith("ZenFlow")
    return Row("optimizer wrapper", f"one of stage {found['stage']}", found["wrapper"], good)


def _shard_rows(stage: int, ranks: int, measured: Sequence[dict[str, Any]]) -> list[Row]:
    """Every rank holds its part of the whole, padding apart."""
    whole = model_size.PARAMETERS
    rows = []
    for what, key, split in (
        ("parameters on a rank", "parameter_shard", stage == 3),
        ("optimizer part on a rank", "optimizer_shard", True),
    ):
        expected = math.ceil(whole / ranks) if split else whole
        sizes = [report["found"][key] for report in measured]
        good = all(expected * 0.9 <= size <= expected * 1.1 + 512 for size in sizes)
        rows.append(Row(what, f"{expected:,} of {whole:,}", f"{max(sizes):,}", good))
    return rows


def verdict(prepared: Prepared, rows: Sequence[Row], measured: Sequence[dict[str, Any]]) -> tuple[Status, str]:
    """Status and reason of a run that came to its end."""
    wrong = [row for row in rows if not row.same]
    if wrong:
        return "fail", "trained something else than declared: " + "; ".join(f"{row.what} {row.found}, not {row.declared}" for row in wrong)
    report = measured[0]
    optimizer = report["found"]["optimizer"]
    if not all(math.isfinite(loss) for report in measured for loss in (*report["losses"], report["loss_after"])):
        if prepared.reservations:
            return "unverified", f"the loss is not finite here; {'; '.join(prepared.reservations)}"
        if learning.too_large(report["rates"], optimizer):
            return "unverified", f"the loss is not finite with a learning rate of {max(report['rates']):g}, too large for the small model"
        return "fail", "the loss is not finite"
    judged = _steps(prepared, report) or _checkpoint(measured) or _learned(measured, optimizer)
    if judged is not None:
        return judged
    if prepared.reservations:
        return "unverified", "; ".join(prepared.reservations)
    return "pass", ""


def _steps(prepared: Prepared, report: dict[str, Any]) -> tuple[Status, str] | None:
    """Were steps taken, and none skipped once the loss scale had settled?"""
    skipped, steps = report["skipped"], len(report["losses"])
    fp16 = section(prepared.config, "fp16")
    if not report["rates"]:
        if number(fp16.get("loss_scale")):
            return "fail", f"every step overflows and is skipped with the fixed loss_scale {fp16['loss_scale']}"
        return "unverified", f"the loss scale ({report['loss_scale']:g}) has not settled in {steps} steps, all of them skipped"
    settled = min(set(range(steps)) - set(skipped))
    later = [step for step in skipped if step > settled]
    grows = number(fp16.get("loss_scale_window")) or 1000
    if later and grows > steps:
        return "fail", f"steps {later} were skipped although the loss scale had settled"
    return None


def _checkpoint(measured: Sequence[dict[str, Any]]) -> tuple[Status, str] | None:
    for rank, report in enumerate(measured):
        checkpoint = report["checkpoint"]
        if not checkpoint["loaded"]:
            return "fail", "the checkpoint that was saved could not be loaded"
        if checkpoint["differences"]:
            return "fail", f"after loading the checkpoint rank {rank} differs in: {', '.join(checkpoint['differences'][:5])}"
        before, after = checkpoint["losses"]
        if not math.isclose(before, after, rel_tol=1e-5):
            return "fail", f"after loading the checkpoint the loss is {after:.6f}, not {before:.6f}"
    return None


def _learned(measured: Sequence[dict[str, Any]], optimizer: str) -> tuple[Status, str] | None:
    rates = measured[0]["rates"]
    before, after = (sum(report[name] for report in measured) / len(measured) for name in ("loss_before", "loss_after"))
    if not learning.enough(rates, optimizer):
        return "unverified", f"the learning rate of the first {len(rates)} steps (at most {max(rates):g}) is too small to see the loss fall"
    if after < before:
        return None
    if learning.too_large(rates, optimizer):
        return "unverified", f"the loss does not fall with a learning rate of {max(rates):g}, too large for the small model"
    if measured[0]["found"]["master_precision"] in ("bfloat16", "float16"):
        return "unverified", f"the loss does not fall: weights kept in 16 bits round steps of {max(rates):g} away"
    return "fail", f"the loss does not fall ({before:.4f} → {after:.4f}) with a learning rate of up to {max(rates):g}"
