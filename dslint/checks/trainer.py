"""The Trainer's arguments, and a DeepSpeed config held against them."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.versions import parse_version
from dslint.engine.view import Finding, View
from dslint.formats.trainer import options
from dslint.nearest import did_you_mean
from dslint.schema.lookup import Schema
from dslint.schema.missing import MISSING

# what the Trainer compares: the DeepSpeed key, and the Plan's name of its own argument
COMPARED = {
    "train_micro_batch_size_per_gpu": "batch.micro",
    "gradient_accumulation_steps": "batch.accumulation",
    "train_batch_size": "batch.total",
    "gradient_clipping": "optimizer.clipping",
    "optimizer.params.lr": "optimizer.lr",
    "optimizer.params.betas": "optimizer.betas",
    "optimizer.params.eps": "optimizer.eps",
    "optimizer.params.weight_decay": "optimizer.weight_decay",
    "scheduler.params.warmup_max_lr": "optimizer.lr",
    "fp16.enabled": "precision.fp16",
    "bf16.enabled": "precision.bf16",
}
FACTORS = ("batch.micro", "batch.accumulation")
STRATEGIES = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2")
FSDP1_ONLY = ("no_shard", "hybrid_shard", "hybrid_shard_zero2")
OPTIONS = (*STRATEGIES, "offload", "auto_wrap")


@check("deepspeed-against-trainer")
def deepspeed_against_trainer(view: View) -> Iterator[Finding]:
    if view.context != "hf" or not view.plan:
        return
    for key, name in COMPARED.items():
        here = view.raw(key)
        if here is MISSING or here is None or here == "auto":
            continue
        there = _total(view) if name == "batch.total" else view.get(f"plan.{name}")
        if there is MISSING or there is None or here == there:
            continue
        fix = Fix('write "auto"', "unsafe", (Change("set", view.path(key), "auto"),))
        yield Finding(key, {"key": key, "here": here, "there": there}, fixes=(fix,), plan=FACTORS if name == "batch.total" else (name,))


def _total(view: View) -> object:
    """The batch that the Trainer works out: its micro batch, its accumulation, and the ranks."""
    factors = [view.get(f"plan.{name}") for name in FACTORS]
    world = view.fact("world_size")
    if not all(isinstance(factor, int) for factor in (*factors, world)):
        return MISSING
    return factors[0] * factors[1] * world


def fsdp_version(view: View) -> tuple[int | None, bool]:
    """FSDP's version in this file's launch, and whether it is only the default."""
    written = view.get("version") if view.config.form.name == "fsdp" else view.get("plan.engine.fsdp_version")
    if isinstance(written, (int, str)):
        return int(written), False
    target = view.project.targets.get("transformers")
    version = parse_version(target.version if target else Schema.load("transformers").newest)
    return 2 if version >= parse_version("5.12") else 1, True


@check("trainer-fsdp2-reshard")
def fsdp2_reshard(view: View) -> Iterator[Finding]:
    value = view.raw("reshard_after_forward")
    version, default = fsdp_version(view)
    if (
        version != 2
        or not isinstance(value, str)
        or value.lower() in ("true", "false", "yes", "no", "on", "off", "1", "0", "y", "n", "t", "f")
    ):
        return
    fixes = []
    if value.lower() in ("full_shard", "shard_grad_op"):
        meant = value.lower() == "full_shard"
        fixes.append(Fix(f"write {str(meant).lower()}", "unsafe", (Change("set", view.path("reshard_after_forward"), meant),)))
    yield Finding("reshard_after_forward", {"default": " (the default version)" if default else ""}, fixes=tuple(fixes))


@check("trainer-fsdp2-strategy")
def fsdp2_strategy(view: View) -> Iterator[Finding]:
    version, default = fsdp_version(view)
    word = next((word for word in options(view.get("fsdp")) if word in FSDP1_ONLY), None)
    if version == 2 and word is not None:
        yield Finding("fsdp", {"word": word, "default": " (the default version)" if default else ""}, plan=("engine.fsdp_version",))


@check("trainer-fsdp-options")
def fsdp_options(view: View) -> Iterator[Finding]:
    for word in options(view.get("fsdp")):
        if word not in OPTIONS:
            yield Finding("fsdp", {"word": word, "hint": did_you_mean(word, OPTIONS)})


@check("grpo-groups")
def grpo_groups(view: View) -> Iterator[Finding]:
    """A generation batch that its groups do not divide."""
    group, micro = view.get("num_generations"), view.get("per_device_train_batch_size")
    if not isinstance(group, int) or group < 2 or not isinstance(micro, int):
        return
    batch = view.get("generation_batch_size")
    how = "generation_batch_size"
    if not isinstance(batch, int):
        steps = view.get("steps_per_generation")
        steps = steps if isinstance(steps, int) else view.get("gradient_accumulation_steps")
        world = view.fact("world_size")
        if not isinstance(steps, int) or not isinstance(world, int):
            return
        batch, how = micro * steps * world, f"{micro} x {world} processes x {steps} steps"
    if batch % group:
        yield Finding("num_generations", {"batch": batch, "how": how})


@check("trainer-lora-targets")
def lora_targets(view: View) -> Iterator[Finding]:
    """LoRA targets of which the model has none."""
    written, modules = view.get("lora_target_modules"), view.get("plan.model.linear_names")
    targets = [written] if isinstance(written, str) else written
    if not isinstance(targets, list) or not isinstance(modules, list) or not all(isinstance(target, str) for target in targets):
        return
    plain = [target for target in targets if target.replace("_", "").isalnum()]
    if (
        "all-linear" in targets
        or not plain
        or len(plain) != len(targets)
        or set(plain) & {*modules, *(view.get("plan.model.embedding_names") or ())}
    ):
        return
    fix = Fix("train every linear module", "unsafe", (Change("set", view.path("lora_target_modules"), "all-linear"),))
    yield Finding("lora_target_modules", {"targets": ", ".join(targets), "modules": ", ".join(modules)}, fixes=(fix,), plan=("model.path",))
