"""From a Plan that shards with FSDP to the run that verifies it."""

from __future__ import annotations

from dslint.verify.prepare import CPU_RANKS, MOST_ACCUMULATION, MOST_MICRO_BATCH, Declared, Prepared
from dslint.verify.subject import Subject

RATE = 1e-3


def prepare_fsdp(subject: Subject, gpus: int, nproc: int | None = None) -> Prepared:
    """``gpus``: on this machine; ``nproc``: ranks that were asked for."""
    plan = dict(subject.plan)
    ranks = nproc or gpus or CPU_RANKS
    notes = ["AdamW with lr 1e-3 in place of the script's own optimizer and schedule"]
    reservations: list[str] = []
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
            optimizer="AdamW",
            peak=RATE,
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
        arguments={"per_device_train_batch_size": micro, "gradient_accumulation_steps": accumulation},
    )
