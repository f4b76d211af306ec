"""Blocks that are off without saying so, and the data efficiency block, which DeepSpeed reads by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dslint.checks.registry import check
from dslint.document import Change, Scalar
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View
from dslint.schema.missing import MISSING
from dslint.schema.suggest import suggest

# blocks whose "enabled" is false unless written
SWITCHED = (
    "fp16",
    "bf16",
    "torch_autocast",
    "tensorboard",
    "wandb",
    "csv_monitor",
    "comet",
    "flops_profiler",
    "comms_logger",
    "hybrid_engine",
    "autotuning",
    "data_efficiency.data_sampling.curriculum_learning",
    "data_efficiency.data_sampling.dynamic_batching",
    "data_efficiency.data_routing.random_ltd",
)
SAMPLING, ROUTING = "data_efficiency.data_sampling", "data_efficiency.data_routing"
SCHEDULES = ("fixed_discrete", "fixed_root", "fixed_linear", "custom")
SCHEDULE_NEEDS = {
    "fixed_discrete": ("difficulty", "max_step"),
    "fixed_root": ("total_curriculum_step", "difficulty_step", "root_degree"),
    "fixed_linear": ("total_curriculum_step", "difficulty_step"),
}


@check("block-without-enabled")
def block_without_enabled(view: View) -> Iterator[Finding]:
    for path in SWITCHED:
        written = view.keys(path)
        names = [name for name in written if not name.startswith(("_", "//", "#"))] if written is not MISSING else []
        if names and "enabled" not in names and not any(suggest(name, ["enabled"]) for name in names):
            fix = Fix("enable it", "unsafe", (Change("set", (*view.path(path), "enabled"), True),))
            yield Finding(path, {"block": path}, fixes=(fix,))


def _block(view: View, path: str) -> dict[str, Any]:
    """A block of data_efficiency that is enabled, else an empty one. Only its own switch counts: those of the blocks around it are read by nothing."""
    block = view.raw(path)
    return block if isinstance(block, dict) and block.get("enabled") not in (None, False, 0, "") else {}


@check("curriculum-without-metrics")
def curriculum_without_metrics(view: View) -> Iterator[Finding]:
    path = f"{SAMPLING}.curriculum_learning"
    block = _block(view, path)
    if block and "curriculum_metrics" not in block:
        yield Finding(path)


@check("dynamic-batching-without-limit")
def dynamic_batching_without_limit(view: View) -> Iterator[Finding]:
    path = f"{SAMPLING}.dynamic_batching"
    block = _block(view, path)
    if block and "max_tokens" not in block:
        yield Finding(path)


@check("curriculum-schedule")
def curriculum_schedule(view: View) -> Iterator[Finding]:
    """What the scheduler of each curriculum metric cannot do without."""
    path = f"{SAMPLING}.curriculum_learning"
    metrics = _block(view, path).get("curriculum_metrics")
    for name, metric in metrics.items() if isinstance(metrics, dict) else ():
        where = f"{path}.curriculum_metrics.{name}"
        if not isinstance(metric, dict):
            continue
        for problem in _schedule_problems(metric):
            yield Finding(where, {"metric": name, "problem": problem})


def _schedule_problems(metric: dict[str, Any]) -> Iterator[str]:
    for key in ("min_difficulty", "max_difficulty", "schedule_type"):
        if key not in metric:
            yield f"{key} is missing"
    kind = metric.get("schedule_type")
    if kind is not None and kind not in SCHEDULES:
        yield f"schedule_type {kind!r} is none of {', '.join(SCHEDULES)}"
        return
    config = metric.get("schedule_config", {}) if kind in SCHEDULE_NEEDS else None
    if not isinstance(config, dict):
        return
    missing = [key for key in SCHEDULE_NEEDS[str(kind)] if key not in config]
    if missing:
        yield f"schedule_config of {kind} needs {', '.join(missing)}"
    steps, levels = config.get("max_step"), config.get("difficulty")
    if kind == "fixed_discrete" and isinstance(steps, list) and isinstance(levels, list) and (not steps or len(levels) != len(steps) + 1):
        yield f"difficulty needs one entry more than max_step, and max_step at least one; they have {len(levels)} and {len(steps)}"


@check("curriculum-step-alignment")
def curriculum_step_alignment(view: View) -> Iterator[Finding]:
    path = f"{SAMPLING}.curriculum_learning"
    metrics = _block(view, path).get("curriculum_metrics")
    for name, metric in metrics.items() if isinstance(metrics, dict) else ():
        config = metric.get("schedule_config") if isinstance(metric, dict) else None
        step = config.get("difficulty_step") if isinstance(config, dict) else None
        if "seqlen" in name and isinstance(step, int) and step % 8:
            yield Finding(f"{path}.curriculum_metrics.{name}", {"metric": name, "step": step})


@check("random-ltd")
def random_ltd(view: View) -> Iterator[Finding]:
    """What random layer-token dropping cannot do without, and what it does not do."""
    path = f"{ROUTING}.random_ltd"
    block = _block(view, path)
    if not block:
        return
    schedule = block.get("random_ltd_schedule")
    missing = [key for key in ("total_layer_num", "random_ltd_layer_num", "random_ltd_schedule") if key not in block]
    if isinstance(schedule, dict):
        missing += [
            f"random_ltd_schedule.{key}" for key in ("min_value", "max_value", "schedule_type", "schedule_config") if key not in schedule
        ]
        config = schedule.get("schedule_config")
        if isinstance(config, dict):
            missing += [f"random_ltd_schedule.schedule_config.{key}" for key in ("require_steps", "seq_per_step") if key not in config]
    if missing:
        yield Finding(path, {"problem": f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"})
    rates = block.get("layer_token_lr_schedule")
    if isinstance(rates, dict) and rates.get("enabled"):
        yield Finding(path, {"problem": "layer_token_lr_schedule is not implemented"})
    for key, allowed in (("hidden_state_order", ("batch_seq_dim", "seq_batch_dim")), ("model_type", ("encoder", "decoder"))):
        if key in block and block[key] not in allowed:
            yield Finding(path, {"problem": f"{key} {block[key]!r} is neither {allowed[0]} nor {allowed[1]}"})


@check("data-efficiency-switch")
def data_efficiency_switch(view: View) -> Iterator[Finding]:
    """An outer switch that says off around an inner one that says on."""
    outer = {"data_efficiency": (SAMPLING, ROUTING), SAMPLING: (), ROUTING: ()}
    parts = {SAMPLING: ("curriculum_learning", "dynamic_batching"), ROUTING: ("random_ltd",)}
    for path, inside in outer.items():
        block = view.raw(path)
        if not isinstance(block, dict) or block.get("enabled") is not False:
            continue
        running = [
            f"{parent}.{name}"
            for parent in (inside or (path,))
            for name in parts[parent]
            if name != "dynamic_batching" and _block(view, f"{parent}.{name}")
        ]
        if running:
            yield Finding(f"{path}.enabled", {"outer": path, "inner": running[0]})
            return


@check("elastic-batch-keys")
def elastic_batch_keys(view: View) -> Iterator[Finding]:
    """Batch keys beside an elasticity block that works them out."""
    block = view.raw("elasticity")
    if not isinstance(block, dict) or not block.get("enabled") or block.get("ignore_non_elastic_batch_info"):
        return
    keys = [key for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps") if view.written(key)]
    if keys:
        fix = Fix("remove the batch keys", "unsafe", tuple(Change("delete", view.path(key)) for key in keys))
        yield Finding(keys[0], {"keys": ", ".join(keys)}, fixes=(fix,))


@check("autotp-pass-alone")
def autotp_pass_alone(view: View) -> Iterator[Finding]:
    passes = view.raw("compile.passes")
    if view.on("compile.deepcompile") and isinstance(passes, list) and "autotp" in passes and len(set(map(str, passes))) > 1:
        yield Finding("compile.passes")


@check("autoep-with-stage-3")
def autoep_with_stage_3(view: View) -> Iterator[Finding]:
    """What AutoEP's expert layers do not do yet at ZeRO stage 3."""
    block = view.raw("expert_parallel")
    if not isinstance(block, dict) or block.get("enabled") is not True or view.get("zero_optimization.stage") != 3:
        return
    partition, sequence = view.get("zero_optimization.zero_hpz_partition_size"), view.get("sequence_parallel_size")
    tensor = block.get("expert_tensor_parallel_size", 1)
    reasons = [
        ("quantized gradients", view.on("zero_optimization.zero_quantized_gradients")),
        ("hpZ", isinstance(partition, int) and partition > 1),
        ("sequence parallelism", isinstance(sequence, int) and sequence > 1),
        ("expert tensor parallelism", isinstance(tensor, int) and tensor > 1),
    ]
    if unsupported := [name for name, wanted in reasons if wanted]:
        yield Finding("expert_parallel", {"unsupported": " or ".join(unsupported)})


@check("autoep-compile")
def autoep_compile(view: View) -> Iterator[Finding]:
    """What keeps engine.compile() from compiling around AutoEP's layers."""
    if not view.on("compile.autoep_non_moe"):
        return
    block = view.raw("expert_parallel")
    experts = block if isinstance(block, dict) else {}
    tensor, sequence = view.get("tensor_parallel.autotp_size"), view.get("sequence_parallel_size")
    devices = [view.get(f"zero_optimization.{name}.device") for name in ("offload_optimizer", "offload_param")]
    reasons = [
        ("needs expert_parallel", not experts),
        ("needs expert_parallel.comm_backend comm", experts.get("comm_backend", "comm") != "comm"),
        ("cannot be combined with DeepCompile", view.on("compile.deepcompile")),
        ("does not support ZeRO stage 3", view.get("zero_optimization.stage") == 3),
        ("does not support offload", any(device in ("cpu", "nvme") for device in devices)),
        ("does not support AutoTP", isinstance(tensor, int) and tensor > 1),
        ("does not support sequence parallelism", isinstance(sequence, int) and sequence > 1),
    ]
    problem = next((text for text, wrong in reasons if wrong), None)
    if problem is not None:
        yield Finding("compile.autoep_non_moe", {"problem": problem})


@check("block-as-a-switch")
def block_as_a_switch(view: View) -> Iterator[Finding]:
    """A block written as true, false, or (zero_optimization) its stage."""
    for path in (*SWITCHED, "activation_checkpointing", "data_efficiency"):
        value = scalar(view, path)
        switch = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else value
        if isinstance(switch, bool):
            plain: object = {} if path == "activation_checkpointing" else {"enabled": switch}
            yield _as_block(view, path, value, plain)
    stage = scalar(view, "zero_optimization")
    if isinstance(stage, int) and not isinstance(stage, bool) and 0 <= stage <= 3:
        yield _as_block(view, "zero_optimization", stage, {"stage": stage})


def scalar(view: View, path: str) -> object:
    """The value as written where it is no block, else MISSING."""
    node = view.node(path)
    return node.value if isinstance(node, Scalar) else MISSING


def _as_block(view: View, path: str, value: object, plain: object) -> Finding:
    fix = Fix(f"write {json.dumps(plain)}", "safe", (Change("set", view.path(path), plain),))
    return Finding(path, {"block": path, "written": value, "plain": json.dumps(plain)}, fixes=(fix,))


# what the monitors' own packages and other tools call these settings -> the monitor blocks' names (None: there is none)
MONITOR_NAMES: dict[str, dict[str, str | None]] = {
    "wandb": {
        "entity": "team",
        "project_name": "project",
        "group_name": "group",
        "name": None,
        "run_name": None,
        "tags": None,
        "mode": None,
    },
    "tensorboard": {
        "log_dir": "output_path",
        "logdir": "output_path",
        "output_dir": "output_path",
        "path": "output_path",
        "name": "job_name",
        "run_name": "job_name",
    },
    "csv_monitor": {
        "log_dir": "output_path",
        "output_dir": "output_path",
        "path": "output_path",
        "name": "job_name",
        "run_name": "job_name",
    },
    "comet": {"project_name": "project", "name": "experiment_name", "run_name": "experiment_name", "log_interval": "samples_log_interval"},
}


@check("monitor-names")
def monitor_names(view: View) -> Iterator[Finding]:
    for block, names in MONITOR_NAMES.items():
        for name, ours in names.items():
            path = f"{block}.{name}"
            if view.absent(path):
                continue
            place = view.path(path)
            if ours is None or view.written(f"{block}.{ours}"):
                fix, hint = Fix(f"remove {name}", "unsafe", (Change("delete", place),)), "there is no such setting"
            else:
                fix, hint = Fix(f"rename it to {ours}", "safe", (Change("rename", place, to=(*place[:-1], ours)),)), f"here it is {ours}"
            yield Finding(path, {"block": block, "key": name, "hint": hint}, fixes=(fix,))


@check("trains-in-fp32")
def trains_in_fp32(view: View) -> Iterator[Finding]:
    """ZeRO without any reduced precision, where nothing outside of the file sets it."""
    named = [name for name in ("fp16", "bf16", "torch_autocast", "amp") if view.written(name)]
    stage = view.get("zero_optimization.stage")
    if view.context != "hf" and not named and isinstance(stage, int) and stage >= 1:
        yield Finding("zero_optimization")


@check("values-for-the-autotuner")
def values_for_the_autotuner(view: View) -> Iterator[Finding]:
    """Values that the format excuses, because another program reads them."""
    for issue in view.resolved.issues:
        if issue.kind in ("type", "enum") and view.config.form.excuses(view.resolved, issue.canonical):
            yield Finding(issue.canonical, {"key": issue.canonical, "written": view.raw(issue.canonical)})
