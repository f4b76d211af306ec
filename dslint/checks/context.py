"""Who reads the file: DeepSpeed itself (Hjson, "auto" unknown) or the Hugging Face integration (strict JSON, "auto" filled in)."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from typing import TypeAlias

from dslint.checks.registry import check
from dslint.document import Change, Mapping, Node, Path, Scalar
from dslint.engine.diagnostics import Fix, Severity
from dslint.engine.generic import COMMENT_MARKS
from dslint.engine.view import Finding, View
from dslint.schema.lookup import KeyInfo
from dslint.schema.missing import MISSING

# the keys at which the Trainer or Accelerate puts a value for "auto"; at any other Accelerate raises
# (transformers/integrations/deepspeed.py: HfTrainerDeepSpeedConfig; accelerate/utils/dataclasses.py: DeepSpeedPlugin; accelerate/accelerator.py: _prepare_deepspeed)
FILLED_BY_HF = frozenset(
    [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "steps_per_print",
        "fp16.enabled",
        "bf16.enabled",
        "optimizer.params.lr",
        "optimizer.params.betas",
        "optimizer.params.eps",
        "optimizer.params.weight_decay",
        "scheduler.params.warmup_min_lr",
        "scheduler.params.warmup_max_lr",
        "scheduler.params.warmup_num_steps",
        "scheduler.params.total_num_steps",
        "zero_optimization.stage",
        "zero_optimization.offload_optimizer.device",
        "zero_optimization.offload_optimizer.nvme_path",
        "zero_optimization.offload_param.device",
        "zero_optimization.offload_param.nvme_path",
        "zero_optimization.stage3_gather_16bit_weights_on_model_save",
        "zero_optimization.reduce_bucket_size",
        "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.stage3_param_persistence_threshold",
    ]
)
# the keys whose value, where it is not "auto", must equal that of the Trainer's arguments (HfTrainerDeepSpeedConfig.fill_match)
COMPARED_BY_TRAINER = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "gradient_clipping",
    "fp16.enabled",
    "bf16.enabled",
    "optimizer.params.lr",
    "optimizer.params.betas",
    "optimizer.params.eps",
    "optimizer.params.weight_decay",
    "scheduler.params.warmup_max_lr",
    "scheduler.params.warmup_num_steps",
    "scheduler.params.total_num_steps",
)
# blocks without which the run trains something else; the others only watch it
TRAINING_BLOCKS = frozenset(
    ["zero_optimization", "fp16", "bf16", "torch_autocast", "optimizer", "scheduler", "tensor_parallel", "data_types"]
)
Keys: TypeAlias = MappingOf[str, KeyInfo]


@check("auto-that-hf-does-not-fill")
def auto_that_hf_does_not_fill(view: View) -> Iterator[Finding]:
    """Every "auto" in a file of the HF integration at a key that it has no value for; names as written count, aliases are not filled."""
    if view.context != "hf":
        return
    autos = list(_autos(view.resolved.root, view.resolved.mount))
    canonical = {place.path: path for path, place in view.resolved.places.items()} if autos else {}
    for path in autos:
        dotted = ".".join(map(str, path[len(view.resolved.mount) :]))
        if dotted in FILLED_BY_HF:
            continue
        known = canonical.get(path, dotted)
        fixes: tuple[Fix, ...] = (Fix(f"remove {path[-1]}", "unsafe", (Change("delete", path),)),)
        name = known.rpartition(".")[2]
        if known in FILLED_BY_HF and known != dotted:
            fixes = (Fix(f"rename it to {name}", "safe", (Change("rename", path, to=(*path[:-1], name)),)),)
        yield Finding(known, {"key": dotted}, fixes=fixes)


def _autos(node: Node, path: Path) -> Iterator[Path]:
    if isinstance(node, Mapping):
        for entry in node.entries:
            if isinstance(entry.value, Scalar) and entry.value.value == "auto":
                yield (*path, entry.name)
            else:
                yield from _autos(entry.value, (*path, entry.name))


@check("hf-needs-zero-block")
def hf_needs_zero_block(view: View) -> Iterator[Finding]:
    """A file that only looks as if it were for the integration ("auto" in it) may be filled by another tool."""
    nested = any(isinstance(entry.value, Mapping) and entry.value.get("zero_optimization") for entry in view.resolved.root.entries)
    if view.context == "hf" and view.absent("zero_optimization") and not view.on("autotuning.enabled") and not nested:
        fix = Fix("add zero_optimization with stage 2", "unsafe", (Change("set", view.path("zero_optimization"), {"stage": 2}),))
        sure = view.project.context == "hf" or view.config.parent is not None
        yield Finding("zero_optimization", severity="error" if sure else "warning", fixes=(fix,))


@check("duplicate-keys")
def duplicate_keys(view: View) -> Iterator[Finding]:
    """Keys written twice, below the mount."""
    mount, duplicates = view.resolved.mount, view.document.duplicates
    canonical = {place.path: path for path, place in view.resolved.places.items()} if duplicates else {}
    for problem in duplicates:
        if problem.path[: len(mount)] == mount and len(problem.path) > len(mount):
            dotted = ".".join(map(str, problem.path[len(mount) :]))
            lines = sorted({view.document.line_column(span.start)[0] for span in (problem.span, *(span for span, _ in problem.related))})
            named = " and ".join(map(str, lines))
            yield Finding(
                canonical.get(problem.path, dotted), {"key": dotted, "lines": f"lines {named}" if len(lines) > 1 else f"line {named}"}
            )


@check("template-placeholders")
def template_placeholders(view: View) -> Iterator[Finding]:
    """One finding for a template, at its first gap."""
    gaps = view.resolved.placeholders
    if gaps:
        others = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        yield Finding(gaps[0], {"written": view.raw(gaps[0]), "others": others})


@check("nested-config")
def nested_config(view: View) -> Iterator[Finding]:
    """Blocks that DeepSpeed knows, one level too deep: under a name that it does not know."""
    top = view.resolved.schema.block(view.resolved.schema.root).keys
    for entry in view.resolved.root.entries:
        place = view.resolved.places.get(entry.name)
        known_elsewhen = entry.name in view.resolved.blocks[""].gone
        if place is None or place.info is not None or known_elsewhen or not isinstance(entry.value, Mapping):
            continue
        if entry.name.startswith(COMMENT_MARKS):
            continue
        names = [inside.name for inside in entry.value.entries]
        blocks = [inside.name for inside in entry.value.entries if isinstance(inside.value, Mapping) and _is_block(top, inside.name)]
        if not blocks:
            continue
        known = [name for name in names if name in top]
        changes = [Change("move", (*place.path, name), to=view.path(name)) for name in known]
        if len(known) == len(names):
            changes.append(Change("delete", place.path))
        fixes: tuple[Fix, ...] = (Fix("move what it holds to the top level", "unsafe", tuple(changes)),)
        if any(view.written(name) for name in known):
            fixes = (Fix(f"remove {entry.name}", "unsafe", (Change("delete", place.path),)),)
        severity: Severity = "error" if TRAINING_BLOCKS & set(blocks) else "warning"
        yield Finding(entry.name, {"key": entry.name, "inner": ", ".join(known)}, severity=severity, fixes=fixes)


def _is_block(top: Keys, name: str) -> bool:
    return name in top and (top[name].block is not None or name in ("optimizer", "scheduler"))


@check("hf-must-match")
def hf_must_match(view: View) -> Iterator[Finding]:
    """Values that the Trainer compares with its own arguments, where those are not known."""
    if view.context != "hf" or view.plan.get("batch.micro") is not MISSING:
        return
    written = [path for path in COMPARED_BY_TRAINER if view.written(path) and view.raw(path) not in ("auto", None)]
    if written:
        yield Finding(written[0], {"keys": ", ".join(written)})


@check("hf-clipping-not-filled")
def hf_clipping_not_filled(view: View) -> Iterator[Finding]:
    if view.context == "hf" and view.absent("gradient_clipping") and view.plan.get("optimizer.clipping") is MISSING:
        yield Finding("gradient_clipping")
