"""What of a Plan memory depends on, completed with the defaults of the engine; each value that nobody said is named as an assumption."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dslint.memory.model import Model
from dslint.plan import Plan
from dslint.schema.missing import MISSING

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8, "float8_e4m3fn": 1}
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "bfp16": "bfloat16", "fp16": "float16", "float": "float32", "half": "float16"}
# the engine's own where the config is silent (deepspeed/runtime/zero/config.py: DeepSpeedZeroConfig)
BUCKET, PREFETCH, LIVE, PERSISTENCE, SUBGROUP = 500_000_000, 50_000_000, 1_000_000_000, 100_000, 1_000_000_000
USUAL_SEQUENCE = 2048


class Run(NamedTuple):
    """One training run, as far as its memory goes. Sizes of buckets are elements; ``assumptions``: what had to be assumed.

    ``weights``: the type that the forward pass computes in; ``stored``: that of the trainable weights between steps, ``master``: whether
    the optimizer has float32 copies of them beside.
    """

    engine: str
    stage: int
    sharding: str
    fsdp_version: int
    reshard: bool
    world: int
    per_node: int
    shard: int
    tensor: int
    pipeline: int
    sequence_parallel: int
    weights: str
    stored: str
    master: bool
    low_precision_master: bool
    low_precision_states: bool
    gradients: str
    optimizer: str
    micro: int
    accumulation: int
    sequence: int
    checkpointing: bool
    checkpointing_offload: bool
    attention: str
    fused_loss: bool
    offload_optimizer: str
    offload_parameters: str
    offload_ratio: float
    pin_memory: bool
    reduce_bucket: int
    allgather_bucket: int
    prefetch_bucket: int
    live_parameters: int
    persistence: int
    subgroup: int
    overlap: bool
    contiguous: bool
    secondary: int
    adapter: str
    rank: int
    targets: tuple[str, ...]
    bits: int
    gather_on_save: bool
    save_limit: int
    save_only_model: bool
    ram_efficient: bool
    assumptions: tuple[str, ...]

    @property
    def data_parallel(self) -> int:
        """Ranks that see different samples."""
        return max(1, self.world // (self.tensor * self.pipeline * self.sequence_parallel))

    @property
    def tokens(self) -> int:
        """Tokens of one forward pass on one device."""
        return math.ceil(self.micro * self.sequence / self.sequence_parallel)


class _Reader:
    """Reads a Plan; what is not said is assumed, and noted."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.assumed: list[str] = []

    def get(self, name: str, default: Any) -> Any:
        value = self.plan.get(name)
        return default if value is MISSING or value is None else value

    def number(self, name: str, default: int) -> int:
        value = self.get(name, default)
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else default

    def assume(self, name: str, default: int, what: str) -> int:
        value = self.plan.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        self.assumed.append(f"{what} {default}: {name} is not said")
        return default

    def on(self, name: str, default: bool = False) -> bool:
        value = self.get(name, default)
        return value if isinstance(value, bool) else default


def run_of(plan: Plan, model: Model, world: int | None, per_node: int | None = None, sequence: int | None = None) -> Run:
    """The run that a Plan describes for a model on ``world`` ranks."""
    read = _Reader(plan)
    engine = str(read.get("engine.kind", "ddp"))
    processes = world or read.number("launch.processes", 0)
    if not processes:
        processes = 1
        read.assumed.append("1 GPU: neither --gpu nor the launch says how many")
    stage = read.number("engine.zero_stage", 0) if engine == "deepspeed" else 0
    weights = _compute_dtype(read)
    deepspeed = engine == "deepspeed"
    stored = weights if deepspeed else "float32"
    master = deepspeed and weights != "float32"
    tensor, pipeline = read.number("parallel.tensor", 1), read.number("parallel.pipeline", 1)
    sequence_parallel = max(read.number("parallel.sequence", 1), read.number("parallel.context", 1))
    sharding = str(read.get("engine.sharding", "full" if engine == "fsdp" else "none"))
    ranks = max(1, processes // (max(1, tensor) * max(1, pipeline)))
    shard = read.number("parallel.shard", 0) or (min(ranks, per_node or 8) if sharding.startswith("hybrid") else ranks)
    width = model.hidden**2
    targets = read.get("adapter.targets", ())
    adapter = str(read.get("adapter.type", "full"))
    return Run(
        engine=engine,
        stage=stage,
        sharding=sharding,
        fsdp_version=read.number("engine.fsdp_version", 2),
        reshard=read.on("engine.reshard_after_forward", sharding in ("full", "hybrid")),
        world=processes,
        per_node=min(per_node or processes, processes),
        shard=max(1, shard),
        tensor=max(1, tensor),
        pipeline=max(1, pipeline),
        sequence_parallel=max(1, sequence_parallel),
        weights=weights,
        stored=stored,
        master=master,
        low_precision_master=read.on("engine.low_precision_master"),
        low_precision_states=read.on("engine.low_precision_states"),
        gradients=_dtype(read.get("engine.gradient_dtype", stored), stored),
        optimizer=_optimizer(read),
        micro=read.assume("batch.micro", 1, "a micro batch of"),
        accumulation=max(1, read.number("batch.accumulation", 1)),
        sequence=sequence or _sequence(read, model),
        checkpointing=read.on("checkpointing.on") or read.on("engine.activation_checkpointing"),
        checkpointing_offload=read.on("checkpointing.offload"),
        attention=str(read.get("load.attention", "sdpa")),
        fused_loss=read.on("load.fused_loss"),
        offload_optimizer=str(read.get("engine.offload_optimizer", "none")),
        offload_parameters=str(read.get("engine.offload_parameters", "none")),
        offload_ratio=float(read.get("engine.offload_ratio", 1.0)),
        pin_memory=read.on("engine.pin_memory", True),
        reduce_bucket=_bucket(read, "engine.reduce_bucket", BUCKET, width),
        allgather_bucket=_bucket(read, "engine.allgather_bucket", BUCKET, BUCKET),
        prefetch_bucket=_bucket(read, "engine.prefetch_bucket", PREFETCH, int(0.9 * width)),
        live_parameters=_bucket(read, "engine.live_parameters", LIVE, LIVE),
        persistence=_bucket(read, "engine.persistence_threshold", PERSISTENCE, 10 * model.hidden),
        subgroup=read.number("engine.subgroup", SUBGROUP),
        overlap=read.on("engine.overlap", stage == 3),
        contiguous=read.on("engine.contiguous_gradients", True),
        secondary=read.number("engine.secondary_shard", 1),
        adapter="" if adapter in ("full", "None") else adapter,
        rank=read.number("adapter.rank", 8),
        targets=tuple(targets) if isinstance(targets, (list, tuple)) else (str(targets),),
        bits=read.number("load.bits", 16),
        gather_on_save=read.on("engine.gather_on_save"),
        save_limit=read.number("save.limit", 0),
        save_only_model=read.on("save.only_model"),
        ram_efficient=read.on("engine.ram_efficient", True),
        assumptions=tuple(read.assumed),
    )


def _dtype(word: Any, default: str) -> str:
    text = str(word).removeprefix("torch.")
    return DTYPES.get(text, text if text in BYTES else default)


def _compute_dtype(read: _Reader) -> str:
    if read.on("precision.bf16") or read.get("precision.mixed", "no") == "bf16":
        return "bfloat16"
    if read.on("precision.fp16") or read.get("precision.mixed", "no") == "fp16":
        return "float16"
    return "float32"


def _optimizer(read: _Reader) -> str:
    said = read.plan.get("optimizer.type")
    if isinstance(said, str):
        return said
    read.assumed.append("AdamW: optimizer.type is not said")
    return "adamw"


def _sequence(read: _Reader, model: Model) -> int:
    said = read.plan.get("data.sequence_length")
    if isinstance(said, int) and said > 0:
        return said
    usual = min(USUAL_SEQUENCE, model.max_positions) if model.max_positions else USUAL_SEQUENCE
    read.assumed.append(f"sequences of {usual} tokens: no file says how long (--seq-len)")
    return usual


def _bucket(read: _Reader, name: str, default: int, auto: int) -> int:
    """The integration's fill from the model's width (transformers/integrations/deepspeed.py: trainer_config_finalize)."""
    value = read.plan.get(name)
    if value == "auto":
        return auto
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else default
