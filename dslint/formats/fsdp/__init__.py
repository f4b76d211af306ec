"""The Trainer's ``fsdp_config``: a JSON file, or a mapping among its arguments."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.document import Document, Mapping
from dslint.formats.accelerate import STATE_DICTS, WRAPPING
from dslint.formats.base import Context, Format, Stated
from dslint.schema.missing import MISSING
from dslint.schema.resolve import Resolved

# keys that only an fsdp_config has; a file of another kind with one of them has keys of its own beside it
MARKS = frozenset(
    [
        "transformer_layer_cls_to_wrap",
        "fsdp_transformer_layer_cls_to_wrap",
        "backward_prefetch",
        "fsdp_backward_prefetch",
        "use_orig_params",
        "fsdp_use_orig_params",
        "cpu_ram_efficient_loading",
        "fsdp_cpu_ram_efficient_loading",
        "sync_module_states",
        "fsdp_sync_module_states",
        "reshard_after_forward",
        "fsdp_reshard_after_forward",
        "xla_fsdp_settings",
        "xla_fsdp_v2",
        "fsdp_state_dict_type",
        "fsdp_min_num_params",
        "limit_all_gathers",
        "fsdp_auto_wrap_policy",
    ]
)
OTHERS = frozenset(
    [
        "distributed_type",
        "output_dir",
        "per_device_train_batch_size",
        "base_model",
        "fsdp_config",
        "model_type",
        "zero_optimization",
        "stage",
    ]
)


def recognises(document: Document, context: Context | None) -> bool:
    if document.syntax != "json" or not isinstance(document.root, Mapping):
        return False
    names = {entry.name for entry in document.root.entries}
    embedded = document.root.get("fsdp")
    return (bool(names & MARKS) or (embedded is not None and isinstance(embedded.value, Mapping))) and not names & OTHERS


def states(resolved: Resolved) -> Iterator[Stated]:
    yield Stated("engine.kind", "fsdp", "")
    if (version := resolved.get("version")) is not MISSING:
        yield Stated("engine.fsdp_version", int(version), "version")
    for key, name in (
        ("activation_checkpointing", "engine.activation_checkpointing"),
        ("cpu_ram_efficient_loading", "engine.ram_efficient"),
    ):
        if (value := resolved.get(key)) is not MISSING:
            yield Stated(name, value, key)
    if resolved.get("cpu_offload") is True:
        yield Stated("engine.offload_parameters", "cpu", "cpu_offload")
        yield Stated("engine.offload_optimizer", "cpu", "cpu_offload")
    again = resolved.get("reshard_after_forward")
    if isinstance(again, bool):
        yield Stated("engine.reshard_after_forward", again, "reshard_after_forward")
        yield Stated("engine.sharding", "full" if again else "grad_op", "reshard_after_forward")
    for key, name, words in (
        ("auto_wrap_policy", "engine.wrap_policy", WRAPPING),
        ("state_dict_type", "engine.state_dict", STATE_DICTS),
    ):
        if (word := words.get(str(resolved.get(key)).upper())) is not None:
            yield Stated(name, word, key)
    if resolved.get("auto_wrap_policy") == "SIZE_BASED_WRAP" and isinstance(size := resolved.get("min_num_params"), int):
        yield Stated("engine.wrap_size", size, "min_num_params")
    wrapped = resolved.get("transformer_layer_cls_to_wrap")
    if isinstance(wrapped, (str, list)):
        yield Stated("engine.wrap_classes", [wrapped] if isinstance(wrapped, str) else wrapped, "transformer_layer_cls_to_wrap")


FSDP = Format(
    "fsdp",
    "transformers",
    "the Trainer",
    ("accelerate", "torch"),
    recognises,
    root=lambda _: "fsdp_config",
    states=states,
)
