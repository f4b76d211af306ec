"""A rank's training loop: the real deepspeed.initialize, a few steps on random tokens, a checkpoint there and back."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import deepspeed
import torch
from deepspeed import comm as dist
from deepspeed.accelerator import get_accelerator
from deepspeed.ops.op_builder.builder import OpBuilder
from deepspeed.runtime.config import DeepSpeedConfig

from dslint.verify import model_size as size
from dslint.verify.engines import loop, measure
from dslint.verify.engines.kernels import KERNELS, WOULD_COMPILE
from dslint.verify.engines.model import SmallLlamaModel
from dslint.verify.engines.watch import Watch

SEED = 20


class Trainee:
    """DeepSpeed's engine, as the loop sees it."""

    def __init__(self, engine: Any, watch: Watch) -> None:
        self.engine = engine
        self.watch = watch
        self.module: torch.nn.Module = engine.module
        self.device: torch.device = engine.device
        self.micro_batch = int(engine.train_micro_batch_size_per_gpu())
        self.accumulation = int(engine.gradient_accumulation_steps())
        self.data_rank = int(dist.get_rank(group=engine.data_parallel_group))
        self.sequence, self.vocabulary = size.SEQUENCE, size.VOCABULARY
        self._managed = getattr(engine, "managed_gradient_accumulation", lambda: True)()
        watch.optimizer(engine.basic_optimizer, replicas(engine))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.engine(tokens)
        return loss

    def learn(self, loss: torch.Tensor, last: bool, factor: float) -> None:
        self.engine.backward(loss * factor if factor != 1 else loss)
        if self._managed or last:
            self.engine.step()

    def training(self, on: bool) -> None:
        self.engine.train(on)

    def rate(self) -> float:
        return max(map(float, self.engine.get_lr()))

    def skipped(self) -> int:
        return int(self.engine.skipped_steps)

    def norm(self) -> float | None:
        norm = self.engine.get_global_grad_norm()
        return None if norm is None else float(norm)

    def save(self, folder: str) -> None:
        self.engine.save_checkpoint(folder, tag="end")

    def load(self, folder: str) -> bool:
        loaded, _ = self.engine.load_checkpoint(folder, tag="end")
        return loaded is not None

    def state(self) -> Iterator[tuple[str, Any]]:
        return states(self.engine)


def states(engine: Any) -> Iterator[tuple[str, Any]]:
    """All that a checkpoint must bring back, as it is now."""
    for name, value in measure.state(engine):
        yield name, value.cpu().clone() if isinstance(value, torch.Tensor) else value


def replicas(engine: Any) -> int:
    """How many ranks hold the same part of the gradient when the optimizer steps."""
    held = sum(tensor.numel() for tensor in measure.masters(engine))
    whole = sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in engine.module.parameters() if parameter.requires_grad)
    return int(dist.get_world_size()) if held >= whole else 1


def train(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Do what a user's script would do with this config and return what was measured.

    Raises whatever the engine raises. ``say`` is told each phase as it begins.
    """
    started = time.monotonic()
    watch = Watch()
    prepare_process(request, rank, watch)
    say("read the config")
    _read(request)
    say("initialize")
    engine = _engine(request, SEED, watch)
    say("train")
    trainee = Trainee(engine, watch)
    report = {"found": measure.found(engine), **loop.train(trainee, request, say), "bytes": measure.bytes_held(engine)}
    report["loss_scale"] = measure.loss_scale(engine)
    if request["gather_on_save"]:
        say("save the 16-bit model")
        report["saved_16bit"] = _save_16bit(engine)
    return {**report, "device": get_accelerator().current_device_name(), "seconds": time.monotonic() - started}


def resume(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Begin elsewhere, in a process of its own, load the checkpoint of ``train``, and go on."""
    watch = Watch()
    prepare_process(request, rank, watch)
    say("initialize again")
    return loop.resume(Trainee(_engine(request, SEED + 1, watch), watch), request, say)


def _save_16bit(engine: Any) -> dict[str, Any]:
    """What a script gets that asks the engine for one 16-bit file."""
    said = engine.save_16bit_model(loop.here("model"), "pytorch_model.bin")
    dist.barrier()
    file = os.path.join(loop.here("model"), "pytorch_model.bin")
    return {"said": said is not False, "bytes": os.path.getsize(file) if os.path.exists(file) else 0}


def wait_for_all() -> None:
    dist.barrier()


def prepare_process(request: Mapping[str, Any], rank: int, watch: Watch) -> None:
    """Join the process group; make sure that no operator gets compiled; make the replacements that were asked for."""
    watch.reductions()
    accelerator = get_accelerator()
    compile_operator = OpBuilder.jit_load

    def refuse(builder: Any, verbose: bool = True) -> Any:
        if not builder.is_compatible(verbose=False):
            return compile_operator(builder, verbose)  # raises, and says why it cannot be had here at all
        if builder.name in request["replaced"]:
            return KERNELS[builder.name]()
        raise RuntimeError(f"{WOULD_COMPILE}: the {builder.name} op would have to be built first")

    OpBuilder.jit_load = refuse
    torch.compiler.set_stance("force_eager")
    if accelerator.device_name() == "cpu":
        # gloo does without the shared-memory op, which init_distributed would compile
        import_module("deepspeed.comm.torch").build_shm_op = lambda: None  # type: ignore[attr-defined]
    if "fp16" in request["replaced"]:
        accelerator.is_fp16_supported = lambda: True
    accelerator.set_device(rank)
    deepspeed.init_distributed(
        dist_backend=accelerator.communication_backend_name() if accelerator.device_name() != "cpu" else "gloo",
        auto_mpi_discovery=False,
        verbose=False,
        init_method="file://" + loop.here(f"group-{request['phase']}"),
        rank=rank,
        world_size=request["ranks"],
    )


class _Mesh:
    """Stands for a launch on ``world_size`` data-parallel ranks, for the config's own arithmetic."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size

    def get_data_parallel_world_size(self) -> int:
        return self.world_size

    def get_model_parallel_world_size(self) -> int:
        return 1


def _read(request: Mapping[str, Any]) -> None:
    """Let DeepSpeed's own parser see the config as it is written, for the world size that it is meant for."""
    if request["text"] is not None:
        if request["context"] == "hf":
            import json

            json.loads(request["text"])
        else:
            import hjson
            from deepspeed.runtime.config_utils import dict_raise_error_on_duplicate_keys

            hjson.loads(request["text"], object_pairs_hook=dict_raise_error_on_duplicate_keys)
    DeepSpeedConfig(copy.deepcopy(request["written"]), mpu=_Mesh(request["meant_for"]))


def _engine(request: Mapping[str, Any], seed: int, watch: Watch) -> Any:
    config = copy.deepcopy(request["config"])
    checkpoint = None
    if request["activation_checkpointing"]:
        deepspeed.checkpointing.configure(mpu_=None, deepspeed_config=copy.deepcopy(config))
        checkpoint = deepspeed.checkpointing.checkpoint
    model = SmallLlamaModel(seed, checkpoint)
    watch.layer(model)
    optimizer = _client_optimizer(request["client_optimizer"], model)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), optimizer=optimizer, config=config)
    return engine


def _client_optimizer(name: str | None, model: torch.nn.Module) -> Any:
    """The optimizer that the user's script brings when the config has none."""
    if name is None:
        return None
    if name == "DeepSpeedCPUAdam":
        from deepspeed.ops.adam import DeepSpeedCPUAdam

        return DeepSpeedCPUAdam(model.parameters(), lr=1e-3)
    return torch.optim.AdamW(model.parameters(), lr=1e-3)
