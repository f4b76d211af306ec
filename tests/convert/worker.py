"""One rank of a tiny training: with DeepSpeed from its config, or with torch's FSDP2 from Accelerate's file and the trainer's.

usage: worker.py deepspeed ds_config.json OUT | worker.py fsdp accelerate.yaml train.yaml OUT      (RANK, WORLD_SIZE … in the environment)
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers
import yaml

STEPS = 5


def model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=97
    )
    return transformers.LlamaForCausalLM(config).float()


def batch(part: int, micro: int) -> torch.Tensor:
    """The samples of this rank in one forward pass, the same in each step."""
    generator = torch.Generator().manual_seed(1000 * part + int(os.environ["RANK"]))
    return torch.randint(0, 97, (micro, 16), generator=generator)


def mean(loss: float) -> float:
    whole = torch.tensor(loss)
    dist.all_reduce(whole)
    return float(whole) / dist.get_world_size()


def with_deepspeed(config: dict[str, Any]) -> list[float]:
    from importlib import import_module

    import deepspeed

    import_module("deepspeed.comm.torch").build_shm_op = lambda: None
    config["optimizer"]["params"]["torch_adam"] = True
    deepspeed.init_distributed(dist_backend="gloo", verbose=False, auto_mpi_discovery=False)
    whole = model()
    engine, *_ = deepspeed.initialize(model=whole, model_parameters=whole.parameters(), config=config)
    losses = []
    for _ in range(STEPS):
        total = 0.0
        for part in range(config["gradient_accumulation_steps"]):
            ids = batch(part, config["train_micro_batch_size_per_gpu"])
            loss = engine(input_ids=ids, labels=ids).loss
            engine.backward(loss)
            engine.step()
            total += loss.item() / config["gradient_accumulation_steps"]
        losses.append(mean(total))
    return losses


def with_fsdp(launcher: dict[str, Any], arguments: dict[str, Any]) -> list[float]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole, again = model(), launcher["fsdp_config"]["fsdp_reshard_after_forward"]
    for layer in whole.model.layers:
        fully_shard(layer, mesh=mesh, reshard_after_forward=again)
    fully_shard(whole, mesh=mesh, reshard_after_forward=again)
    betas = (arguments.get("adam_beta1", 0.9), arguments.get("adam_beta2", 0.999))
    optimizer = torch.optim.AdamW(
        whole.parameters(),
        lr=arguments["learning_rate"],
        betas=betas,
        eps=arguments.get("adam_epsilon", 1e-8),
        weight_decay=arguments.get("weight_decay", 0.0),
    )
    schedule = transformers.get_scheduler(
        arguments["lr_scheduler_type"], optimizer, arguments.get("warmup_steps", 0), arguments.get("max_steps", STEPS)
    )
    losses = []
    for _ in range(STEPS):
        total = 0.0
        for part in range(arguments["gradient_accumulation_steps"]):
            ids = batch(part, arguments["per_device_train_batch_size"])
            loss = whole(input_ids=ids, labels=ids).loss / arguments["gradient_accumulation_steps"]
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(whole.parameters(), arguments.get("max_grad_norm", 1.0))
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(mean(total))
    return losses


if __name__ == "__main__":
    *files, out = sys.argv[2:]
    texts = [Path(file).read_text() for file in files]
    found = with_deepspeed(json.loads(texts[0])) if sys.argv[1] == "deepspeed" else with_fsdp(*map(yaml.safe_load, texts))
    if os.environ["RANK"] == "0":
        Path(out).write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()
