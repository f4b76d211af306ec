"""What an engine is and holds, read from the engine itself: its state by name, its shards, its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

# where each of DeepSpeed's optimizers keeps this rank's part of the weights that are updated
MASTERS = (
    "fp32_partitioned_groups_flat",
    "single_partition_of_fp32_groups",
    "fp32_groups_flat_partition",
    "fp32_groups_flat",
    "fp32_groups",
)


def shard(parameter: Any) -> torch.Tensor:
    """This rank's part of a parameter: the whole of it below ZeRO stage 3."""
    return getattr(parameter, "ds_tensor", parameter).detach()


def masters(engine: Any) -> list[torch.Tensor]:
    """The tensors that this rank's optimizer updates."""
    for name in MASTERS:
        if groups := getattr(engine.optimizer, name, None):
            return [tensor for group in groups for tensor in (group if isinstance(group, list) else [group])]
    return [parameter for group in engine.optimizer.param_groups for parameter in group["params"]]


def optimizer_states(engine: Any) -> Iterator[tuple[str, Any]]:
    """Each state of the optimizer under a name that is the same in every engine made alike."""
    state = engine.basic_optimizer.state
    for position, tensor in enumerate(masters(engine)):
        for name, value in sorted(state.get(tensor, {}).items(), key=lambda item: str(item[0])):
            yield f"optimizer state {position}.{name}", value
    for position, group in enumerate(engine.basic_optimizer.param_groups):
        yield from ((f"optimizer group {position}.{name}", group[name]) for name in ("lr", "step", "weight_decay") if name in group)


def state(engine: Any) -> Iterator[tuple[str, Any]]:
    """All that a checkpoint must bring back."""
    for name, parameter in engine.module.named_parameters():
        yield f"parameter {name}", shard(parameter)
    for position, tensor in enumerate(masters(engine)):
        yield f"master weights {position}", tensor.detach()
    yield from optimizer_states(engine)
    yield "global_steps", engine.global_steps
    yield "skipped_steps", engine.skipped_steps
    yield "loss scale", loss_scale(engine)
    if engine.lr_scheduler is not None:
        yield from ((f"scheduler {name}", value) for name, value in sorted(engine.lr_scheduler.state_dict().items()))


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of the states that another has not, or has otherwise."""
    return [name for name, value in one.items() if name not in other or not _same(value, other[name])]


def _same(one: Any, other: Any) -> bool:
    """Is ``other`` what a checkpoint of ``one`` brings back? Torch loads a state in its parameter's precision, which may be lower."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.numel() != 1:
        return one.shape == other.shape and bool(torch.equal(one.to(other.dtype).cpu(), other.cpu()))
    if isinstance(one, (torch.Tensor, int, float)) and isinstance(other, (torch.Tensor, int, float)):
        return float(one) == float(other)
    return bool(one == other)


def loss_scale(engine: Any) -> float | None:
    scaler = getattr(engine.optimizer, "loss_scaler", None)
    value = getattr(scaler, "cur_scale", None) or getattr(engine.optimizer, "cur_scale", None)
    return None if value is None else float(value)


def storage_bytes(tensors: Iterable[Any]) -> int:
    """Bytes of the storages behind tensors, each counted once."""
    sizes = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
    return sum(sizes.values())


def bytes_held(engine: Any) -> dict[str, int]:
    """Bytes of this rank's parameters and of its optimizer (master weights and states)."""
    parameters = [tensor for parameter in engine.module.parameters() for tensor in (parameter.data, shard(parameter))]
    optimizer = [*masters(engine), *(value for _, value in optimizer_states(engine))]
    return {
        "parameters": storage_bytes(parameters),
        "optimizer": storage_bytes([*parameters, *optimizer]) - storage_bytes(parameters),
    }


def found(engine: Any) -> dict[str, Any]:
    """What the engine turned out to be."""
    parameters = list(engine.module.parameters())
    autocast = getattr(engine, "torch_autocast_enabled", lambda: False)()
    return {
        "engine": type(engine).__name__,
        "stage": int(engine.zero_optimization_stage()),
        "parameters_sharded": all(hasattr(parameter, "ds_tensor") for parameter in parameters),
        "world_size": int(engine.dp_world_size),
        "optimizer": type(engine.basic_optimizer).__name__,
        "wrapper": type(engine.optimizer).__name__,
        "precision": " and ".join(sorted({str(shard(parameter).dtype).removeprefix("torch.") for parameter in parameters})),
        "master_precision": " and ".join(sorted({str(tensor.dtype).removeprefix("torch.") for tensor in masters(engine)})),
        "autocast": str(engine.torch_autocast_dtype()).removeprefix("torch.") if autocast else None,
        "scheduler": None if engine.lr_scheduler is None else type(engine.lr_scheduler).__name__,
        "micro_batch": engine.train_micro_batch_size_per_gpu(),
        "accumulation": engine.gradient_accumulation_steps(),
        "batch": engine.train_batch_size(),
        "clipping": engine.gradient_clipping(),
        "parameter_shard": sum(shard(parameter).numel() for parameter in parameters),
        "optimizer_shard": sum(tensor.numel() for tensor in masters(engine)),
        "trained": sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in parameters if parameter.requires_grad),
        "whole": sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in parameters),
        "offload_optimizer": _offloads(engine, "cpu_offload", "offload_optimizer"),
        "offload_parameters": _offloads(engine, "offload_param"),
        "accumulated_in": str(engine.get_data_types()[1]).removeprefix("torch.") if hasattr(engine, "get_data_types") else None,
    }


def _offloads(engine: Any, *names: str) -> bool:
    """Does the optimizer wrapper keep something off the device, by its own attributes?"""
    return any(bool(getattr(engine.optimizer, name, False)) for name in names)
