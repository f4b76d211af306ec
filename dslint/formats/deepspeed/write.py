"""The Plan as a DeepSpeed config: for the Hugging Face integration ("auto" where it fills in), or for DeepSpeed alone (numbers)."""

from __future__ import annotations

from typing import Any

from dslint.convert.draft import Draft
from dslint.convert.names import DEEPSPEED_OPTIMIZERS, DEEPSPEED_SCHEDULES, optimizer_in_common, schedule_in_common
from dslint.schema.missing import MISSING

# FSDP's sharding -> the ZeRO stage that shards the same, and what differs
STAGES: dict[str, tuple[int, str]] = {
    "full": (3, ""),
    "grad_op": (2, ""),
    "none": (0, ""),
    "hybrid": (3, "parameters are sharded within a node by zero_hpz_partition_size; optimizer and gradients are sharded over all devices"),
    "hybrid_grad_op": (2, "gradients and optimizer are sharded over all devices, not within a node"),
}
MASTER_WEIGHTS = "DeepSpeed keeps float32 master weights; FSDP trains in the type that the model was loaded in"


def write(draft: Draft, file: str = "") -> None:
    """Write the config into a file of the draft."""
    engine = _Writer(draft, file)
    engine.batch()
    engine.precision()
    engine.zero()
    engine.optimizer()
    engine.schedule()


class _Writer:
    def __init__(self, draft: Draft, file: str) -> None:
        self.draft = draft
        self.file = file
        self.auto = draft.manner == "auto"

    def value(self, name: str, key: str, value: Any = MISSING, *, note: str = "") -> None:
        """ "auto" where the integration fills it in and a trainer's file says it; else the number."""
        if self.auto and not note:
            self.draft.put(key, "auto", self.file)
            self.draft.fate(name, "carried", key)
        else:
            self.draft.carry(name, key, value, file=self.file, note=note)

    def batch(self) -> None:
        self.value("batch.micro", "train_micro_batch_size_per_gpu")
        self.value("batch.accumulation", "gradient_accumulation_steps")
        if self.auto:
            self.draft.put("train_batch_size", "auto", self.file)
        self.draft.fate("batch.total", "implied", "train_batch_size")
        self.value("optimizer.clipping", "gradient_clipping")

    def precision(self) -> None:
        draft = self.draft
        mixed = draft.get("precision.mixed")
        for kind in ("bf16", "fp16"):
            on = draft.get(f"precision.{kind}", mixed == kind)
            if self.auto and draft.says(f"precision.{kind}"):
                self.value(f"precision.{kind}", f"{kind}.enabled")
            elif on is True or on == "true":
                draft.put(f"{kind}.enabled", True, self.file)
                draft.fate(f"precision.{kind}", "carried", f"{kind}.enabled")
            else:
                draft.fate(f"precision.{kind}", "implied", f"{kind}.enabled")
        draft.fate("precision.mixed", "carried" if mixed in ("bf16", "fp16", "no") else "lost", f"{mixed}.enabled", "")
        draft.lose("precision.fp8", "DeepSpeed has no switch for it: use Accelerate's fp8 or Transformer Engine in the training script")

    def zero(self) -> None:
        draft = self.draft
        kind = draft.get("engine.kind", "ddp")
        stage, note = draft.get("engine.zero_stage", 0), ""
        if kind == "fsdp":
            sharding = draft.get("engine.sharding", "full")
            if draft.get("engine.reshard_after_forward") is False and sharding == "full":
                sharding = "grad_op"
            stage, note = STAGES.get(str(sharding), (3, ""))
            note = note or MASTER_WEIGHTS
        draft.put("zero_optimization.stage", stage, self.file)
        draft.fate(
            "engine.kind", "carried" if kind == "deepspeed" else "approximate", "zero_optimization", "" if kind == "deepspeed" else note
        )
        draft.fate("engine.zero_stage", "carried", "zero_optimization.stage")
        draft.fate("engine.sharding", "approximate", "zero_optimization.stage", note)
        draft.fate(
            "engine.reshard_after_forward",
            "approximate",
            "zero_optimization.stage",
            "stage 3 frees parameters after use, stage 2 keeps them",
        )
        self.offload(stage)
        if stage == 3:
            draft.put("zero_optimization.stage3_gather_16bit_weights_on_model_save", draft.get("engine.gather_on_save", True), self.file)
        draft.fate("engine.gather_on_save", "carried", "zero_optimization.stage3_gather_16bit_weights_on_model_save")
        for name in ("engine.wrap_policy", "engine.wrap_classes", "engine.wrap_size", "engine.fsdp_version"):
            draft.lose(name, "ZeRO shards parameter by parameter and needs no wrapping")
        draft.fate(
            "engine.state_dict", "approximate", "", "DeepSpeed always writes sharded checkpoints; zero_to_fp32.py makes one file of them"
        )
        draft.fate(
            "engine.ram_efficient", "approximate", "", "stage 3 loads the model in shards by itself under the Hugging Face integration"
        )
        draft.lose("engine.activation_checkpointing", "turn on gradient_checkpointing in the trainer's arguments")

    def offload(self, stage: int) -> None:
        draft = self.draft
        for name, block, least in (("engine.offload_optimizer", "offload_optimizer", 1), ("engine.offload_parameters", "offload_param", 3)):
            device = draft.get(name)
            if device in (MISSING, "none", None, False):
                draft.fate(name, "implied", f"zero_optimization.{block}.device")
            elif stage < least:
                draft.lose(name, f"ZeRO stage {stage} cannot offload it")
            else:
                key = f"zero_optimization.{block}"
                draft.carry(name, f"{key}.device", str(device), file=self.file)
                draft.put(f"{key}.pin_memory", True, self.file)

    def optimizer(self) -> None:
        draft = self.draft
        name = draft.get("optimizer.type")
        statement = draft.plan.statement("optimizer.type")
        if statement is None or (statement.origin == "default" and not self.auto):
            kind, note = "AdamW", ""
        else:
            common = optimizer_in_common(statement.form, str(name)) or ""
            kind, note = DEEPSPEED_OPTIMIZERS.get(common, ("", ""))
        if not kind:
            draft.lose(
                "optimizer.type",
                f"DeepSpeed has no optimizer of that kind ({name}): build it in the training script and pass it to deepspeed.initialize",
            )
            draft.put("zero_allow_untested_optimizer", True, self.file)
            return
        draft.put("optimizer.type", kind, self.file)
        draft.fate("optimizer.type", "approximate" if note else "carried", "optimizer.type", note)
        params = {"optimizer.lr": "lr", "optimizer.betas": "betas", "optimizer.eps": "eps", "optimizer.weight_decay": "weight_decay"}
        for parameter, key in params.items():
            if (kind in ("SGD", "Lion") and key in ("eps",)) or (kind == "SGD" and key == "betas"):
                draft.lose(parameter, f"{kind} has no such parameter")
            else:
                self.value(parameter, f"optimizer.params.{key}")

    def schedule(self) -> None:
        draft = self.draft
        statement = draft.plan.statement("schedule.type")
        steps, warmup = draft.get("schedule.steps"), draft.get("schedule.warmup_steps")
        common = schedule_in_common(statement.form, str(statement.value)) if statement is not None else None
        kind = DEEPSPEED_SCHEDULES.get(common or "")
        if kind is None:
            for name in (
                "schedule.type",
                "schedule.warmup_steps",
                "schedule.warmup_ratio",
                "schedule.min_lr",
                "schedule.steps",
                "schedule.epochs",
            ):
                draft.lose(name, "DeepSpeed has no such schedule: leave it to the trainer's arguments, or build it in the training script")
            return
        if self.auto:
            self.schedule_left_to_trainer(common or "")
            return
        if kind != "WarmupLR" and not (isinstance(steps, int) and steps > 0):
            why = f"{kind} needs the number of steps, which only the data tells: add scheduler.params.total_num_steps"
            for name in ("schedule.type", "schedule.warmup_steps", "schedule.warmup_ratio", "schedule.steps", "schedule.epochs"):
                draft.lose(name, why)
            return
        draft.put("scheduler.type", kind, self.file)
        draft.fate("schedule.type", "carried", "scheduler.type")
        if (
            warmup is MISSING
            and isinstance(ratio := draft.get("schedule.warmup_ratio"), (int, float))
            and isinstance(steps, int)
            and steps > 0
        ):
            warmup = int(steps * ratio)
        draft.put("scheduler.params.warmup_num_steps", warmup if isinstance(warmup, int) else 0, self.file)
        draft.fate("schedule.warmup_steps", "carried", "scheduler.params.warmup_num_steps")
        draft.fate("schedule.warmup_ratio", "carried", "scheduler.params.warmup_num_steps")
        draft.put("scheduler.params.warmup_type", "linear", self.file)
        if kind == "WarmupCosineLR":
            draft.put("scheduler.params.warmup_min_ratio", 0.0, self.file)
            draft.put("scheduler.params.cos_min_ratio", 0.0, self.file)
        else:
            draft.put("scheduler.params.warmup_min_lr", 0, self.file)
            draft.carry("optimizer.lr", "scheduler.params.warmup_max_lr", file=self.file)
        if kind != "WarmupLR":
            draft.carry("schedule.steps", "scheduler.params.total_num_steps", file=self.file)

    def schedule_left_to_trainer(self, common: str) -> None:
        """Without a scheduler block the trainer builds its own from its arguments."""
        for name in (
            "schedule.type",
            "schedule.warmup_steps",
            "schedule.warmup_ratio",
            "schedule.min_lr",
            "schedule.steps",
            "schedule.epochs",
        ):
            self.draft.lose(name, "the trainer's arguments say it (lr_scheduler_type, warmup_steps, max_steps)")
