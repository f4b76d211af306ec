"""The road through the Hugging Face Trainer: its own arguments, its own loop, its own checkpoints; "auto" is filled by the Trainer itself."""

from __future__ import annotations

import copy
import glob
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import IntervalStrategy

from dslint.verify import learning
from dslint.verify import model_size as size
from dslint.verify.engines import accelerate, deepspeed, loop, measure, models
from dslint.verify.engines.watch import Watch

OUTPUT = "output"
# what the files may say of things that a verification does not do, with what it says instead
INSTEAD = {
    "output_dir": OUTPUT,
    "report_to": [],
    "disable_tqdm": True,
    "push_to_hub": False,
    "logging_steps": 1,
    "dataloader_num_workers": 0,
    "dataloader_persistent_workers": False,
    "dataloader_prefetch_factor": None,
    "torch_compile": False,
    "resume_from_checkpoint": None,
    "include_tokens_per_second": False,
    "remove_unused_columns": False,
    "log_level": "error",
    "do_train": True,
}


class Watched(Trainer):  # type: ignore[misc]
    """The Trainer; it notes the loss of each micro-batch as the model gives it."""

    def compute_loss(self, model: Any, inputs: Any, **options: Any) -> Any:
        loss = super().compute_loss(model, inputs, **options)
        # with the number of tokens of the whole step the Trainer takes each loss as its part of the step's
        parts = 1 if options.get("num_items_in_batch") is None else self.args.gradient_accumulation_steps
        self.run.micro_losses.append(parts * float(loss[0] if isinstance(loss, tuple) else loss))
        return loss * self.run.factor if self.run.factor != 1 and not isinstance(loss, tuple) else loss


class Run(TrainerCallback):  # type: ignore[misc]
    """Counts and measures while the Trainer trains, and ends it: enough steps, a checkpoint, a few steps more."""

    def __init__(self, request: Mapping[str, Any], watch: Watch, resumed: bool) -> None:
        self.request, self.watch, self.resumed = request, watch, resumed
        self.micro_losses: list[float] = []
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.all_rates: list[float] = []
        self.skipped: list[int] = []
        self.saved_at: int | None = None
        self.factor = 1.0
        self.differences: list[str] = []
        self.trainer: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        engine = self.engine
        optimizer = engine.basic_optimizer if engine is not None else self.trainer.optimizer.optimizer
        self.watch.optimizer(optimizer, deepspeed.replicas(engine) if engine is not None else args.world_size)
        self.first = state.global_step
        if self.resumed and engine is not None:
            saved = torch.load(loop.here(f"state{self.request['rank']}.pt"), weights_only=False)
            self.differences = measure.differences(saved, dict(deepspeed.states(engine)))

    @property
    def engine(self) -> Any:
        """DeepSpeed's engine, if it is one that trains."""
        wrapped = self.trainer.model_wrapped
        return wrapped if hasattr(wrapped, "zero_optimization_stage") else None

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.watch.begin_step()
        self.micro_losses.clear()
        self.rate = max(float(group["lr"]) for group in self.trainer.optimizer.param_groups)
        self.skips = int(self.engine.skipped_steps) if self.engine is not None else 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        norm = self.engine.get_global_grad_norm() if self.engine is not None else self.trainer._verified_norm
        self.watch.end_step(None if norm is None else float(norm))
        self.losses.append(sum(self.micro_losses) / max(1, len(self.micro_losses)))
        self.all_rates.append(self.rate)
        if self.engine is not None and self.engine.skipped_steps > self.skips:
            self.skipped.append(len(self.losses) - 1)
        elif self.saved_at is None:
            self.rates.append(self.rate)
        self._go_on(control)

    def _go_on(self, control: Any) -> None:
        taken = len(self.losses)
        if self.resumed:
            control.should_training_stop = taken >= loop.STEPS_AFTER_CHECKPOINT
        elif self.saved_at is None:
            enough = len(self.rates) >= self.request["steps"] and learning.enough(self.rates, self.request["optimizer"])
            if enough or taken >= learning.MOST_STEPS:
                self.saved_at = taken
                control.should_save = True
        elif taken >= self.saved_at + loop.STEPS_AFTER_CHECKPOINT:
            norms = [before for before, _ in self.watch.norms if before is not None]
            limit = self.request["clipping"]
            if self.factor == 1 and limit and norms and 0 < max(norms) <= limit:
                self.factor = 4 * limit / norms[-1]
            else:
                control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.engine is not None:
            torch.save(dict(deepspeed.states(self.engine)), loop.here(f"state{self.request['rank']}.pt"))


def train(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Train as a script would that hands these arguments to the Trainer, and return what was measured."""
    started = time.monotonic()
    trainer, run, as_filled = _trainer(request, rank, say, deepspeed.SEED, resumed=False)
    say("train")
    trainer.train()
    at = run.saved_at or len(run.losses)
    report = {
        "found": _found(trainer, run),
        "losses": run.losses[:at],
        "rates": run.rates,
        "all_rates": run.all_rates[:at],
        "skipped": [step for step in run.skipped if step < at],
        "loss_before": run.losses[0],
        "loss_after": _loss(trainer),
        "continued": run.losses[at : at + loop.STEPS_AFTER_CHECKPOINT],
        **run.watch.counted(max(1, len(run.losses) * trainer.args.gradient_accumulation_steps)),
        "norms": run.watch.norms,
        "filled": as_filled(),
    }
    engine = run.engine
    report["loss_scale"] = measure.loss_scale(engine) if engine is not None else None
    report["bytes"] = measure.bytes_held(engine) if engine is not None else _bytes(trainer)
    if engine is not None and engine.zero_gather_16bit_weights_on_model_save():
        say("save the 16-bit model")
        trainer.save_model(loop.here("model"))
        report["saved_16bit"] = {"said": True, "bytes": sum(map(os.path.getsize, glob.glob(loop.here("model/*.safetensors"))))}
    return {**report, "device": str(trainer.args.device), "seconds": time.monotonic() - started}


def resume(request: Mapping[str, Any], rank: int, say: Callable[[str], None]) -> dict[str, Any]:
    """A second launch with the same arguments, which goes on from the first one's checkpoint."""
    # an adapter's checkpoint holds the adapter alone: the weights below it are those of the first launch
    trainer, run, _ = _trainer(request, rank, say, deepspeed.SEED + (not request["adapter"]), resumed=True)
    folder = max(glob.glob(loop.here(f"{OUTPUT}/checkpoint-*")), key=os.path.getmtime)
    say("load the checkpoint")
    trainer.train(resume_from_checkpoint=folder)
    return {"loaded": run.first > 0, "differences": run.differences, "losses": run.losses[: loop.STEPS_AFTER_CHECKPOINT]}


def wait_for_all() -> None:
    torch.distributed.barrier()


def _trainer(
    request: Mapping[str, Any], rank: int, say: Callable[[str], None], seed: int, *, resumed: bool
) -> tuple[Any, Run, Callable[[], dict[str, Any] | None]]:
    watch = Watch()
    deepspeed.prepare_process(request, rank, watch)
    say("read the arguments")
    if request["text"] is not None:
        json.loads(request["text"])  # transformers reads strict JSON
    if request["launcher"]:
        accelerate.enter_launch(request)
    arguments = TrainingArguments(**_arguments(request))
    say("build the model")
    model = models.build(request, seed)
    watch.layer(model)
    if request["adapter"]:
        model = _with_adapter(model, request["adapter"])
    say("build the Trainer")
    data = Batch(
        arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps * arguments.world_size,
        model.config.vocab_size,
        request["sequence"],
    )
    run = Run(request, watch, resumed)
    Watched.run = run
    trainer = Watched(model=model, args=arguments, train_dataset=data, eval_dataset=data, callbacks=[run])
    run.trainer = trainer
    _watch_norm(trainer)
    # what was validated as it is written is not done here: the run's own callback says when to save
    arguments.save_strategy = arguments.eval_strategy = IntervalStrategy.NO
    arguments.load_best_model_at_end = False
    return trainer, run, lambda: _filled(trainer)


def _watch_norm(trainer: Any) -> None:
    """Keep the norm that the Trainer's clipping returns."""
    trainer._verified_norm = None
    clip = trainer.accelerator.clip_grad_norm_

    def kept(*arguments: Any, **options: Any) -> Any:
        trainer._verified_norm = clip(*arguments, **options)
        return trainer._verified_norm

    trainer.accelerator.clip_grad_norm_ = kept


def _arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as written, with what a verification does not do replaced."""
    fields = TrainingArguments.__dataclass_fields__
    given = {name: value for name, value in request["arguments"].items() if name in fields}
    instead = {name: value for name, value in INSTEAD.items() if name in fields}
    arguments = {**given, **instead, "use_cpu": not torch.cuda.is_available()}
    if request["config"] and not request["launcher"]:
        arguments["deepspeed"] = copy.deepcopy(request["config"])
    return arguments


def _with_adapter(model: Any, adapter: Mapping[str, Any]) -> Any:
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **adapter))


class Batch(torch.utils.data.Dataset):  # type: ignore[type-arg, misc, unused-ignore]
    """As many samples of random tokens as one optimizer step takes: every epoch is one step on the same batch."""

    def __init__(self, samples: int, vocabulary: int, sequence: int = size.SEQUENCE) -> None:
        self.tokens = torch.randint(vocabulary, (samples, sequence), generator=torch.Generator().manual_seed(1000))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index], "attention_mask": torch.ones_like(self.tokens[index])}


def _loss(trainer: Any) -> float:
    """The loss on the batch, without training."""
    model = trainer.model_wrapped
    model.eval()
    tokens = trainer.train_dataset.tokens.to(trainer.args.device)
    with torch.no_grad():
        loss = float(model(input_ids=tokens, labels=tokens).loss)
    model.train()
    return loss


def _filled(trainer: Any) -> dict[str, Any] | None:
    plugin = trainer.accelerator.state.deepspeed_plugin
    return None if plugin is None else json.loads(json.dumps(plugin.hf_ds_config.config, default=str))


def _found(trainer: Any, run: Run) -> dict[str, Any]:
    scheduler = trainer.args.lr_scheduler_type
    if run.engine is not None:
        found = measure.found(run.engine)
        return {
            **found,
            "scheduler": found["scheduler"]
            if found["scheduler"] and found["scheduler"] != "LambdaLR"
            else str(getattr(scheduler, "value", scheduler)),
        }
    parameters = list(trainer.model.parameters())
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return {
        "engine": type(trainer.model_wrapped).__name__,
        "world_size": trainer.args.world_size,
        "optimizer": type(trainer.optimizer.optimizer).__name__,
        "wrapper": "",
        "precision": run.watch.compute,
        "master_precision": str(trained[0].dtype).removeprefix("torch."),
        "scheduler": str(getattr(scheduler, "value", scheduler)),
        "micro_batch": trainer.args.per_device_train_batch_size,
        "accumulation": trainer.args.gradient_accumulation_steps,
        "batch": trainer.args.train_batch_size * trainer.args.gradient_accumulation_steps * trainer.args.world_size,
        "whole": sum(parameter.numel() for parameter in parameters),
        "trained": sum(parameter.numel() for parameter in trained),
        "offload_optimizer": False,
        "offload_parameters": False,
    }


def _bytes(trainer: Any) -> dict[str, int]:
    parameters = list(trainer.model.parameters())
    states = [value for state in trainer.optimizer.optimizer.state.values() for value in state.values()]
    return {"parameters": measure.storage_bytes(parameters), "optimizer": measure.storage_bytes(states)}
