"""From a launch through the Trainer or Accelerate to the run that verifies it: batch and world scaled, every change named."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

from dslint.verify import model_size
from dslint.verify.fill import BATCH
from dslint.verify.prepare import (
    CPU_RANKS,
    MOST_ACCUMULATION,
    MOST_MICRO_BATCH,
    Declared,
    Prepared,
    cap,
    declared_by_deepspeed,
    redirect,
)
from dslint.verify.subject import Subject
from dslint.verify.values import number, on, section

TOTAL_STEPS = 100
# TrainingArguments' own defaults
MICRO, ACCUMULATION, CLIPPING, RATE = 8, 1, 1.0, 5e-5
# what a script that Accelerate launches gives its own optimizer
SCRIPT_RATE = 1e-3
# the Trainer's names of optimizers -> torch's classes; others come from packages that are not looked at here
OPTIMIZERS = {
    "adamw_torch": "AdamW",
    "adamw_torch_fused": "AdamW",
    "adamw_hf": "AdamW",
    "sgd": "SGD",
    "adagrad": "Adagrad",
    "rmsprop": "RMSprop",
    "adafactor": "Adafactor",
}
# arguments that name other devices or call home; what stands for them says the result
NOT_HERE = {"tf32": "TF32 needs a GPU", "torch_compile": "torch.compile is not run", "push_to_hub": "nothing is sent to the Hub"}
GPU_ONLY_ADAPTERS = ("qlora",)
LORA = ("lora", "qlora", "dora")


def prepare_trainer(subject: Subject, gpus: int, nproc: int | None = None) -> Prepared:
    """``gpus``: on this machine; ``nproc``: ranks that were asked for."""
    notes: list[str] = []
    reservations: list[str] = []
    ranks = nproc or gpus or CPU_RANKS
    arguments = dict(subject.arguments or {})
    config: dict[str, Any] | None = copy.deepcopy(subject.deepspeed)
    launcher = copy.deepcopy(subject.launcher)
    if config is not None and subject.arguments is not None:
        _take_over(arguments, config, subject)
    meant_for = _rescale(arguments, config, subject, ranks, notes)
    if config is not None:
        cap(config, ranks, notes)
        redirect(config, notes)
    if launcher is not None:
        _relaunch(launcher, ranks, notes)
    if subject.arguments is not None:
        _shorten(arguments, gpus, notes)
    adapter = _adapter(subject, notes, reservations)
    engine = "DistributedDataParallel" if ranks > 1 else "the model itself"
    return Prepared(
        config=config or {},
        written=copy.deepcopy(subject.deepspeed or {}),
        meant_for=meant_for,
        ranks=ranks,
        context="hf",
        declared=Declared(engine=engine, precision="float32", data_parallel=ranks),
        client_optimizer=None,
        activation_checkpointing=False,
        adjustments=tuple(notes),
        reservations=tuple(reservations),
        engine=subject.road,
        arguments=arguments,
        adapter=adapter,
        launcher=launcher,
        plan={name: value for name, value in subject.plan.items() if name.startswith(("model.", "engine.", "checkpointing."))},
    )


def _take_over(arguments: dict[str, Any], config: dict[str, Any], subject: Subject) -> None:
    """A DeepSpeed config without a trainer's file: the script's arguments are those that agree with it, as far as it says numbers."""
    if subject.form != "deepspeed":
        return
    params = section(config, "optimizer", "params")
    betas = params.get("betas")
    said = {
        "per_device_train_batch_size": config.get(BATCH[1]),
        "gradient_accumulation_steps": config.get(BATCH[2]),
        "max_grad_norm": config.get("gradient_clipping"),
        "learning_rate": params.get("lr"),
        "adam_epsilon": params.get("eps"),
        "weight_decay": params.get("weight_decay"),
        "adam_beta1": betas[0] if isinstance(betas, list) and len(betas) == 2 else None,
        "adam_beta2": betas[1] if isinstance(betas, list) and len(betas) == 2 else None,
        "warmup_steps": section(config, "scheduler", "params").get("warmup_num_steps"),
        "max_steps": section(config, "scheduler", "params").get("total_num_steps"),
    }
    arguments.update({name: value for name, value in said.items() if number(value) is not None})
    for name in ("bf16", "fp16"):
        if (enabled := section(config, name).get("enabled")) is not None:
            wanted = name == "bf16" and not on(section(config, "fp16").get("enabled")) if enabled == "auto" else on(enabled)
            arguments[name] = wanted
    arguments.setdefault("per_device_train_batch_size", MOST_MICRO_BATCH)


def _rescale(arguments: dict[str, Any], config: dict[str, Any] | None, subject: Subject, ranks: int, notes: list[str]) -> int:
    """The batch for the ranks at hand, in both places where they agree; where they do not, they are left for the Trainer to refuse."""
    names = ("per_device_train_batch_size", "gradient_accumulation_steps")
    micro, accumulation = arguments.get(names[0], MICRO), arguments.get(names[1], ACCUMULATION)
    total = number(config.get(BATCH[0])) if config is not None else None
    if not (_whole(micro) and isinstance(micro, int) and _whole(accumulation) and isinstance(accumulation, int)):
        return subject.world_size or ranks
    implied = total / (micro * accumulation) if total else None
    meant_for = subject.world_size or (int(implied) if implied and implied == int(implied) else ranks)
    small = {names[0]: min(micro, MOST_MICRO_BATCH), names[1]: min(accumulation, MOST_ACCUMULATION)}
    if config is not None:
        if total and total != micro * accumulation * meant_for:
            return meant_for
        pairs = ((BATCH[1], micro, small[names[0]]), (BATCH[2], accumulation, small[names[1]]))
        if any(number(config.get(name)) is not None and config[name] != was for name, was, _ in pairs):
            return meant_for
        for name, _, now in (*pairs, (BATCH[0], total, small[names[0]] * small[names[1]] * ranks)):
            if number(config.get(name)) is not None and config[name] != now:
                notes.append(f"{name} {config[name]} → {now}")
                config[name] = now
    for name, now in small.items():
        if name in arguments and arguments[name] != now:
            notes.append(f"{name} {arguments[name]} → {now}")
        arguments[name] = now
    return meant_for


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _relaunch(launcher: dict[str, Any], ranks: int, notes: list[str]) -> None:
    """Accelerate's launcher starts this many processes on this machine."""
    for name, here in (("num_processes", ranks), ("num_machines", 1), ("machine_rank", 0)):
        if launcher.get(name) is not None and launcher[name] != here:
            notes.append(f"{name} {launcher[name]} → {here}")
            launcher[name] = here
    block = section(launcher, "deepspeed_config")
    accumulation = block.get("gradient_accumulation_steps")
    if isinstance(accumulation, int) and accumulation > MOST_ACCUMULATION:
        notes.append(f"deepspeed_config.gradient_accumulation_steps {accumulation} → {MOST_ACCUMULATION}")
        block["gradient_accumulation_steps"] = MOST_ACCUMULATION
    if isinstance(block.get("deepspeed_multinode_launcher"), str):
        block.pop("deepspeed_multinode_launcher")


def _shorten(arguments: dict[str, Any], gpus: int, notes: list[str]) -> None:
    """A run over epochs of data that is not here gets a number of steps."""
    steps = arguments.get("max_steps")
    if not _whole(steps):
        arguments["max_steps"] = TOTAL_STEPS
        notes.append(f"max_steps {TOTAL_STEPS}: there is no data whose epochs could be counted")
    if not gpus:
        for name, why in NOT_HERE.items():
            if arguments.pop(name, None):
                notes.append(f"{name} left out: {why}")


def _adapter(subject: Subject, notes: list[str], reservations: list[str]) -> dict[str, Any]:
    """LoRA's numbers, as peft takes them; empty where every weight is trained."""
    plan = subject.plan
    kind = plan.get("adapter.type")
    if bits := plan.get("load.bits"):
        reservations.append(f"{bits}-bit weights need bitsandbytes and a GPU; the run had them in full precision")
    if kind not in LORA:
        return {}
    rank, alpha = plan.get("adapter.rank") or 8, plan.get("adapter.alpha")
    if isinstance(rank, int) and rank > model_size.HIDDEN:
        notes.append(f"rank of the adapter {rank} → {model_size.HIDDEN}")
        alpha, rank = alpha and alpha * model_size.HIDDEN // rank, model_size.HIDDEN
    targets = plan.get("adapter.targets")
    return {
        "r": rank,
        "lora_alpha": alpha or 2 * rank,
        "lora_dropout": plan.get("adapter.dropout") or 0.0,
        "target_modules": targets if targets and targets != ["all"] else "all-linear",
        "use_dora": kind == "dora",
    }


def declared_after(prepared: Prepared, subject: Subject, filled: dict[str, Any] | None) -> tuple[Declared, list[str]]:
    """What was declared, now that the Trainer has filled in each "auto"; and the values that it filled in."""
    arguments, stated = prepared.arguments, set(subject.arguments or {})
    bf16, fp16 = on(arguments.get("bf16")), on(arguments.get("fp16"))
    mixed = subject.plan.get("precision.mixed")
    precision = "bfloat16" if bf16 or mixed == "bf16" else "float16" if fp16 or mixed == "fp16" else "float32"
    checkpoints = on(arguments.get("gradient_checkpointing")) or on(arguments.get("activation_checkpointing"))
    clipping = number(arguments.get("max_grad_norm")) if "max_grad_norm" in stated else None
    micro, accumulation = arguments.get("per_device_train_batch_size"), arguments.get("gradient_accumulation_steps")
    batch = micro * accumulation * prepared.ranks if isinstance(micro, int) and isinstance(accumulation, int) else None
    peak, warmup = number(arguments.get("learning_rate")), number(arguments.get("warmup_steps")) or 0
    total = arguments.get("max_steps", TOTAL_STEPS)
    kind, optim = arguments.get("lr_scheduler_type", "linear"), str(arguments.get("optim", "adamw_torch"))
    ours = {"warmup": int(warmup) if warmup >= 1 else math.ceil(total * warmup), "total": total}
    plain = replace(
        prepared.declared,
        precision=precision,
        optimizer=OPTIMIZERS.get(optim, optim),
        scheduler=str(kind),
        schedule=ours,
        warms_up=ours["warmup"] > 1,
        peak=float(peak) if peak is not None else RATE,
        batch=batch,
        clipping=float(clipping) if clipping is not None else CLIPPING if filled is None else None,
        activation_checkpointing=checkpoints,
    )
    if filled is None:
        return plain, []
    by_config = declared_by_deepspeed(filled, prepared.ranks)
    if subject.road == "accelerate":
        own = not section(filled, "optimizer")
        return replace(by_config, optimizer="AdamW" if own else by_config.optimizer, peak=SCRIPT_RATE if own else by_config.peak), []
    chosen = "optim" in stated or not section(filled, "optimizer")
    scheduled = "lr_scheduler_type" in stated or not section(filled, "scheduler")
    declared = replace(
        by_config,
        optimizer=plain.optimizer if chosen else by_config.optimizer,
        scheduler=plain.scheduler if scheduled else by_config.scheduler,
        schedule=plain.schedule if scheduled else by_config.schedule,
        warms_up=plain.warms_up if scheduled else by_config.warms_up,
        peak=plain.peak,
        batch=plain.batch,
        clipping=plain.clipping or by_config.clipping,
        activation_checkpointing=checkpoints,
    )
    return declared, [f"auto: {path} = {value}" for path, value in _filled_in(prepared.config, filled)]


def _filled_in(config: dict[str, Any], filled: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in config.items():
        if isinstance(value, dict):
            found += _filled_in(value, section(filled, name), f"{prefix}{name}.")
        elif value == "auto" and filled.get(name) != "auto":
            found.append((f"{prefix}{name}", filled.get(name)))
    return found
