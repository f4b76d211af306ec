"""ZeRO and offload: findings that speak of several keys at once."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View

STAGE_3_ONLY = (
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
    "stage3_model_persistence_threshold",
    "stage3_max_live_parameters",
    "stage3_max_reuse_distance",
    "stage3_module_granularity_threshold",
    "stage3_use_all_reduce_for_fetch_params",
    "stage3_allgather_sequential",
    "sub_group_size",
)
OFFLOADS = ("zero_optimization.offload_optimizer", "zero_optimization.offload_param")


@check("stage-3-keys-below-3")
def stage_3_keys_below_3(view: View) -> Iterator[Finding]:
    """One finding for all such keys of a file, at the first; those that HF fills in with "auto" are left in peace."""
    if view.get("zero_optimization.stage") not in (0, 1, 2):
        return
    names = [name for name in STAGE_3_ONLY if view.written(path := f"zero_optimization.{name}") and not view.auto(path)]
    if not names:
        return
    paths = sorted((view.path(f"zero_optimization.{name}") for name in names), key=lambda path: view.document.key_span(path).start)
    fix = Fix(f"remove {', '.join(names)}", "safe", tuple(Change("delete", path) for path in paths))
    yield Finding(
        f"zero_optimization.{paths[0][-1]}", {"keys": ", ".join(names), "verb": "has" if len(names) == 1 else "have"}, fixes=(fix,)
    )


@check("nvme-path-without-nvme")
def nvme_path_without_nvme(view: View) -> Iterator[Finding]:
    for block in OFFLOADS:
        path = f"{block}.nvme_path"
        if view.get(f"{block}.device") == "cpu" and isinstance(view.get(path), str):
            fix = Fix("remove nvme_path", "safe", (Change("delete", view.path(path)),))
            yield Finding(path, {"device": "cpu"}, fixes=(fix,))


@check("offload-without-device")
def offload_without_device(view: View) -> Iterator[Finding]:
    for block in OFFLOADS:
        if view.written(block) and view.keys(block) and not view.written(f"{block}.device"):
            fix = Fix("say cpu", "unsafe", (Change("set", (*view.path(block), "device"), "cpu"),))
            yield Finding(block, {"block": block.rpartition(".")[2]}, fixes=(fix,))


@check("zenflow-strategy-and-interval")
def zenflow_strategy_and_interval(view: View) -> Iterator[Finding]:
    strategy, interval = view.get("zero_optimization.zenflow.select_strategy"), view.get("zero_optimization.zenflow.select_interval")
    path = "zero_optimization.zenflow.select_interval"
    at = path if view.written(path) else "zero_optimization.zenflow.select_strategy"
    if strategy == "auto" and isinstance(interval, int):
        fix = Fix("leave select_interval out", "unsafe", (Change("delete", view.path(path)),))
        yield Finding(at, {"strategy": "auto", "needs": f"takes no number for select_interval, this config has {interval}"}, fixes=(fix,))
    if strategy in ("step", "epoch") and interval == "auto":
        yield Finding(at, {"strategy": strategy, "needs": "needs a number for select_interval"}, fixes=())


@check("zero-as-a-boolean")
def zero_as_a_boolean(view: View) -> Iterator[Finding]:
    """A switch in place of the block: an old form for DeepSpeed, nothing that the HF integration can read."""
    written = view.raw("zero_optimization")
    if isinstance(written, bool):
        plain = {"stage": int(written)}
        fix = Fix(f"write {json.dumps(plain)}", "safe", (Change("set", view.path("zero_optimization"), plain),))
        hf = view.context == "hf"
        effect = "; the Hugging Face integration stops at it" if hf else ""
        yield Finding("zero_optimization", {"effect": effect}, severity="error" if hf else "warning", fixes=(fix,))


@check("old-offload-switch")
def old_offload_switch(view: View) -> Iterator[Finding]:
    """cpu_offload and cpu_offload_param where the block that replaced them is not written."""
    for old, new in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")):
        key, block = f"zero_optimization.{old}", f"zero_optimization.{new}"
        switched = view.get(key)
        if not isinstance(switched, bool) or view.written(block):
            continue
        changes = [Change("delete", view.path(key))]
        if switched:
            changes.append(Change("set", view.path(block), {"device": "cpu"}))
        fix = Fix(f"write {new}" if switched else f"remove {old}", "safe", tuple(changes))
        yield Finding(key, {"key": old, "block": new}, fixes=(fix,))
