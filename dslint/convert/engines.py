"""What shards the training state, as several targets write it."""

from __future__ import annotations

from dslint.convert.draft import Draft

SHARDING = {
    "full": "FULL_SHARD",
    "grad_op": "SHARD_GRAD_OP",
    "hybrid": "HYBRID_SHARD",
    "hybrid_grad_op": "HYBRID_SHARD_ZERO2",
    "none": "NO_SHARD",
}
WRAPPING = {"transformer": "TRANSFORMER_BASED_WRAP", "size": "SIZE_BASED_WRAP", "none": "NO_WRAP"}
STATE_DICTS = {"full": "FULL_STATE_DICT", "sharded": "SHARDED_STATE_DICT", "local": "LOCAL_STATE_DICT"}
DEEPSPEED_FILE = "ds_config.json"
# ZeRO stage -> FSDP's sharding, and what differs
OF_STAGE = {
    3: ("full", ""),
    2: ("grad_op", "gradients and optimizer states are sharded, and parameters between forward passes"),
    1: ("grad_op", "FSDP shards gradients, too"),
}
MASTER_WEIGHTS = (
    "DeepSpeed keeps float32 master weights and loads the model in 16 bits; FSDP trains in the type that the model was loaded in"
)


def deepspeed_beside(draft: Draft, key: str) -> None:
    """A DeepSpeed config for the Hugging Face integration, as a file of its own where there may be several, else in its place."""
    from dslint.formats.deepspeed.write import write_config

    draft.put(key, DEEPSPEED_FILE, subject="engine")
    write_config(draft, DEEPSPEED_FILE, manner="auto")
    draft.fate("engine.kind", "carried", key)
    if not draft.wish.several:
        draft.put(key, draft.files.pop(DEEPSPEED_FILE), subject="engine")


def sharded_parameters(draft: Draft, key: str) -> bool:
    """FSDP offloads parameters and optimizer together: does this run?"""
    places = [draft.get(name, "none") for name in ("engine.offload_parameters", "engine.offload_optimizer")]
    cpu = "cpu" in places or "nvme" in places
    both = places[0] == places[1]
    note = "" if both else "FSDP offloads parameters and optimizer together"
    note = "FSDP offloads to the CPU only" if "nvme" in places else note
    for name in ("engine.offload_parameters", "engine.offload_optimizer"):
        draft.fate(name, "approximate" if note else "carried", key, note)
    return cpu


def fsdp_sharding(draft: Draft) -> tuple[str, str]:
    """FSDP's sharding of the run, and what differs from what was said. Raises ValueError where the run shards nothing."""
    kind = draft.get("engine.kind", "ddp")
    if kind == "fsdp":
        return str(draft.get("engine.sharding", "full")), ""
    stage = draft.get("engine.zero_stage", 0)
    if kind != "deepspeed" or stage not in OF_STAGE:
        raise ValueError(
            "nothing is sharded in this run" if kind != "deepspeed" else f"ZeRO stage {stage} shards nothing, and FSDP is sharding"
        )
    sharding, note = OF_STAGE[stage]
    return sharding, f"{note}; {MASTER_WEIGHTS}" if note else MASTER_WEIGHTS


def lose_zero(draft: Draft) -> None:
    """What only ZeRO knows."""
    draft.fate("engine.gather_on_save", "approximate", "", "FSDP: state_dict_type says how a checkpoint is written")


def fsdp_of_trainer(draft: Draft) -> None:
    """The Trainer's arguments ``fsdp`` and ``fsdp_config`` (transformers/training_args.py: _process_fsdp_args)."""
    from dslint.formats.fsdp.write import write_config

    sharding, note = fsdp_sharding(draft)
    version = draft.wish.fsdp_version or draft.get("engine.fsdp_version", 1)
    words = {
        "full": "full_shard",
        "grad_op": "shard_grad_op",
        "hybrid": "hybrid_shard",
        "hybrid_grad_op": "hybrid_shard_zero2",
        "none": "no_shard",
    }
    offload = " offload" if sharded_parameters(draft, "fsdp") else ""
    wrap = " auto_wrap" if draft.get("engine.wrap_policy", "transformer") != "none" else ""
    draft.put("fsdp", f"{words[sharding]}{wrap}{offload}", subject="engine")
    draft.fate("engine.sharding", "approximate" if note else "carried", "fsdp", note)
    draft.fate("engine.wrap_policy", "carried", "fsdp")
    config = write_config(draft, version, sharding)
    if config:
        draft.put("fsdp_config", config, subject="engine")
    draft.fate("engine.kind", "carried", "fsdp")
    draft.fate("engine.fsdp_version", "carried", "fsdp_config.version")
    if draft.get("engine.activation_checkpointing") is True and draft.files[""].pop("gradient_checkpointing", None):
        draft.fates.pop("checkpointing.on", None)
        draft.fate("checkpointing.on", "implied", "fsdp_config.activation_checkpointing")
