"""From a Plan that shards with FSDP to the run that verifies it."""

from __future__ import annotations

from dslint.verify.prepare import CPU_RANKS, MOST_ACCUMULATION, MOST_MICRO_BATCH, Declared, Prepared
from dslint.verify.prepare_trainer import OPTIMIZERS
from dslint.verify.subject import Subject

# optimizers that torch has -> a learning rate with which a small model learns in a few steps
RATES = {"AdamW": 1e-3, "SGD": 1e-2, "Adagrad": 1e-2, "RMSprop": 1e-3}


def prepare_fsdp(subject: Subject, gpus: int, nproc: int | None = None) -> Prepared:
    """``gpus``: on this machine; ``nproc``: ranks that were asked for."""
    plan = dict(subject.plan)
    ranks = nproc or gpus or CPU_RANKS
    reservations: list[str] = []
    optimizer = _optimizer(plan.get("optimizer.type"), reservations)
    notes = [f"{optimizer} with lr {RATES[optimizer]:g} in place of the script's own learning rate and schedule"]
    version = plan.setdefault("engine.fsdp_version", 1 if subject.form == "accelerate" else 2)
    if (sharding := plan.get("engine.sharding", "full")) in ("hybrid", "hybrid_grad_op"):
        reservations.append("hybrid sharding needs several nodes; the run sharded over all ranks")
        plan["engine.sharding"] = sharding = "grad_op" if sharding == "hybrid_grad_op" else "full"
    if version == 1 and plan.get("engine.offload_parameters") == "cpu" and not gpus:
        reservations.append("FSDP1 offloads from a GPU only; the run kept its parameters where they were")
        plan["engine.offload_parameters"] = plan["engine.offload_optimizer"] = "none"
    mixed = plan.get("precision.mixed") or ("bf16" if plan.get("precision.bf16") else "fp16" if plan.get("precision.fp16") else "no")
    if mixed == "fp16":
        reservations.append("fp16 with its loss scaling needs a GPU; the run computed in float32")
        mixed = "no"
    micro, accumulation = plan.get("batch.micro", 2), plan.get("batch.accumulation", 1)
    micro = min(micro, MOST_MICRO_BATCH) if isinstance(micro, int) else MOST_MICRO_BATCH
    accumulation = min(accumulation, MOST_ACCUMULATION) if isinstance(accumulation, int) else 1
    clipping = plan.get("optimizer.clipping")
    offload = "cpu" if plan.get("engine.offload_parameters") == "cpu" else None
    return Prepared(
        config={},
        written={},
        meant_for=subject.world_size or ranks,
        ranks=ranks,
        context="hf",
        declared=Declared(
            engine=f"FSDP{version}",
            precision="bfloat16" if mixed == "bf16" else "float32",
            data_parallel=ranks,
            optimizer=optimizer,
            peak=RATES[optimizer],
            batch=micro * accumulation * ranks,
            clipping=float(clipping) if isinstance(clipping, (int, float)) and clipping else None,
            activation_checkpointing=bool(plan.get("engine.activation_checkpointing") or plan.get("checkpointing.on")),
            offload_parameters=offload,
            parameters_split=1 if sharding == "none" else ranks,
        ),
        client_optimizer=None,
        activation_checkpointing=False,
        adjustments=tuple(notes),
        reservations=tuple(reservations),
        engine="fsdp",
        plan={
            **{name: value for name, value in plan.items() if name.startswith(("model.", "engine.", "checkpointing."))},
            "run.mixed": mixed,
        },
        arguments={
            "per_device_train_batch_size": micro,
            "gradient_accumulation_steps": accumulation,
            "learning_rate": RATES[optimizer],
        },
    )


def _optimizer(asked: object, reservations: list[str]) -> str:
    """torch's class of the optimizer that was asked for: AdamW where none was, and, with a reservation, where torch has none of it."""
    name = "adamw" if asked is None else str(asked).lower()
    known = OPTIMIZERS.get(name) or next((kind for kind in RATES if kind.lower() == name), "")
    if known in RATES:
        return known
    reservations.append(f"optimizer {asked} is none of torch's; the run had AdamW in its place")
    return "AdamW"
