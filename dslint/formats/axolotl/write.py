"""The Plan as an Axolotl file."""

from __future__ import annotations

from dslint.convert.draft import Draft, Field
from dslint.convert.engines import STATE_DICTS, WRAPPING, deepspeed_beside, sharded_parameters
from dslint.formats.axolotl import NAMES
from dslint.formats.trainer.write import betas
from dslint.schema.missing import MISSING

ALWAYS = frozenset(
    ["batch.micro", "batch.accumulation", "optimizer.lr", "schedule.epochs", "model.path", "data.sequence_length", "schedule.type"]
)
NOT_FIELDS = ("adapter.type", "adapter.targets", "schedule.steps", "precision.fp16")
FIELDS = tuple(Field(name, key, always=name in ALWAYS) for key, name in NAMES.items() if name not in NOT_FIELDS)
RL = ("dpo", "kto", "orpo", "grpo", "ipo", "simpo")


def write(draft: Draft) -> None:
    precision(draft)
    adapter(draft)
    data(draft)
    betas(draft)
    steps = draft.get("schedule.steps")
    if isinstance(steps, (int, float)) and steps > 0:
        draft.carry("schedule.steps", "max_steps", int(steps))
    draft.fate("schedule.steps", "implied", "max_steps")
    if draft.get("schedule.warmup_steps") == 0 and not draft.says("schedule.warmup_ratio"):
        draft.carry("schedule.warmup_steps", "warmup_steps")
    elif draft.get("schedule.warmup_ratio", 0):
        draft.fate("schedule.warmup_steps", "implied", "warmup_ratio")
    if draft.says("checkpointing.on"):
        draft.carry_fields([Field("checkpointing.on", "gradient_checkpointing")])
    if draft.says("checkpointing.reentrant") and draft.get("checkpointing.on") is True:
        draft.carry("checkpointing.reentrant", "gradient_checkpointing_kwargs.use_reentrant")
    for what in ("save", "eval"):
        if draft.get(f"{what}.strategy") not in (MISSING, "steps"):
            draft.fate(f"{what}.steps", "implied", f"{what}_strategy")
    task = draft.get("train.task")
    if task == "kto":
        draft.put("remove_unused_columns", False, subject="data")
    if task in RL:
        draft.carry("train.task", "rl")
    else:
        draft.fate(
            "train.task", "implied" if task == "sft" else "lost", "rl", "" if task == "sft" else f"Axolotl has other keys for {task}"
        )
    draft.carry_fields(FIELDS)
    if draft.get("engine.kind") == "deepspeed":
        deepspeed_beside(draft, "deepspeed")
    elif draft.get("engine.kind") == "fsdp":
        fsdp(draft)


def precision(draft: Draft) -> None:
    bf16, fp16 = draft.get("precision.bf16") is True, draft.get("precision.fp16") is True
    draft.put("bf16", bf16, subject="precision")
    draft.fate("precision.bf16", "carried", "bf16")
    if fp16 and not bf16:
        draft.carry("precision.fp16", "fp16")
    draft.fate("precision.fp16", "implied", "fp16")


def adapter(draft: Draft) -> None:
    kind, bits, targets = draft.get("adapter.type"), draft.get("load.bits"), draft.get("adapter.targets")
    if kind in ("lora", "qlora"):
        quantised = kind == "qlora" or bits == 4
        draft.carry("adapter.type", "adapter", "qlora" if quantised else "lora")
        if quantised:
            draft.put("load_in_4bit", True, subject="adapter")
        elif bits == 8:
            draft.put("load_in_8bit", True, subject="adapter")
        draft.fate("load.bits", "carried", f"load_in_{bits}bit")
        every = targets is MISSING or targets in (["all-linear"], ["all"])
        draft.put("lora_target_linear", True, subject="adapter") if every else draft.carry("adapter.targets", "lora_target_modules")
        draft.fate("adapter.targets", "carried", "lora_target_linear")
        for name, key, default in (("adapter.rank", "lora_r", 8), ("adapter.alpha", "lora_alpha", 16)):
            draft.put(key, default, subject="adapter") if not draft.says(name) else draft.carry(name, key)
        return
    draft.fate(
        "adapter.type", "implied" if kind == "full" else "lost", "adapter", "" if kind == "full" else f"Axolotl has no adapter {kind}"
    )
    for name in ("adapter.rank", "adapter.alpha", "adapter.dropout", "adapter.targets"):
        draft.lose(name, "no adapter is trained")


def data(draft: Draft) -> None:
    sets = draft.get("data.sets")
    if isinstance(sets, list) and sets:
        kind = "chat_template.default" if draft.get("train.task") in RL else "chat_template"
        draft.carry("data.sets", "datasets", [{"path": name, "type": kind} for name in sets], note="say how each dataset is read (type)")


def fsdp(draft: Draft) -> None:
    version = draft.wish.fsdp_version or 2
    draft.put("fsdp_version", version, subject="engine")
    draft.fate(
        "engine.fsdp_version",
        "carried" if version == draft.get("engine.fsdp_version") else "approximate",
        "fsdp_version",
        "Axolotl trains with FSDP2 only",
    )
    draft.fate("engine.kind", "carried", "fsdp_config")
    draft.put("fsdp_config.offload_params", sharded_parameters(draft, "fsdp_config.offload_params"), subject="engine")
    sharding = str(draft.get("engine.sharding", "full"))
    draft.put("fsdp_config.reshard_after_forward", sharding in ("full", "hybrid"), subject="engine")
    draft.fate(
        "engine.sharding",
        "carried" if sharding in ("full", "grad_op") else "approximate",
        "fsdp_config.reshard_after_forward",
        "" if sharding in ("full", "grad_op") else "set dp_replicate_size and dp_shard_size for the groups",
    )
    draft.fate("engine.reshard_after_forward", "carried", "fsdp_config.reshard_after_forward")
    policy = WRAPPING.get(str(draft.get("engine.wrap_policy", "transformer")), "TRANSFORMER_BASED_WRAP")
    if policy == "NO_WRAP":
        draft.lose("engine.wrap_policy", "Axolotl always wraps by layer or size")
        policy = "TRANSFORMER_BASED_WRAP"
    draft.put("fsdp_config.auto_wrap_policy", policy, subject="engine")
    draft.fate("engine.wrap_policy", "carried", "fsdp_config.auto_wrap_policy")
    if draft.get("engine.wrap_classes", []):
        draft.carry("engine.wrap_classes", "fsdp_config.transformer_layer_cls_to_wrap", ",".join(draft.get("engine.wrap_classes")))
    if policy == "SIZE_BASED_WRAP" and draft.says("engine.wrap_size"):
        draft.carry("engine.wrap_size", "fsdp_config.min_num_params")
    draft.fate("engine.wrap_size", "implied", "fsdp_config.min_num_params")
    if (form := draft.get("engine.state_dict")) is not MISSING:
        draft.carry("engine.state_dict", "fsdp_config.state_dict_type", STATE_DICTS[form])
    for name, key in (
        ("engine.ram_efficient", "cpu_ram_efficient_loading"),
        ("engine.activation_checkpointing", "activation_checkpointing"),
    ):
        if draft.says(name):
            draft.carry(name, f"fsdp_config.{key}")
