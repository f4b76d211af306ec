"""The road through Accelerate's launcher: its file becomes variables as `accelerate launch` makes them, and a plain script calls `prepare`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from dslint.verify import model_size as size
from dslint.verify.engines import deepspeed, loop, measure, models
from dslint.verify.engines.watch import Watch

FILE, DEEPSPEED_FILE = "accelerate.yaml", "ds_config.json"
PREFIXES = ("ACCELERATE_", "FSDP_", "PARALLELISM_")


def enter_launch(request: Mapping[str, Any]) -> None:
    """Set the variables that `accelerate launch` sets for a script. Raises what the launcher raises.

    Source: accelerate/commands/launch.py (launch_command), accelerate/utils/launch.py (prepare_deepspeed_cmd_env, prepare_multi_gpu_env).
    """
    from accelerate.commands import launch
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.state import AcceleratorState
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    file = _write(request)
    load_config_from_file(file)
    arguments = launch.launch_command_parser().parse_args(["--config_file", file, "train.py"])
    arguments, defaults, _ = _as_on_devices(request["ranks"], lambda: launch._validate_launch_command(arguments))
    if arguments.use_deepspeed:
        arguments.deepspeed_fields_from_accelerate_config = ",".join(list(defaults.deepspeed_config) if defaults else [])
        _, variables = prepare_deepspeed_cmd_env(arguments)
    else:
        variables = prepare_multi_gpu_env(arguments)
    os.environ.update({name: value for name, value in variables.items() if name.startswith(PREFIXES)})
    # the launcher looked at a state of its own, in what is another process in a launch
    AcceleratorState._reset_state(reset_partial_state=True)


def _write(request: Mapping[str, Any]) -> str:
    """The launcher's file in the scratch directory, with the DeepSpeed config that it names beside it."""
    launcher = dict(request["launcher"])
    block = dict(launcher.get("deepspeed_config") or {})
    if request["config"] and block.get("deepspeed_config_file"):
        with open(loop.here(DEEPSPEED_FILE), "w", encoding="utf-8") as file:
            json.dump(request["config"], file)
        launcher["deepspeed_config"] = {**block, "deepspeed_config_file": loop.here(DEEPSPEED_FILE)}
    place = loop.here(f"{request['rank']}-{FILE}")
    with open(place, "w", encoding="utf-8") as file:
        json.dump(launcher, file)  # JSON is YAML
    return place


def _as_on_devices(devices: int, ask: Callable[[], Any]) -> Any:
    """The launcher asks torch for devices to tell what may be launched; on a CPU it is told of as many as there are ranks."""
    real = torch.cuda.device_count, torch.cuda.is_available
    if not torch.cuda.is_available():
        torch.cuda.device_count, torch.cuda.is_available = (lambda: devices), (lambda: True)
    try:
        return ask()
    finally:
        torch.cuda.device_count, torch.cuda.is_available = real


class Trainee(deepspeed.Trainee):
    """DeepSpeed's engine as Accelerate made it, around a model of transformers."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.engine(input_ids=tokens, labels=tokens).loss
        return loss

    def rate(self) -> float:
        return max(float(group["lr"]) for group in self.engine.basic_optimizer.param_groups)


def train(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """A script that hands its model, optimizer, schedule and data to `Accelerator.prepare`."""
    started = time.monotonic()
    trainee, filled = _prepared(request, rank, say, deepspeed.SEED)
    say("train")
    report = {"found": measure.found(trainee.engine), **loop.train(trainee, request, say), "bytes": measure.bytes_held(trainee.engine)}
    report |= {"filled": filled, "loss_scale": measure.loss_scale(trainee.engine)}
    return {**report, "device": str(trainee.device), "seconds": time.monotonic() - started}


def resume(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    trainee, _ = _prepared(request, rank, say, deepspeed.SEED + 1)
    return loop.resume(trainee, request, say)


def wait_for_all() -> None:
    torch.distributed.barrier()


def _prepared(request: Mapping[str, Any], rank: int, say: Callable[[str], None], seed: int) -> tuple[Trainee, dict[str, Any]]:
    from accelerate import Accelerator
    from accelerate.utils import DummyOptim, DummyScheduler, InitProcessGroupKwargs

    watch = Watch()
    deepspeed.prepare_process(request, rank, watch)
    say("read the launcher's file")
    enter_launch(request)
    # without a device Accelerate takes no backend by itself, and then counts one process
    accelerator = Accelerator(kwargs_handlers=[] if torch.cuda.is_available() else [InitProcessGroupKwargs(backend="gloo")])
    plugin = accelerator.state.deepspeed_plugin
    config = plugin.deepspeed_config
    say("initialize")
    model = models.build(request, seed)
    watch.layer(model)
    data = torch.utils.data.DataLoader([{"input_ids": 0}] * 8, batch_size=request["micro_batch"])
    optimizer = DummyOptim(model.parameters(), lr=1e-3) if "optimizer" in config else torch.optim.AdamW(model.parameters(), lr=1e-3)
    given = [model, optimizer, data]
    if "scheduler" in config:
        given.append(DummyScheduler(optimizer, total_num_steps=request["total_steps"], warmup_num_steps=1))
    engine = accelerator.prepare(*given)[0]
    trainee = Trainee(engine, watch)
    trainee.sequence, trainee.vocabulary = request["sequence"] or size.SEQUENCE, model.config.vocab_size
    return trainee, json.loads(json.dumps(plugin.deepspeed_config, default=str))
