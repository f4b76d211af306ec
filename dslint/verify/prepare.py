"""From a config to the run that verifies it: as little changed as the machine at hand allows, and every change named."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Literal

from dslint.verify import model_size
from dslint.verify.fill import BATCH, fill
from dslint.verify.values import number, on, section, stage_of

MOST_MICRO_BATCH = MOST_ACCUMULATION = 2
CPU_RANKS = 2
# DeepSpeed's words for precisions
DTYPES = {
    **dict.fromkeys(("fp32", "float32", "float", "torch.float32"), "float32"),
    **dict.fromkeys(("fp16", "float16", "half", "torch.float16"), "float16"),
    **dict.fromkeys(("bf16", "bfloat16", "bfp16", "torch.bfloat16"), "bfloat16"),
}
BUCKETS = ("reduce_bucket_size", "allgather_bucket_size", "stage3_prefetch_bucket_size", "prefetch_bucket_size")
# sections that write files or call home: (section, key of where to, None to switch it off)
OUTPUTS = (
    ("tensorboard", "output_path"),
    ("csv_monitor", "output_path"),
    ("flops_profiler", "output_file"),
    ("wandb", None),
    ("comet", None),
    ("autotuning", None),
)


@dataclass(frozen=True, slots=True)
class Declared:
    """What the files say will be trained, as far as a run can show it; None where they say nothing.

    ``optimizer`` in lower case, None when the script brings its own. ``peak``: the optimizer's learning rate. ``schedule``: what the scheduler is
    given. ``batch``: samples of one optimizer step. ``parameters_split``, ``optimizer_split``: over how many ranks. ``accumulated_in``,
    ``reduced_in``: precision of the gradients.
    """

    engine: str
    precision: str
    data_parallel: int
    stage: int = 0
    optimizer: str | None = None
    scheduler: str | None = None
    schedule: dict[str, Any] = field(default_factory=dict)
    warms_up: bool = False
    peak: float | None = None
    batch: int | None = None
    clipping: float | None = None
    activation_checkpointing: bool = False
    offload_optimizer: str | None = None
    offload_parameters: str | None = None
    parameters_split: int | None = None
    optimizer_split: int | None = None
    accumulated_in: str | None = None
    reduced_in: str | None = None
    gather_on_save: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """``written``: the config for the parser, meant for ``meant_for`` ranks. ``config``: the one that is run. ``engine``: the module that runs it;
    ``arguments``, ``adapter``, ``launcher``, ``plan``: what the roads through other frameworks need.

    ``reservations``: what could not be run as it is meant, so that a good end is not a proof.
    """

    config: dict[str, Any]
    written: dict[str, Any]
    meant_for: int
    ranks: int
    context: Literal["native", "hf"]
    declared: Declared
    client_optimizer: str | None
    activation_checkpointing: bool
    adjustments: tuple[str, ...]
    reservations: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    engine: str = "deepspeed"
    arguments: dict[str, Any] = field(default_factory=dict)
    adapter: dict[str, Any] = field(default_factory=dict)
    launcher: dict[str, Any] | None = None
    plan: dict[str, Any] = field(default_factory=dict)

    @property
    def asked_optimizer(self) -> str | None:
        """The optimizer of the run, after replacements."""
        if self.engine != "deepspeed":
            return self.declared.optimizer
        kind = section(self.config, "optimizer").get("type")
        return kind if isinstance(kind, str) else self.client_optimizer


def prepare(
    config: dict[str, Any], context: Literal["native", "hf"] | None, world_size: int | None, gpus: int, nproc: int | None = None
) -> Prepared:
    """``context``: who reads the file; where it is not known, the HF integration when there is an "auto" that it fills.

    ``world_size``: of the run that the config is meant for, where known. ``gpus``: on this machine. ``nproc``: ranks that were asked for.
    """
    reader: Literal["native", "hf"] = context or ("hf" if fill(config, 1)[1] else "native")
    notes: list[str] = []
    reservations: list[str] = []
    run = copy.deepcopy(config)
    ranks, model_parallel, batch_ranks = _ranks(run, gpus, nproc, notes, reservations)
    written = copy.deepcopy(config)
    if reader == "hf":
        written, filled = fill(config, world_size or ranks)
        notes += [f"auto: {note}" for note in filled]
        run, _ = fill(run, world_size or ranks)
    if section(run, "zero_optimization", "zenflow"):
        reservations.append("ZenFlow plans its updates over epochs and in a process of its own; a few steps on a CPU do not show them")
    meant_for = _meant_for(written, world_size, ranks)
    _rescale(run, meant_for, batch_ranks, notes)
    cap(run, ranks, notes)
    redirect(run, notes)
    return Prepared(
        config=run,
        written=written,
        meant_for=meant_for,
        ranks=ranks,
        context=reader,
        declared=_declared(written, run, ranks, ranks // model_parallel, batch_ranks),
        client_optimizer=_client_optimizer(run, notes),
        activation_checkpointing=reader == "native" and bool(section(run, "activation_checkpointing")),
        adjustments=tuple(notes),
        reservations=tuple(reservations),
    )


def _ranks(run: dict[str, Any], gpus: int, nproc: int | None, notes: list[str], reservations: list[str]) -> tuple[int, int, int]:
    """How many ranks to run, how many of them share one copy of the model, and by how many the batch counts.

    DeepSpeed's batch arithmetic knows of sequence parallelism and, without an mpu, not of tensor parallelism.
    """
    ranks = nproc or gpus or CPU_RANKS
    tensor = number(section(run, "tensor_parallel").get("autotp_size"))
    sequence = number(run.get("sequence_parallel_size"))
    if tensor and tensor > 1:
        ranks = gpus if gpus and gpus % 2 == 0 else 4
        notes.append(f"tensor_parallel.autotp_size {tensor} → 2 on {ranks} ranks")
        run["tensor_parallel"]["autotp_size"] = 2
        return ranks, 2, ranks
    if sequence and sequence > 1:
        run["sequence_parallel_size"] = ranks
        if "data_parallel_size" in run:
            run["data_parallel_size"] = 1
        notes.append(f"sequence_parallel_size {sequence} → {ranks}")
        reservations.append("sequence parallelism lives in the attention of the user's model, which is not run here")
        return ranks, ranks, 1
    return ranks, 1, ranks


def triple(config: dict[str, Any], world_size: int) -> tuple[float, float, float] | None:
    """Batch, micro-batch and accumulation as DeepSpeed completes them for a world size, or None where it refuses.

    Source: deepspeed/runtime/config.py, _set_batch_related_parameters and _batch_assertion.
    """
    values = [config.get(name) for name in BATCH]
    if any(value is not None and number(value) is None for value in values):
        return None
    total, micro, accumulation = (number(value) for value in values)
    if total is None and micro is None:
        return None
    if 0 in (micro, accumulation):
        return None
    if total is None:
        accumulation = accumulation or 1
        total = (micro or 0) * accumulation * world_size
    elif micro is not None:
        accumulation = accumulation if accumulation is not None else total // micro // world_size
    else:
        accumulation = accumulation or 1
        micro = total // world_size // accumulation
    assert micro is not None
    good = total > 0 and micro > 0 and accumulation > 0 and total == micro * accumulation * world_size
    return (total, micro, accumulation) if good else None


def _meant_for(config: dict[str, Any], world_size: int | None, ranks: int) -> int:
    """The world size that the batch numbers fit: the known one, the implied one, that of this machine, else 1."""
    if world_size:
        return world_size
    total, micro, accumulation = (number(config.get(name)) for name in BATCH)
    implied = [int(total // (micro * accumulation))] if total and micro and accumulation else []
    return next((size for size in (*implied, ranks, 1) if size > 0 and triple(config, size)), ranks)


def _rescale(run: dict[str, Any], meant_for: int, data_parallel: int, notes: list[str]) -> None:
    """The batch for the ranks at hand; numbers that fit no world size are left for the engine to refuse."""
    fitting = triple(run, meant_for)
    if fitting is None:
        return
    micro, accumulation = min(fitting[1], MOST_MICRO_BATCH), min(fitting[2], MOST_ACCUMULATION)
    for name, value in zip(BATCH, (micro * accumulation * data_parallel, micro, accumulation), strict=True):
        if run.get(name) is not None and run[name] != value:
            notes.append(f"{name} {run[name]} → {value}")
            run[name] = value


def cap(run: dict[str, Any], ranks: int, notes: list[str]) -> None:
    """Buckets no larger than the model, partitions no larger than the world."""
    zero = section(run, "zero_optimization")
    limits = {**dict.fromkeys(BUCKETS, model_size.PARAMETERS), "zero_hpz_partition_size": ranks, "mics_shard_size": ranks}
    for name, limit in limits.items():
        value = number(zero.get(name))
        if value is not None and value > limit:
            notes.append(f"zero_optimization.{name} {value:g} → {limit}")
            zero[name] = limit


def redirect(run: dict[str, Any], notes: list[str]) -> None:
    """Files go to the scratch directory, which is the working directory of the ranks."""
    for name, key in OUTPUTS:
        here = section(run, name)
        if on(here.get("enabled")) and key is None:
            here["enabled"] = False
            notes.append(f"{name} switched off")
        elif key is not None and isinstance(here.get(key), str):
            here[key] = f"./{name}"
            notes.append(f"{name}.{key} → the scratch directory")
    for name in ("offload_optimizer", "offload_param"):
        here = section(run, "zero_optimization", name)
        if isinstance(here.get("nvme_path"), str):
            here["nvme_path"] = "./nvme"
            notes.append(f"zero_optimization.{name}.nvme_path → the scratch directory")
    checkpoint = section(run, "checkpoint")
    if on(checkpoint.get("load_universal")):
        checkpoint["load_universal"] = False
        notes.append("checkpoint.load_universal switched off: the checkpoint that is loaded is one of this run")


def _client_optimizer(run: dict[str, Any], notes: list[str]) -> str | None:
    """The optimizer that a script brings along when the config names none."""
    kind = section(run, "optimizer").get("type")
    if kind:
        if str(kind).lower() == "muon":
            notes.append("Muon's kernels run without torch.compile")
        return None
    offloaded = section(run, "zero_optimization", "offload_optimizer").get("device") in ("cpu", "nvme")
    name = "DeepSpeedCPUAdam" if offloaded and run.get("zero_force_ds_cpu_optimizer", True) else "AdamW"
    notes.append(f"no optimizer in the config: the script's own {name} with lr 1e-3")
    return name


def declared_by_deepspeed(config: dict[str, Any], ranks: int) -> Declared:
    """What a config without "auto" says of a run on this many data-parallel ranks."""
    return _declared(config, config, ranks, ranks, ranks)


def _declared(written: dict[str, Any], run: dict[str, Any], ranks: int, data_parallel: int, batch_ranks: int) -> Declared:
    def wants(*names: str) -> bool:
        return any(on(value) or value == "auto" for name in names if (value := section(written, name).get("enabled")) is not None)

    kind, stage = section(written, "optimizer").get("type"), stage_of(written)
    scheduler, schedule = section(written, "scheduler").get("type"), section(run, "scheduler", "params")
    peak, clipping = number(section(run, "optimizer", "params").get("lr")), number(run.get("gradient_clipping"))
    fitting = triple(run, batch_ranks)
    sums, reduction = section(run, "data_types").get("grad_accum_dtype"), run.get("communication_data_type")
    alone = data_parallel == ranks
    return Declared(
        engine="DeepSpeedEngine",
        data_parallel=data_parallel,
        stage=stage,
        precision="bfloat16" if wants("bf16", "bfloat16") else "float16" if wants("fp16") else "float32",
        optimizer=kind.lower() if isinstance(kind, str) else None,
        scheduler=scheduler if isinstance(scheduler, str) else None,
        schedule=schedule,
        warms_up=(number(schedule.get("warmup_num_steps")) or 0) > 1,
        peak=float(peak) if peak is not None else None,
        batch=int(fitting[0]) if fitting and alone else None,
        clipping=float(clipping) if clipping else None,
        activation_checkpointing=bool(section(run, "activation_checkpointing")),
        offload_optimizer=_offloaded(run, "offload_optimizer", ("cpu_offload",)),
        offload_parameters=_offloaded(run, "offload_param", ("cpu_offload_param",)),
        parameters_split=(ranks if stage == 3 else 1) if stage and alone else None,
        optimizer_split=ranks if stage and alone else None,
        accumulated_in=DTYPES.get(str(sums).lower()) if sums else None,
        reduced_in=DTYPES.get(str(reduction).lower()) if reduction else None,
        gather_on_save=stage == 3 and on(section(run, "zero_optimization").get("stage3_gather_16bit_weights_on_model_save")),
    )


def _offloaded(run: dict[str, Any], block: str, switches: tuple[str, ...]) -> str | None:
    zero = section(run, "zero_optimization")
    device = section(zero, block).get("device")
    if device in ("cpu", "nvme"):
        return str(device)
    return "cpu" if any(on(zero.get(switch)) for switch in switches) and block not in zero else None
