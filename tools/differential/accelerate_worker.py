"""Asks Accelerate's own launcher about its file (asking.py); runs as a script of its own.

What ``accelerate launch`` does with the file up to the start of the processes, then what ``Accelerator()`` makes in them of the variables:
the plugin of DeepSpeed or FSDP and the ParallelismConfig. A pretended machine of 8 GPUs that can do bf16.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from asking import serve

GPUS = 8
os.environ.update(CUDA_VISIBLE_DEVICES="", DS_ACCELERATOR="cpu", HF_HUB_OFFLINE="1", HF_HOME=tempfile.gettempdir())
ENVIRONMENT = ("FP8 is not available", "but another process is utilizing it", "No module named", "mpirun or mpiexec were not found")
PASSED_ON = ("ACCELERATE", "FSDP", "PARALLELISM")


def prepare() -> Callable[[str], None]:
    import accelerate.commands.launch as launcher
    import deepspeed  # noqa: F401 - long to import, and the plugin imports it
    import torch
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.parallelism_config import ParallelismConfig
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env, prepare_simple_launcher_cmd_env

    vars(launcher)["is_bf16_available"] = lambda *_, **__: True
    real = (torch.cuda.device_count, torch.cuda.is_available)
    parser = launcher.launch_command_parser()

    def ask(text: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            load_config_from_file(file.name)
            given = parser.parse_args(["--config_file", file.name, "train.py"])
            torch.cuda.device_count, torch.cuda.is_available = (lambda: GPUS), (lambda: True)
            try:
                args, defaults, from_file = launcher._validate_launch_command(given)
            finally:
                torch.cuda.device_count, torch.cuda.is_available = real
        if args.use_deepspeed:
            fields = [*defaults.deepspeed_config, *(["mixed_precision"] if from_file else [])]
            args.deepspeed_fields_from_accelerate_config = ",".join(fields)
            _, variables = prepare_deepspeed_cmd_env(args)
        elif args.use_fsdp or args.multi_gpu or args.use_megatron_lm:
            variables = prepare_multi_gpu_env(args)
        else:
            _, variables = prepare_simple_launcher_cmd_env(args)
        os.environ.update({name: value for name, value in variables.items() if name.startswith(PASSED_ON)})
        torch.cuda.is_available, torch.cuda.current_device = (lambda: True), (lambda: 0)  # the plugin asks for a kind of device only
        if args.use_deepspeed:
            DeepSpeedPlugin()
        elif args.use_fsdp:
            FullyShardedDataParallelPlugin()
        if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") == "true":
            ParallelismConfig()

    return ask


if __name__ == "__main__":
    serve(prepare, ENVIRONMENT)
