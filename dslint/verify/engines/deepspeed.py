"""A rank's training loop: the real deepspeed.initialize, a few steps on random tokens, a checkpoint there and back."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import deepspeed
import torch
from deepspeed import comm as dist
from deepspeed.accelerator import get_accelerator
from deepspeed.ops.op_builder.builder import OpBuilder
from deepspeed.runtime.config import DeepSpeedConfig

from dslint.verify import learning
from dslint.verify import model_size as size
from dslint.verify.engines import measure
from dslint.verify.engines.kernels import KERNELS, WOULD_COMPILE
from dslint.verify.engines.model import SmallLlamaModel

SEED = 20


def train(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Do what a user's script would do with this config and return what was measured.

    Raises whatever the engine raises. ``say`` is told each phase as it begins.
    """
    started = time.monotonic()
    _prepare_process(request, rank)
    say("read the config")
    _read(request)
    say("initialize")
    engine = _engine(request, SEED)
    tokens = _tokens(engine)
    say("train")
    history = _steps(engine, tokens, request)
    report = {"found": measure.found(engine), "bytes": measure.bytes_held(engine), **history}
    say("save and load a checkpoint")
    report["checkpoint"] = _checkpoint(engine, tokens, request)
    return {**report, "device": get_accelerator().current_device_name(), "seconds": time.monotonic() - started}


def wait_for_all() -> None:
    dist.barrier()


def _prepare_process(request: Mapping[str, Any], rank: int) -> None:
    """Join the process group; make sure that no operator gets compiled; make the replacements that were asked for."""
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
        init_method="file://" + _here("group"),
        rank=rank,
        world_size=request["ranks"],
    )


def _here(name: str) -> str:
    import os

    return os.path.join(os.getcwd(), name)


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


def _engine(request: Mapping[str, Any], seed: int) -> Any:
    config = copy.deepcopy(request["config"])
    checkpoint = None
    if request["activation_checkpointing"]:
        deepspeed.checkpointing.configure(mpu_=None, deepspeed_config=copy.deepcopy(config))
        checkpoint = deepspeed.checkpointing.checkpoint
    model = SmallLlamaModel(seed, checkpoint)
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


def _tokens(engine: Any) -> list[torch.Tensor]:
    """One batch, the same in every step: a micro-batch for each accumulation step, different on each data-parallel rank."""
    generator = torch.Generator().manual_seed(1000 + dist.get_rank(group=engine.data_parallel_group))
    shape = (engine.train_micro_batch_size_per_gpu(), size.SEQUENCE)
    return [
        torch.randint(size.VOCABULARY, shape, generator=generator).to(engine.device)
        for _ in range(max(1, engine.gradient_accumulation_steps()))  # ZenFlow sets it to 0
    ]


def _loss_now(engine: Any, tokens: list[torch.Tensor]) -> float:
    """The loss on the batch, without training."""
    engine.eval()
    with torch.no_grad():
        loss = sum(float(engine(micro)) for micro in tokens) / len(tokens)
    engine.train()
    return loss


def _steps(engine: Any, tokens: list[torch.Tensor], request: Mapping[str, Any]) -> dict[str, Any]:
    """Optimizer steps until enough were taken with enough learning rate, or ``learning.MOST_STEPS`` are over.

    A step that the loss scaler skips does not count as taken.
    """
    losses: list[float] = []
    rates: list[float] = []
    skipped: list[int] = []
    before = _loss_now(engine, tokens)
    managed = getattr(engine, "managed_gradient_accumulation", lambda: True)()
    for step in range(learning.MOST_STEPS):
        if len(rates) >= request["steps"] and learning.enough(rates, request["optimizer"]):
            break
        rate = max(map(float, engine.get_lr()))
        total, skips = 0.0, engine.skipped_steps
        for number, micro in enumerate(tokens, 1):
            loss = engine(micro)
            engine.backward(loss)
            if managed or number == len(tokens):
                engine.step()
            total += loss.item()
        losses.append(total / len(tokens))
        if engine.skipped_steps > skips:
            skipped.append(step)
        else:
            rates.append(rate)
    return {
        "losses": losses,
        "rates": rates,
        "skipped": skipped,
        "loss_before": before,
        "loss_after": _loss_now(engine, tokens),
        "loss_scale": measure.loss_scale(engine),
    }


def _checkpoint(engine: Any, tokens: list[torch.Tensor], request: Mapping[str, Any]) -> dict[str, Any]:
    """Save, load into an engine that began elsewhere, and name what is not the same in it."""
    folder = _here("checkpoint")
    engine.save_checkpoint(folder, tag="end")
    other = _engine(request, SEED + 1)
    loaded, _ = other.load_checkpoint(folder, tag="end")
    return {
        "loaded": loaded is not None,
        "differences": measure.differences(engine, other),
        "losses": [_loss_now(engine, tokens), _loss_now(other, tokens)],
    }
