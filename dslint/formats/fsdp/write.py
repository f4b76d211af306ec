"""The Plan as the Trainer's ``fsdp_config``."""

from __future__ import annotations

from typing import Any

from dslint.convert.draft import Draft
from dslint.convert.engines import MASTER_WEIGHTS, STATE_DICTS, WRAPPING, fsdp_sharding, sharded_parameters
from dslint.schema.missing import MISSING

OF_TRAINER = "it belongs among the Trainer's arguments"


def write(draft: Draft) -> None:
    """Raises ValueError where the run shards nothing."""
    sharding, note = fsdp_sharding(draft)
    version = draft.wish.fsdp_version or draft.get("engine.fsdp_version", 2)
    draft.files[""] = write_config(draft, version, sharding)
    if version == 1:
        draft.put("reshard_after_forward", _strategy(sharding), subject="engine")
    draft.put("cpu_offload", sharded_parameters(draft, "cpu_offload"), subject="engine")
    draft.fate("engine.sharding", "approximate" if note else "carried", "reshard_after_forward", note)
    draft.fate("engine.zero_stage", "approximate", "reshard_after_forward", note or MASTER_WEIGHTS)
    draft.fate("engine.kind", "carried" if draft.get("engine.kind") == "fsdp" else "approximate", "", note)
    draft.fate("engine.fsdp_version", "carried", "version")
    for name in draft.run.values:
        draft.lose(name, OF_TRAINER)


def write_config(draft: Draft, version: int, sharding: str) -> dict[str, Any]:
    """What goes into the block itself (transformers/training_args.py: _process_fsdp_args)."""
    config: dict[str, Any] = {"version": version}
    policy = WRAPPING.get(str(draft.get("engine.wrap_policy", "transformer")), "TRANSFORMER_BASED_WRAP")
    if policy != "TRANSFORMER_BASED_WRAP":
        config["auto_wrap_policy"] = policy
    draft.fate("engine.wrap_policy", "carried", "fsdp_config.auto_wrap_policy")
    if classes := draft.get("engine.wrap_classes", []):
        config["transformer_layer_cls_to_wrap"] = list(classes)
        draft.fate("engine.wrap_classes", "carried", "fsdp_config.transformer_layer_cls_to_wrap")
    if policy == "SIZE_BASED_WRAP" and draft.says("engine.wrap_size"):
        config["min_num_params"] = draft.get("engine.wrap_size")
        draft.fate("engine.wrap_size", "carried", "fsdp_config.min_num_params")
    draft.fate("engine.wrap_size", "implied", "fsdp_config.min_num_params")
    if version == 2:
        config["reshard_after_forward"] = sharding in ("full", "hybrid")
        if sharding in ("hybrid", "hybrid_grad_op", "none"):
            note = "FSDP2 takes its groups from a device mesh: set dp_replicate_size and dp_shard_size in the parallelism config"
            draft.fate("engine.sharding", "approximate", "fsdp_config.reshard_after_forward", note)
    draft.fate("engine.reshard_after_forward", "carried", "fsdp_config.reshard_after_forward")
    if (form := draft.get("engine.state_dict")) is not MISSING and form != "full":
        config["state_dict_type"] = STATE_DICTS[form]
    draft.fate("engine.state_dict", "implied" if form == "full" else "carried", "fsdp_config.state_dict_type")
    if draft.get("engine.ram_efficient") is True:
        config["cpu_ram_efficient_loading"] = True
    draft.fate("engine.ram_efficient", "carried", "fsdp_config.cpu_ram_efficient_loading")
    if draft.get("engine.activation_checkpointing") is True:
        config["activation_checkpointing"] = True
    draft.fate("engine.activation_checkpointing", "carried", "fsdp_config.activation_checkpointing")
    draft.fate("engine.gather_on_save", "approximate", "fsdp_config.state_dict_type", "FULL_STATE_DICT gathers the weights when saving")
    return config


def _strategy(sharding: str) -> str:
    return {"full": "full_shard", "grad_op": "shard_grad_op", "hybrid": "hybrid_shard", "hybrid_grad_op": "hybrid_shard_zero2"}.get(
        sharding, "no_shard"
    )
