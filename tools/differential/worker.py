"""Asks DeepSpeed itself about configs, one JSON line each way; runs as a script of its own, apart from everything of dslint's.

``worker.py parser`` builds ``DeepSpeedConfig`` on a world of 8 ranks (torch's fake process group). ``worker.py engine`` forks a
child for each config, which runs ``deepspeed.initialize`` and two optimizer steps of a small model on one CPU rank over gloo.

A request is ``{"id": …, "config": {…}}``, the answer ``{"id", "accept", "error_type", "error", "where", "environment"}``;
``environment`` is true where this machine refuses and not the config (no CUDA, no libaio, one rank only, out of time).

What the engine run changes in a config, and in DeepSpeed:

- the batch triple is scaled down to one rank with small numbers, buckets are capped to what a small model needs, parallel sizes are left out;
- fp16 is allowed on the CPU, and the kernels of the optimizers are plain torch (their Python classes stay DeepSpeed's own, so
  their parameters are checked as ever); every other operator that would have to be built is an environment refusal.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import math
import os
import shutil
import signal
import sys
import tempfile
import traceback
from types import SimpleNamespace
from typing import Any

os.environ.update(
    DS_ACCELERATOR="cpu",
    DS_IGNORE_CUDA_DETECTION="1",
    OMP_NUM_THREADS="1",
    TORCHDYNAMO_DISABLE="1",
    RANK="0",
    WORLD_SIZE="1",
    LOCAL_RANK="0",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT="29677",
)

WORLD_SIZE = 8
PARSER_SECONDS = 10
ENGINE_SECONDS = 40
BUCKETS = ("reduce_bucket_size", "allgather_bucket_size", "prefetch_bucket_size", "stage3_prefetch_bucket_size", "sub_group_size")
BUCKET_CAP = 1_000_000
ENVIRONMENT = (
    "supported for CUDA",
    "requires CUDA",
    "requires a CUDA",
    "not compiled with CUDA",
    "Unable to JIT load",
    "not been implemented on CPU",
    "not supported on your device",
    "No module named",
    "Please install",
    "not enough memory",
)


class NeedsBuild(RuntimeError):
    """An operator that DeepSpeed would compile; never done here."""


class OutOfTime(RuntimeError):
    pass


def answer_alarm(*_: object) -> None:
    raise OutOfTime("out of time")


def refusal(error: BaseException) -> dict[str, Any]:
    """What was refused, by whom, and whether it is this machine that refuses."""
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or here.__context__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}deepspeed{os.sep}" in frame.filename]
    where = f"deepspeed/{frames[-1].filename.split(f'{os.sep}deepspeed{os.sep}')[-1]}:{frames[-1].name}" if frames else None
    machine = any(
        isinstance(link, (NeedsBuild, OutOfTime, MemoryError))
        or (type(link).__name__ != "ValidationError" and any(mark in str(link) for mark in ENVIRONMENT))
        for link in chain
    )
    return {
        "accept": False,
        "error_type": type(error).__name__,
        "error": str(error)[:700],
        "where": where,
        "environment": machine,
    }


ACCEPTED: dict[str, Any] = {"accept": True, "error_type": None, "error": None, "where": None, "environment": False}


def parse(config: dict[str, Any]) -> Any:
    from deepspeed.runtime.config import DeepSpeedConfig

    return DeepSpeedConfig(copy.deepcopy(config))


def ask_parser(config: dict[str, Any]) -> dict[str, Any]:
    signal.alarm(PARSER_SECONDS)
    try:
        parse(config)
        return ACCEPTED
    except BaseException as error:  # the verdict is whatever it raises
        return refusal(error)
    finally:
        signal.alarm(0)


def number(value: Any) -> float:
    """A number as pybind11 takes it for a float argument."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"incompatible function arguments: {value!r} is no float")
    return float(value)


def adam(
    p: Any, g: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, step: int, decoupled: Any, correct: Any, decay: Any
) -> None:
    lr, beta1, beta2, eps, decay = (number(x) for x in (lr, beta1, beta2, eps, decay))
    grad = g.float() if decoupled else g.float() + decay * p.float()
    m.copy_(beta1 * m.float() + (1 - beta1) * grad)
    v.copy_(beta2 * v.float() + (1 - beta2) * grad * grad)
    first, second = (1 - beta1**step, 1 - beta2**step) if correct else (1.0, 1.0)
    change = (m.float() / (first or 1.0)) / ((v.float() / (second or 1.0)).sqrt() + eps)
    p.copy_(p.float() - lr * (change + decay * p.float() if decoupled else change))


def multi_tensor_adam(
    _chunk: int, _flag: Any, lists: Any, lr: Any, b1: Any, b2: Any, eps: Any, step: int, mode: int, correct: int, decay: Any
) -> None:
    for g, p, m, v in zip(*lists, strict=True):
        adam(p, g, m, v, lr, b1, b2, eps, step, mode == 1, correct, decay)


def lion(p: Any, g: Any, m: Any, lr: Any, beta1: Any, beta2: Any, decay: Any) -> None:
    lr, beta1, beta2, decay = (number(x) for x in (lr, beta1, beta2, decay))
    direction = (beta1 * m.float() + (1 - beta1) * g.float()).sign()
    p.copy_(p.float() * (1 - lr * decay) - lr * direction)
    m.copy_(beta2 * m.float() + (1 - beta2) * g.float())


def multi_tensor_lion(_chunk: int, _flag: Any, lists: Any, lr: Any, b1: Any, b2: Any, _step: int, decay: Any) -> None:
    for g, p, m in zip(*lists, strict=True):
        lion(p, g, m, lr, b1, b2, decay)


def lamb(
    p: Any, _out: Any, m: Any, v: Any, g: Any, lr: Any, b1: Any, b2: Any, high: Any, low: Any, eps: Any, scale: Any, step: int,
    _mode: int, correct: int, decay: Any,
) -> Any:  # fmt: skip
    for value in (lr, b1, b2, high, low, eps, decay):
        number(value)
    before = p.clone()
    adam(p, g / scale, m, v, 1.0, b1, b2, eps, step, True, correct, decay)
    update = before - p
    size = update.float().norm()
    ratio = (before.float().norm() / size).clamp(float(low), float(high)) if size else size.new_ones(())
    p.copy_(before - float(lr) * ratio * update)
    return ratio


def adagrad(p: Any, g: Any, v: Any, lr: Any, eps: Any, decay: Any) -> None:
    lr, eps, decay = (number(x) for x in (lr, eps, decay))
    grad = g.float() + decay * p.float()
    v.add_(grad * grad)
    p.copy_(p.float() - lr * grad / (v.float().sqrt() + eps))


def checked(*values: Any) -> None:
    for value in values:
        number(value)


def kernels() -> dict[str, SimpleNamespace]:
    """Plain torch in place of the optimizers' kernels, by module and builder name; signatures are those of the bindings in csrc."""
    return {
        "deepspeed.ops.adam.fused_adam.FusedAdamBuilder": SimpleNamespace(multi_tensor_adam=multi_tensor_adam),
        "deepspeed.ops.adam.cpu_adam.CPUAdamBuilder": SimpleNamespace(
            create_adam=lambda _id, lr, b1, b2, eps, decay, _mode, _log: checked(lr, b1, b2, eps, decay),
            destroy_adam=lambda _id: None,
            adam_update=lambda _id, step, lr, b1, b2, eps, decay, correct, p, g, m, v: adam(
                p, g, m, v, lr, b1, b2, eps, step, True, correct, decay
            ),
        ),
        "deepspeed.ops.lamb.fused_lamb.FusedLambBuilder": SimpleNamespace(lamb=lamb),
        "deepspeed.ops.lion.fused_lion.FusedLionBuilder": SimpleNamespace(multi_tensor_lion=multi_tensor_lion),
        "deepspeed.ops.lion.cpu_lion.CPULionBuilder": SimpleNamespace(
            create_lion=lambda _id, lr, b1, b2, decay, _log: checked(lr, b1, b2, decay),
            destroy_lion=lambda _id: None,
            lion_update=lambda _id, _step, lr, b1, b2, decay, p, g, m: lion(p, g, m, lr, b1, b2, decay),
        ),
        "deepspeed.ops.adagrad.cpu_adagrad.CPUAdagradBuilder": SimpleNamespace(
            create_adagrad=lambda _id, lr, eps, decay, _log: checked(lr, eps, decay),
            destroy_adagrad=lambda _id: None,
            adagrad_update=lambda _id, _step, lr, eps, decay, p, g, v: adagrad(p, g, v, lr, eps, decay),
        ),
    }


def replace_kernels() -> None:
    import importlib

    from deepspeed.accelerator import get_accelerator
    from deepspeed.ops.op_builder.builder import OpBuilder

    def never(self: Any, *_: Any, **__: Any) -> None:
        raise NeedsBuild(f"{type(self).__name__} needs to be built")

    OpBuilder.load = OpBuilder.jit_load = never
    for name, kernel in kernels().items():
        module, builder = name.rsplit(".", 1)
        setattr(importlib.import_module(module), builder, type(builder, (), {"load": lambda self, kernel=kernel, **_: kernel}))
    importlib.import_module("deepspeed.comm.torch").build_shm_op = lambda: None
    get_accelerator().is_fp16_supported = lambda: True


def on_one_rank(config: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The config for one rank and a small model, and its accumulation steps. The keys that are written stay those that are written."""
    parsed = parse(config)
    micro, accumulation = min(parsed.train_micro_batch_size_per_gpu, 2), min(parsed.gradient_accumulation_steps, 2)
    small = {
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": accumulation,
        "train_batch_size": micro * accumulation,
    }
    config = {key: value for key, value in copy.deepcopy(config).items() if key not in ("sequence_parallel_size", "data_parallel_size")}
    for key, value in small.items():
        if config.get(key) is not None:
            config[key] = value if isinstance(config[key], float) or not float(value).is_integer() else int(value)
    zero = config.get("zero_optimization")
    if isinstance(zero, dict):
        for key in BUCKETS:
            value = zero.get(key)
            if isinstance(value, (int, float)) and math.isfinite(value) and value > BUCKET_CAP:
                zero[key] = type(value)(BUCKET_CAP)
        zero.setdefault("reduce_bucket_size", BUCKET_CAP)
    return config, math.ceil(accumulation)


def train(config: dict[str, Any]) -> None:
    """Two optimizer steps on one rank; raises what DeepSpeed raises."""
    import deepspeed
    import torch

    config, accumulation = on_one_rank(config)
    leave_fake_world()
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False, auto_mpi_discovery=False)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Embedding(32, 16), torch.nn.Linear(16, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 32)
    )
    section = config.get("optimizer")
    named = isinstance(section, dict) and section.get("type") is not None
    client = None if named else client_optimizer(config, model.parameters())
    engine, *_ = deepspeed.initialize(model=model, optimizer=client, model_parameters=model.parameters() if named else None, config=config)
    for _ in range(2 * accumulation):
        tokens = torch.randint(0, 32, (2, 8))
        logits = engine(tokens)
        loss = torch.nn.functional.cross_entropy(logits.float().reshape(-1, 32), tokens.reshape(-1))
        engine.backward(loss)
        engine.step()


def client_optimizer(config: dict[str, Any], parameters: Any) -> Any:
    """What a script would bring along where the config names no optimizer: DeepSpeed's own when it is to run on the CPU."""
    import torch
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    offload = parse(config).zero_config.offload_optimizer
    if offload is not None and offload.device != "none":
        return DeepSpeedCPUAdam(parameters, lr=1e-3)
    return torch.optim.AdamW(parameters, lr=1e-3)


def leave_fake_world() -> None:
    import deepspeed.comm.comm
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    deepspeed.comm.comm.cdb = None


def ask_engine(config: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a forked child, which is killed when its time is over."""
    reader, writer = os.pipe()
    scratch = tempfile.mkdtemp(prefix="dslint-differential-")
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        os.chdir(scratch)
        try:
            train(config)
            verdict = ACCEPTED
        except BaseException as error:  # the verdict is whatever it raises
            verdict = refusal(error)
        os.write(writer, json.dumps(verdict, default=str).encode())
        os._exit(0)
    os.close(writer)
    signal.alarm(ENGINE_SECONDS)
    try:
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        signal.alarm(0)
        verdict = json.loads(text) if text else refusal(RuntimeError("the engine's process died"))
    except OutOfTime as error:
        verdict = refusal(error)
    finally:
        signal.alarm(0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict


def enter_fake_world() -> None:
    """A world of ranks that only this process pretends: the parser asks for its size, nothing more."""
    import deepspeed
    import torch
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD_SIZE)
    deepspeed.init_distributed(dist_backend="fake", verbose=False, auto_mpi_discovery=False)


def prepare(mode: str) -> None:
    """Everything slow, done once before the first config. No autograd and no gloo before the forks."""
    import torch

    torch.set_num_threads(1)
    import deepspeed  # noqa: F401

    logging.disable(logging.CRITICAL)
    replace_kernels()
    enter_fake_world()
    if mode == "engine":
        import importlib

        for name in (
            "torch._dynamo",
            "torch._inductor",
            "torch.distributed._composable",
            "cpuinfo",
            "deepspeed.runtime.zero.stage3",
            "deepspeed.runtime.zero.muon.muon_optimizer",
        ):
            importlib.import_module(name)


def main() -> None:
    mode = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    with contextlib.redirect_stdout(io.StringIO()):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(os.environ.get("DIFFERENTIAL_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        prepare(mode)
        signal.signal(signal.SIGALRM, answer_alarm)
        ask = {"parser": ask_parser, "engine": ask_engine}[mode]
        for line in sys.stdin:
            request = json.loads(line)
            answers.write(json.dumps({"id": request["id"], **ask(request["config"])}) + "\n")
            answers.flush()
    answers.close()
    os._exit(0)


if __name__ == "__main__":
    main()
