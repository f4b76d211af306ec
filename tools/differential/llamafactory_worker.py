"""Asks LLaMA-Factory's own parser about configs, one JSON line each way; runs as a script of its own, in LLaMA-Factory's environment.

A request is ``{"id", "text"}`` (the YAML), the answer ``{"id", "accept", "error_type", "error", "where", "environment"}``. The text is read by
OmegaConf as the command line does, and parsed on a pretended world of 8 ranks whose GPU can do bf16 and TF32; each in a forked child.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import traceback
from typing import Any

WORLD_SIZE = 8
SECONDS = 60
os.environ.update(
    HF_HUB_OFFLINE="1",
    DISABLE_VERSION_CHECK="1",
    CUDA_VISIBLE_DEVICES="",
    FORCE_TORCHRUN="1",
    WORLD_SIZE=str(WORLD_SIZE),
    RANK="0",
    LOCAL_RANK="0",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT="29678",
)
ENVIRONMENT = (
    "No package metadata",
    "No module named",
    "was not found and is required",
    "is not installed",
    "Please install",
    "requires the",
)


def prepare() -> Any:
    """Everything that takes long, once: torch's fake process group, and LLaMA-Factory itself."""
    import torch.distributed as dist
    import transformers.utils
    import transformers.utils.import_utils
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=WORLD_SIZE, store=FakeStore())
    for module in (transformers.utils, transformers.utils.import_utils):
        for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
            setattr(module, name, lambda *_, **__: True)
    from llamafactory.hparams import get_train_args

    return get_train_args


def parsed(get_train_args: Any, text: str) -> None:
    from omegaconf import OmegaConf

    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        container = OmegaConf.to_container(OmegaConf.merge(OmegaConf.load(file.name), OmegaConf.from_cli([])))
    get_train_args(container)


def verdict(get_train_args: Any, text: str) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        answer: dict[str, Any] = {"accept": True, "error_type": None, "error": None, "where": None, "environment": False}
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                parsed(get_train_args, text)
        except BaseException as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" in frame.filename]
            where = f"{frames[-1].filename.split('site-packages/')[-1]}:{frames[-1].name}" if frames else None
            blamed = any(sign in str(error) for sign in ENVIRONMENT)
            answer = {"accept": False, "error_type": type(error).__name__, "error": str(error)[:600], "where": where, "environment": blamed}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    if said:
        return dict(json.loads(said))
    return {"accept": False, "error_type": "Died", "error": "the parser's process died", "where": None, "environment": True}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what upstream prints at start belongs to no answer
    get_train_args = prepare()
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps({"id": request["id"], **verdict(get_train_args, request["text"])}) + "\n")
        answers.flush()
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
