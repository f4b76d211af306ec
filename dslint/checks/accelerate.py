"""What Accelerate's launcher does with its file, beyond what a condition can say."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix, Severity
from dslint.engine.view import Finding, View
from dslint.schema.lookup import Schema
from dslint.schema.missing import MISSING

PARALLEL = "parallelism_config"
SIZES = tuple(f"{PARALLEL}.{PARALLEL}_{kind}_size" for kind in ("dp_replicate", "dp_shard", "tp", "cp", "sp"))
# keys of DeepSpeed's JSON without which the run trains something else; the other ones watch it, or say again what mixed_precision says
WHAT_IS_TRAINED = frozenset(
    [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "optimizer",
        "scheduler",
        "zero_optimization",
        "zero_force_ds_cpu_optimizer",
        "zero_allow_untested_optimizer",
        "tensor_parallel",
        "data_types",
    ]
)


@check("accelerate-processes-against-devices")
def processes_against_devices(view: View) -> Iterator[Finding]:
    """More processes on each machine than gpu_ids names, or than the machine has."""
    processes, machines = view.get("num_processes"), view.get("num_machines")
    kind = view.get("distributed_type")
    if not isinstance(processes, int) or not isinstance(machines, int) or machines < 1 or kind not in ("MULTI_GPU", "FSDP", "DEEPSPEED"):
        return
    if view.get("use_cpu") is True:
        return
    each, named = processes // machines, view.get("gpu_ids")
    if isinstance(named, str) and named.strip() != "all":
        devices, where = len([part for part in named.split(",") if part.strip()]), " in gpu_ids"
    else:
        present = view.fact("gpus_per_node")
        if present is MISSING:
            return
        devices, where = int(present), ""
    if each > devices and not (devices == 1 and kind == "MULTI_GPU" and where):  # AC002 says that
        fix = Fix(f"num_processes {devices * machines}", "unsafe", (Change("set", view.path("num_processes"), devices * machines),))
        yield Finding("num_processes", {"processes": each, "devices": devices, "where": where}, fixes=(fix,))


@check("accelerate-deepspeed-json-keys")
def deepspeed_json_keys(view: View) -> Iterator[Finding]:
    """Keys of DeepSpeed's JSON, or of its zero_optimization block, among Accelerate's own."""
    written = view.resolved.blocks.get("deepspeed_config")
    names = view.keys("deepspeed_config")
    if written is None or names is MISSING:
        return
    deepspeed = Schema.load("deepspeed")
    target = view.project.targets.get("deepspeed")
    at = deepspeed.at(target.version if target else deepspeed.newest)
    of_zero = at.block("zero_optimization").keys.keys()
    theirs = at.block(at.root).keys.keys() | of_zero
    for name in names:
        if name not in written.keys and name not in written.aliases and name in theirs:
            path = f"deepspeed_config.{name}"
            severity: Severity = "error" if name in WHAT_IS_TRAINED or name in of_zero else "warning"
            fix = Fix(f"remove {name}", "unsafe", (Change("delete", view.path(path)),))
            yield Finding(path, {"key": name}, severity=severity, fixes=(fix,))


@check("accelerate-parallel-sizes-against-processes")
def parallel_sizes_against_processes(view: View) -> Iterator[Finding]:
    if view.absent(PARALLEL) or view.get("distributed_type") not in ("FSDP", "MULTI_GPU"):
        return
    sizes, processes = [view.get(path) for path in SIZES], view.get("num_processes")
    if not isinstance(processes, int) or not all(isinstance(size, int) for size in sizes):
        return
    product, by_deepspeed = prod(sizes), sizes[-1] > 1
    if product not in (1, processes) and not by_deepspeed:
        fix = Fix(f"num_processes {product}", "unsafe", (Change("set", view.path("num_processes"), product),))
        at = next((path for path in SIZES if view.written(path)), PARALLEL)
        yield Finding(at, {"product": product, "num_processes": processes}, fixes=(fix,))
