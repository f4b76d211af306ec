"""Verify one config: run it as it is, replace on a known error what this machine cannot do, judge what came of it."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal

from dslint.verify import checks, judge, known
from dslint.verify.outcome import Outcome, Substitution
from dslint.verify.pool import Pool, ServerDied
from dslint.verify.prepare import Prepared, prepare

STEPS = 6
NEEDED = ("torch", "deepspeed")
INSTALL = "pip install 'dslint-train[verify]'"
MOST_REPLACEMENTS = 6


def verify(
    config: dict[str, Any],
    *,
    context: Literal["native", "hf"] | None = None,
    name: str = "config",
    timeout: float = 300.0,
    world_size: int | None = None,
    steps: int = STEPS,
    text: str | None = None,
    pool: Pool | None = None,
) -> Outcome:
    """Train a small model with a DeepSpeed config through the real engine.

    ``timeout`` in seconds, for everything. ``world_size``: of the run that the config is meant for. ``steps``: optimizer
    steps at least. ``text``: the file, for the reader's own syntax. ``pool``: a server to use and leave running.
    """
    started = time.monotonic()
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        return Outcome(name, "unverified", f"{' and '.join(missing)} not installed: {INSTALL}")
    own = pool or Pool()
    try:
        outcome = _verify(own, started + timeout, config, context, name, world_size, steps, text)
    except ServerDied as error:
        outcome = Outcome(name, "unverified", str(error))
    finally:
        if pool is None:
            own.close()
    return replace(outcome, seconds=time.monotonic() - started)


def _verify(
    pool: Pool,
    limit: float,
    config: dict[str, Any],
    context: Literal["native", "hf"] | None,
    name: str,
    world_size: int | None,
    steps: int,
    text: str | None,
) -> Outcome:
    hello = pool.start(limit)
    if "error" in hello:
        return Outcome(name, "unverified", f"the engine cannot be imported: {hello['error']}", versions=hello["versions"])
    prepared = prepare(config, context, world_size, hello["gpus"])
    substitutions: list[Substitution] = []
    hidden: list[str] = []
    base = Outcome(name, "unverified", versions=hello["versions"], device="GPU" if hello["gpus"] else "CPU, gloo")
    while True:
        answer = pool.run(_request(prepared, steps, text), limit)
        error = judge.first_error(answer["ranks"])
        replacement = known.match(error.full, prepared) if error and not hello["gpus"] and len(substitutions) < MOST_REPLACEMENTS else None
        if replacement is None:
            break
        cause, prepared = replacement
        substitutions.append(Substitution(cause.what, cause.why))
        if cause.hides:
            hidden.append(f"{cause.what} ({cause.why})")
    base = replace(
        base,
        context=prepared.context,
        ranks=prepared.ranks,
        adjustments=prepared.adjustments,
        substitutions=tuple(substitutions),
        gpu_only=() if hello["gpus"] else tuple(known.gpu_only(config)),
        error=error,
    )
    prepared = replace(prepared, reservations=(*prepared.reservations, *hidden))
    return _judged(base, prepared, answer)


def _request(prepared: Prepared, steps: int, text: str | None) -> dict[str, Any]:
    optimizer = prepared.declared.optimizer or "adamw"
    return {
        "config": prepared.config,
        "written": prepared.written,
        "meant_for": prepared.meant_for,
        "ranks": prepared.ranks,
        "context": prepared.context,
        "client_optimizer": prepared.client_optimizer,
        "activation_checkpointing": prepared.activation_checkpointing,
        "replaced": prepared.replaced,
        "optimizer": optimizer,
        "steps": steps,
        "text": text,
        "engine": prepared.engine,
        "clipping": prepared.declared.clipping,
        "gather_on_save": prepared.declared.gather_on_save,
        "phases": [("train", prepared.ranks), ("resume", prepared.ranks)],
    }


def _judged(base: Outcome, prepared: Prepared, answer: dict[str, Any]) -> Outcome:
    """The outcome of the last run."""
    ranks = answer["ranks"]
    if base.error is not None:
        if base.error.ours:
            return replace(base, status="unverified", reason="dslint itself failed; please report it")
        if known.HERE_ONLY.search(base.error.full):
            return replace(base, status="unverified", reason="this machine cannot run it")
        return replace(base, status="fail", reason="the engine refuses it")
    if answer["timed_out"]:
        return replace(base, reason=f"did not end within the time limit (in: {judge.last_phase(ranks)})")
    measured = judge.reports(ranks)
    if len(measured) < prepared.ranks or len(judge.reports(ranks, "resumed")) < prepared.ranks:
        how = f"signal {signals[0]}" if (signals := judge.signals(ranks)) else "no word"
        return replace(base, reason=f"a rank ended with {how} (in: {judge.last_phase(ranks)})")
    run = checks.Run(prepared, measured, judge.reports(ranks, "resumed"), judge.reports(ranks, "reshaped"))
    rows = tuple(checks.rows(run))
    status, reason = judge.verdict(rows, prepared.reservations)
    steps = zip(*(report["losses"] for report in measured), strict=True)
    return replace(
        base,
        status=status,
        reason=reason,
        table=rows,
        losses=tuple(sum(losses) / len(losses) for losses in steps),
        learning_rates=tuple(measured[0]["rates"]),
        skipped_steps=tuple(measured[0]["skipped"]),
        bytes_per_rank=tuple(report["bytes"] for report in measured),
        device=base.device if base.device != "GPU" else measured[0]["device"],
    )
