"""torch's own FSDP from the Plan: ``fully_shard`` for version 2, FullyShardedDataParallel for version 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

from dslint.verify.engines import loop, measure, models
from dslint.verify.engines.watch import Watch

SEED = 20
STRATEGIES = {"full": ShardingStrategy.FULL_SHARD, "grad_op": ShardingStrategy.SHARD_GRAD_OP, "none": ShardingStrategy.NO_SHARD}


class WrapClassUnknown(ValueError):
    """What Accelerate and the Trainer refuse when they look for the modules to shard."""

    of_config = True


class Trainee:
    """A sharded model with its optimizer of torch, as the loop sees it."""

    def __init__(self, module: Any, request: Mapping[str, Any], watch: Watch, vocabulary: int) -> None:
        self.module, self.watch = module, watch
        self.device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        self.micro_batch, self.accumulation = request["micro_batch"], request["accumulation"]
        self.data_rank = request["rank"]
        self.sequence, self.vocabulary = request["sequence"], vocabulary
        self._rate = float(request["arguments"]["learning_rate"])
        self.optimizer: torch.optim.Optimizer = getattr(torch.optim, request["optimizer"])(module.parameters(), lr=self._rate)
        self._limit = request["clipping"]
        self._norm: float | None = None
        watch.optimizer(self.optimizer, 1 if request["plan"].get("engine.sharding") != "none" else dist.get_world_size())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.module(input_ids=tokens, labels=tokens).loss
        return loss

    def learn(self, loss: torch.Tensor, last: bool, factor: float) -> None:
        (loss * factor / self.accumulation).backward()
        if last:
            if self._limit:
                self._norm = float(_whole(self._clip()))
            self.optimizer.step()
            self.optimizer.zero_grad()

    def _clip(self) -> torch.Tensor:
        if isinstance(self.module, FullyShardedDataParallel):
            return self.module.clip_grad_norm_(self._limit)
        return torch.nn.utils.clip_grad_norm_(self.module.parameters(), self._limit)

    def training(self, on: bool) -> None:
        self.module.train(on)

    def rate(self) -> float:
        return self._rate

    def skipped(self) -> int:
        return 0

    def norm(self) -> float | None:
        return self._norm

    def _states(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.module, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def save(self, folder: str) -> None:
        dcp.save(self._states(), checkpoint_id=folder)

    def load(self, folder: str) -> bool:
        states = self._states()
        dcp.load(states, checkpoint_id=folder)
        set_state_dict(self.module, self.optimizer, model_state_dict=states["model"], optim_state_dict=states["optimizer"])
        return True

    def state(self) -> Iterator[tuple[str, Any]]:
        for name, parameter in self.module.named_parameters():
            yield f"parameter {name}", _local(parameter).detach().cpu().clone()
            for key, value in sorted(self.optimizer.state.get(parameter, {}).items()):
                yield f"optimizer state {name}.{key}", _local(value).detach().cpu().clone()


def _local(tensor: Any) -> torch.Tensor:
    local: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local


def _whole(tensor: Any) -> torch.Tensor:
    whole: torch.Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def _offloads(module: torch.nn.Module) -> bool:
    """Does torch itself keep every shard on the host between its uses? FSDP 1 is never asked to here."""
    groups = [part._get_fsdp_state()._fsdp_param_group for part in module.modules() if isinstance(part, FSDPModule)]
    shards = [shard for group in groups if group is not None for shard in group.fsdp_params]
    return bool(shards) and all(shard.offload_to_cpu for shard in shards)


def _on_host(tensors: list[torch.Tensor]) -> bool:
    return all(tensor.device.type == "cpu" for tensor in tensors)


def train(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Shard a model as the Plan says, train a few steps, save."""
    started = time.monotonic()
    trainee, whole = _sharded(request, rank, say, SEED)
    say("train")
    report = {"found": {}, **loop.train(trainee, request, say)}
    parameters = [_local(parameter) for parameter in trainee.module.parameters()]
    states = [_local(value) for state in trainee.optimizer.state.values() for value in state.values()]
    held = sum(parameter.numel() for parameter in parameters)
    report["found"] = {
        "engine": "FSDP1" if isinstance(trainee.module, FullyShardedDataParallel) else "FSDP2",
        "world_size": dist.get_world_size(),
        "optimizer": type(trainee.optimizer).__name__,
        "wrapper": "",
        "precision": trainee.watch.compute,
        "master_precision": str(parameters[0].dtype).removeprefix("torch."),
        "scheduler": None,
        "micro_batch": trainee.micro_batch,
        "accumulation": trainee.accumulation,
        "batch": trainee.micro_batch * trainee.accumulation * dist.get_world_size(),
        "whole": whole,
        "trained": whole,
        "parameter_shard": held,
        "optimizer_shard": held,
        "offload_optimizer": _offloads(trainee.module) and _on_host(states),
        "offload_parameters": _offloads(trainee.module) and _on_host(parameters),
    }
    report["bytes"] = {"parameters": measure.storage_bytes(parameters), "optimizer": measure.storage_bytes(states)}
    return {**report, "loss_scale": None, "device": str(trainee.device), "seconds": time.monotonic() - started}


def resume(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    return loop.resume(_sharded(request, rank, say, SEED + 1)[0], request, say)


def wait_for_all() -> None:
    dist.barrier()


def _sharded(request: Mapping[str, Any], rank: int, say: Callable[[str], None], seed: int) -> tuple[Trainee, int]:
    watch = Watch()
    watch.reductions()
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(rank)
    group = "file://" + loop.here(f"group-{request['phase']}")
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method=group, rank=rank, world_size=request["ranks"])
    say("build the model")
    model = models.build(request, seed)
    watch.layer(model)
    whole, vocabulary = sum(parameter.numel() for parameter in model.parameters()), model.config.vocab_size
    plan = request["plan"]
    if plan.get("engine.activation_checkpointing") or plan.get("checkpointing.on"):
        model.gradient_checkpointing_enable({"use_reentrant": False})
    say("shard")
    classes = _classes(model, plan.get("engine.wrap_classes") or sorted(model._no_split_modules or ()))
    precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(request["mixed"])
    if plan.get("engine.fsdp_version") == 1:
        policy = partial(transformer_auto_wrap_policy, transformer_layer_cls=classes)
        mixed = MixedPrecision(precision, precision, precision) if precision else None
        strategy = STRATEGIES[plan.get("engine.sharding", "full")]
        device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
        sharded = FullyShardedDataParallel(
            model, sharding_strategy=strategy, auto_wrap_policy=policy, mixed_precision=mixed, device_id=device, use_orig_params=True
        )
        return Trainee(sharded, request, watch, vocabulary), whole
    options: dict[str, Any] = {
        "mesh": init_device_mesh("cuda" if on_gpu else "cpu", (request["ranks"],)),
        "reshard_after_forward": plan.get("engine.reshard_after_forward", True),
        "mp_policy": MixedPrecisionPolicy(precision, precision),
        "offload_policy": CPUOffloadPolicy(pin_memory=on_gpu) if plan.get("engine.offload_parameters") == "cpu" else OffloadPolicy(),
    }
    for module in reversed(list(model.modules())):
        if type(module) in classes:
            fully_shard(module, **options)
    fully_shard(model, **options)
    return Trainee(model, request, watch, vocabulary), whole


def _classes(model: Any, names: list[str]) -> set[type]:
    """The classes of the modules that are sharded one by one; an unknown one is refused in the words of accelerate."""
    known = {type(module).__name__: type(module) for module in model.modules()}
    for name in names:
        if name not in known:
            raise WrapClassUnknown(f"Could not find the transformer layer class {name} in the model.")
    return {known[name] for name in names}
