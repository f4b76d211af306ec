"""The Plan as a DeepSpeed config: for DeepSpeed alone (numbers), or for the Hugging Face integration ("auto" where it fills in)."""

from __future__ import annotations

from typing import Any

from dslint.convert.draft import Draft, Manner
from dslint.convert.engines import MASTER_WEIGHTS
from dslint.convert.names import DEEPSPEED_OPTIMIZERS, DEEPSPEED_SCHEDULES
from dslint.convert.run import leaves
from dslint.document import to_python
from dslint.engine.config import Config
from dslint.formats.deepspeed import FILLS
from dslint.schema.missing import MISSING

# FSDP's sharding -> the ZeRO stage that shards the same, and what differs
STAGES: dict[str, tuple[int, str]] = {
    "full": (3, ""),
    "grad_op": (2, ""),
    "none": (0, ""),
    "hybrid": (3, "parameters are sharded over all devices: set zero_hpz_partition_size to the devices of a node to keep a copy in each"),
    "hybrid_grad_op": (2, "gradients and optimizer are sharded over all devices, not within a node"),
}
OF_SCRIPT = "build it in the training script"
SCHEDULE = (
    "schedule.type",
    "schedule.warmup_steps",
    "schedule.warmup_ratio",
    "schedule.steps",
    "schedule.epochs",
    "schedule.min_lr",
    "schedule.max_lr",
)
# deepspeed/runtime/lr_schedules.py: WarmupLR.__init__; its counter starts at -1, so that the first two steps have the first rate
ONE_BEHIND = "DeepSpeed's schedule is one step behind that of transformers: its first two steps have the first rate"
LEAST_WARMUP = 2
PARAMETERS = {"optimizer.lr": "lr", "optimizer.betas": "betas", "optimizer.eps": "eps", "optimizer.weight_decay": "weight_decay"}


def write(draft: Draft) -> None:
    complete = draft.says("batch.micro") or draft.says("batch.total")
    write_config(draft, "", draft.wish.manner or ("resolve" if complete else "auto"), every=draft.wish.manner == "auto")
    for name in draft.run.values:
        draft.lose(name, "DeepSpeed's config has no key for it: it belongs into the training script or the trainer's arguments")


def zero_stage(draft: Draft) -> tuple[int, str]:
    """The ZeRO stage of the run, and what differs from what was said."""
    kind = draft.get("engine.kind", "ddp")
    if kind == "fsdp":
        stage, note = STAGES[str(draft.get("engine.sharding", "full"))]
        return stage, f"{note}; {MASTER_WEIGHTS}" if note else MASTER_WEIGHTS
    stage = draft.get("engine.zero_stage", 0)
    return (stage if isinstance(stage, int) else 0), ""


def write_config(draft: Draft, file: str, manner: Manner, *, every: bool = True) -> None:
    """Write the config into a file of the draft. A DeepSpeed config of the source goes over as it is, but for what is filled in.

    ``every``: with "auto", all that a trainer's file beside it says; else only what nobody says.
    """
    source = draft.run.config("deepspeed")
    writer = _Writer(draft, file, auto=manner == "auto", every=every)
    if source is not None:
        keep(writer, source)
        return
    draft.files.setdefault(file, {})
    writer.batch()
    writer.precision()
    writer.zero()
    writer.optimizer()
    writer.schedule()


def keep(writer: _Writer, source: Config) -> None:
    """The source's own config: its "auto" stays, or becomes what the run's other files say."""
    from dslint.convert.draft import Fate

    draft, file = writer.draft, writer.file
    node = source.document.node(source.mount)
    assert node is not None
    draft.files[file] = to_python(node)
    document = source.document.file
    for path in leaves(source):
        draft.kept[document, path] = Fate("carried", path)
    if writer.auto and not isinstance(draft.files[file].get("zero_optimization"), dict):
        # the Hugging Face integration needs the block (transformers/integrations/deepspeed.py); true is the form of 2020 of stage 1
        draft.files[file]["zero_optimization"] = {"stage": 1 if draft.files[file].get("zero_optimization") is True else 0}
    if not writer.auto:
        for path in source.resolved.autos:
            value = draft.get(FILLS.get(path, ""), MISSING)
            if value is MISSING:
                remove(draft.files[file], path.split("."))
                note = "the Hugging Face integration works it out from the model: DeepSpeed's own default holds"
                draft.kept[document, path] = Fate("approximate", path, note)
            else:
                draft.put(path, value, file=file)
                draft.kept[document, path] = Fate("carried", path)
        writer.complete()
    for name in draft.run.values:
        if any(statement.document is source.document for statement in draft.run.family.plan.all(name)):
            draft.fate(name, "carried", "")
    for name, key in {name: key for key, name in FILLS.items()}.items():
        if key in source.resolved.autos:
            draft.fate(name, "carried", key)


def remove(tree: dict[str, Any], path: list[str]) -> None:
    """Take a key out, and the blocks that are empty without it."""
    if len(path) > 1 and isinstance(tree.get(path[0]), dict):
        remove(tree[path[0]], path[1:])
        if not tree[path[0]]:
            del tree[path[0]]
    else:
        tree.pop(path[0], None)


class _Writer:
    """``auto``: the Hugging Face integration reads the file. ``every``: it is to fill in all that it can, not only what nobody says."""

    def __init__(self, draft: Draft, file: str, *, auto: bool, every: bool) -> None:
        self.draft = draft
        self.file = file
        self.auto = auto
        self.every = every

    def put(self, key: str, value: Any) -> None:
        self.draft.put(key, value, subject=key.split(".")[0], file=self.file)

    def value(self, name: str, key: str) -> None:
        """ "auto" where the integration fills it in from a trainer's file; else the number."""
        if self.auto and (self.every or not self.draft.says(name)):
            self.put(key, "auto")
            self.draft.fate(name, "carried", key)
        else:
            self.draft.carry(name, key, file=self.file)

    def complete(self) -> None:
        """What the integration adds without being asked: the batch, the trainer's own optimizer."""
        tree = self.draft.files[self.file]
        trains = self.draft.run.config("trainer", "axolotl", "llamafactory") is not None
        batch = {"train_micro_batch_size_per_gpu": "batch.micro", "gradient_accumulation_steps": "batch.accumulation"}
        if "train_batch_size" not in tree or self.draft.says("batch.micro"):
            for key, name in batch.items():
                if key not in tree and trains:
                    self.draft.carry(name, key, file=self.file)
        if "optimizer" not in tree and trains:
            self.optimizer()
        if "scheduler" not in tree and "optimizer" in tree and trains:
            self.schedule()

    def batch(self) -> None:
        self.value("batch.micro", "train_micro_batch_size_per_gpu")
        self.value("batch.accumulation", "gradient_accumulation_steps")
        if self.auto:
            self.put("train_batch_size", "auto")
        self.draft.fate("batch.total", "implied", "train_batch_size")
        if self.auto or self.draft.get("optimizer.clipping", 0):
            self.value("optimizer.clipping", "gradient_clipping")
        self.draft.fate("optimizer.clipping", "implied", "gradient_clipping")

    def precision(self) -> None:
        draft = self.draft
        for kind in ("bf16", "fp16"):
            if self.auto and (self.every or not draft.says(f"precision.{kind}")):
                self.put(f"{kind}.enabled", "auto")
                draft.fate(f"precision.{kind}", "carried", f"{kind}.enabled")
            elif draft.get(f"precision.{kind}") is True:
                self.put(f"{kind}.enabled", True)
                draft.fate(f"precision.{kind}", "carried", f"{kind}.enabled")
            draft.fate(f"precision.{kind}", "implied", f"{kind}.enabled")
        mixed = draft.get("precision.mixed")
        draft.fate("precision.mixed", "lost" if mixed == "fp8" else "carried", "" if mixed == "fp8" else f"{mixed}.enabled")

    def zero(self) -> None:
        draft = self.draft
        stage, note = zero_stage(draft)
        self.put("zero_optimization.stage", stage)
        if not note and draft.get("engine.kind", "deepspeed") != "deepspeed":
            note = "DeepSpeed replaces plain data parallelism, with float32 master weights of its own"
        draft.fate("engine.kind", "approximate" if note else "carried", "zero_optimization", note)
        draft.fate("engine.zero_stage", "carried", "zero_optimization.stage")
        for name in ("engine.sharding", "engine.reshard_after_forward"):
            draft.fate(name, "approximate", "zero_optimization.stage", note)
        for name, block, least in (("engine.offload_optimizer", "offload_optimizer", 1), ("engine.offload_parameters", "offload_param", 3)):
            device = draft.get(name, "none")
            if device == "none":
                draft.fate(name, "implied", f"zero_optimization.{block}.device")
            elif stage < least:
                draft.lose(name, f"ZeRO stage {stage} cannot offload it")
            else:
                self.put(f"zero_optimization.{block}.device", str(device))
                self.put(f"zero_optimization.{block}.pin_memory", True)
                draft.fate(name, "carried", f"zero_optimization.{block}.device")
        if stage == 3:
            self.put("zero_optimization.stage3_gather_16bit_weights_on_model_save", draft.get("engine.gather_on_save", True))
        draft.fate(
            "engine.gather_on_save", "carried" if stage == 3 else "implied", "zero_optimization.stage3_gather_16bit_weights_on_model_save"
        )
        from dslint.formats.accelerate.write import lose_wrapping

        lose_wrapping(draft)
        for name, key in (("parallel.tensor", "tensor_parallel.autotp_size"), ("parallel.sequence", "sequence_parallel_size")):
            if isinstance(size := draft.get(name), int) and size > 1:
                draft.carry(name, key, file=self.file)
            draft.fate(name, "implied", key)

    def optimizer(self) -> None:
        draft = self.draft
        if self.auto:
            return  # the trainer builds it from its own arguments
        if not any(draft.says(name) for name in ("optimizer.type", "optimizer.lr")):
            return
        name = str(draft.get("optimizer.type", "adamw_torch"))
        kind, note = DEEPSPEED_OPTIMIZERS.get(name, ("", ""))
        if not kind:
            self.put("zero_allow_untested_optimizer", True)
            for lost in ("optimizer.type", *PARAMETERS):
                draft.lose(lost, f"DeepSpeed has no optimizer {name}: {OF_SCRIPT}, and pass it to deepspeed.initialize")
            return
        self.put("optimizer.type", kind)
        draft.fate("optimizer.type", "approximate" if note else "carried", "optimizer.type", note)
        for parameter, key in PARAMETERS.items():
            if kind == "Lion" and key == "eps":
                draft.lose(parameter, "Lion has no epsilon")
            else:
                draft.carry(parameter, f"optimizer.params.{key}", file=self.file)

    def schedule(self) -> None:
        """A scheduler block; none for a constant rate, which is the optimizer's own."""
        draft = self.draft
        if self.auto:
            return
        common, steps = draft.get("schedule.type"), draft.get("schedule.steps")
        kind = DEEPSPEED_SCHEDULES.get(str(common))
        ends = kind is not None and kind != "WarmupLR"
        if common == "constant" and draft.says("optimizer.lr"):
            draft.fate("schedule.type", "carried", "optimizer.params.lr")
            self.lose_schedule(f"how long to train: {OF_SCRIPT}")
        elif kind is None or not draft.says("optimizer.lr") or "optimizer" not in draft.files[self.file]:
            self.lose_schedule(f"DeepSpeed has no schedule {common}: {OF_SCRIPT}")
        elif ends and not (isinstance(steps, int) and steps > 0):
            self.lose_schedule(f"{kind} needs total_num_steps, which only the data tells: add the scheduler with it, or {OF_SCRIPT}")
        else:
            self.put("scheduler.type", kind)
            draft.fate("schedule.type", "approximate", "scheduler.type", ONE_BEHIND)
            self.warmup()
            if kind == "WarmupCosineLR":
                self.put("scheduler.params.warmup_min_ratio", 0.0)
                self.put("scheduler.params.cos_min_ratio", 0.0)
            else:
                self.put("scheduler.params.warmup_min_lr", 0)
                self.put("scheduler.params.warmup_max_lr", draft.get("optimizer.lr"))
            if ends:
                draft.carry("schedule.steps", "scheduler.params.total_num_steps", file=self.file)
            self.lose_schedule(f"how long to train: {OF_SCRIPT}")

    def warmup(self) -> None:
        draft = self.draft
        steps = draft.get("schedule.warmup_steps", 0)
        if not steps and draft.get("schedule.warmup_ratio", 0):
            draft.lose("schedule.warmup_ratio", "a part of all steps, whose number only the data tells: set warmup_num_steps")
        note = "" if steps >= LEAST_WARMUP else f"DeepSpeed warms up for at least {LEAST_WARMUP} steps"
        self.put("scheduler.params.warmup_num_steps", max(int(steps), LEAST_WARMUP))
        self.put("scheduler.params.warmup_type", "linear")
        for name in ("schedule.warmup_steps", "schedule.warmup_ratio"):
            draft.fate(name, "approximate" if note else "carried", "scheduler.params.warmup_num_steps", note)

    def lose_schedule(self, note: str) -> None:
        for name in SCHEDULE:
            self.draft.lose(name, note)
