"""Verify one launch: run it as it is, replace on a known error what this machine cannot do, judge what came of it."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from dslint.verify import checks, judge, known
from dslint.verify.model_size import SEQUENCE
from dslint.verify.outcome import Outcome, Substitution
from dslint.verify.pool import Pool, ServerDied
from dslint.verify.prepare import Prepared, prepare
from dslint.verify.prepare_fsdp import prepare_fsdp
from dslint.verify.prepare_trainer import TOTAL_STEPS, declared_after, prepare_trainer
from dslint.verify.subject import Subject, of_config

STEPS = 6
# packages that each road needs
NEEDED = {
    "deepspeed": ("torch", "deepspeed"),
    "trainer": ("torch", "deepspeed", "transformers", "accelerate"),
    "accelerate": ("torch", "deepspeed", "transformers", "accelerate"),
    "fsdp": ("torch", "transformers"),
}
INSTALL = "pip install 'dslint-train[verify]'"
MOST_REPLACEMENTS = 6


class Wish(NamedTuple):
    """What the person wants of a verification. ``timeout`` in seconds, for everything. ``steps``: optimizer steps at least. ``ranks``: processes,
    None for one on each GPU, else two. ``model``: a directory whose architecture is trained at its own width. ``sequence``: tokens of a sample.
    """

    timeout: float = 300.0
    steps: int = STEPS
    ranks: int | None = None
    model: str | None = None
    sequence: int | None = None


def verify(
    config: dict[str, Any],
    *,
    context: Literal["native", "hf"] | None = None,
    name: str = "config",
    world_size: int | None = None,
    text: str | None = None,
    pool: Pool | None = None,
    timeout: float = 300.0,
    ranks: int | None = None,
) -> Outcome:
    """Train a small model with a DeepSpeed config that stands for itself.

    ``world_size``: of the run that the config is meant for. ``text``: the file, for the reader's own syntax. ``pool``: a server to use and leave running.
    """
    return verify_subject(of_config(config, context, name, world_size, text), Wish(timeout, ranks=ranks), pool)


def verify_subject(subject: Subject, wish: Wish, pool: Pool | None = None) -> Outcome:
    """Train a small model through the road that the subject's files take."""
    started = time.monotonic()
    missing = [package for package in NEEDED[subject.road] if find_spec(package) is None]
    if missing:
        return Outcome(subject.name, "unverified", f"{' and '.join(missing)} not installed: {INSTALL}")
    own = pool or Pool()
    try:
        outcome = _verify(own, started + wish.timeout, subject, wish)
    except ServerDied as error:
        outcome = Outcome(subject.name, "unverified", str(error))
    finally:
        if pool is None:
            own.close()
    return replace(outcome, seconds=time.monotonic() - started)


def _verify(pool: Pool, limit: float, subject: Subject, wish: Wish) -> Outcome:
    hello = pool.start(limit)
    if "error" in hello:
        return Outcome(subject.name, "unverified", f"the engine cannot be imported: {hello['error']}", versions=hello["versions"])
    prepared = _prepared(subject, wish, hello["gpus"])
    substitutions: list[Substitution] = []
    hidden: list[str] = []
    base = Outcome(subject.name, "unverified", versions=hello["versions"], device="GPU" if hello["gpus"] else "CPU, gloo")
    while True:
        answer = pool.run(_request(prepared, subject, wish), limit)
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
        gpu_only=() if hello["gpus"] else tuple(known.gpu_only(prepared.config)),
        error=error,
    )
    prepared = replace(prepared, reservations=(*prepared.reservations, *hidden))
    return _judged(base, prepared, subject, answer)


def _prepared(subject: Subject, wish: Wish, gpus: int) -> Prepared:
    if subject.road == "deepspeed":
        assert subject.deepspeed is not None
        return prepare(subject.deepspeed, subject.context, subject.world_size, gpus, wish.ranks)
    return (prepare_fsdp if subject.road == "fsdp" else prepare_trainer)(subject, gpus, wish.ranks)


def _request(prepared: Prepared, subject: Subject, wish: Wish) -> dict[str, Any]:
    optimizer = prepared.asked_optimizer or "adamw"
    arguments = prepared.arguments
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
        "steps": wish.steps,
        "text": subject.text,
        "engine": prepared.engine,
        "clipping": arguments.get("max_grad_norm", 1.0) if prepared.engine == "trainer" else prepared.declared.clipping,
        "gather_on_save": prepared.declared.gather_on_save,
        "arguments": arguments,
        "adapter": prepared.adapter,
        "launcher": prepared.launcher,
        "plan": prepared.plan,
        "model": wish.model,
        "sequence": wish.sequence or SEQUENCE,
        "micro_batch": arguments.get("per_device_train_batch_size", 2),
        "accumulation": arguments.get("gradient_accumulation_steps", 1),
        "mixed": prepared.plan.get("run.mixed"),
        "total_steps": TOTAL_STEPS,
        "phases": _phases(prepared),
    }


def _phases(prepared: Prepared) -> list[tuple[str, int]]:
    """What is done one after the other, each with how many ranks; what FSDP 2 saves can be loaded on any number of them."""
    if prepared.arguments.get("save_only_model"):
        return [("train", prepared.ranks)]
    portable = prepared.declared.engine == "FSDP2" and prepared.ranks > 1
    return [("train", prepared.ranks), ("resume", prepared.ranks), *([("reshape", 1)] if portable else [])]


def _judged(base: Outcome, prepared: Prepared, subject: Subject, answer: dict[str, Any]) -> Outcome:
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
    measured, resumed = judge.reports(ranks), judge.reports(ranks, "resumed")
    if len(measured) < prepared.ranks or (len(resumed) < prepared.ranks and not prepared.arguments.get("save_only_model")):
        how = f"signal {signals[0]}" if (signals := judge.signals(ranks)) else "no word"
        return replace(base, reason=f"a rank ended with {how} (in: {judge.last_phase(ranks)})")
    if prepared.engine in ("trainer", "accelerate"):
        declared, filled = declared_after(prepared, subject, measured[0].get("filled"))
        prepared = replace(prepared, declared=declared)
        base = replace(base, adjustments=(*base.adjustments, *filled))
    rows = tuple(checks.rows(checks.Run(prepared, measured, resumed, judge.reports(ranks, "reshaped"))))
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
