"""What a GPU can compute in, and dtype names."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View
from dslint.hardware import known_of

FP16_RANGE = 2.0**16
# what other places of DeepSpeed and PyTorch call the three types that communication knows
SPELLINGS = {
    "bfloat16": "bf16",
    "torch.bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "torch.float16": "fp16",
    "torch.half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "torch.float32": "fp32",
    "torch.float": "fp32",
}

DTYPES = {"fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "int8": "int8", "torch.int8": "int8", **SPELLINGS}


def model_dtype(view: View) -> str | None:
    """The dtype that fp16 and bf16 give the model; None where a template or the HF integration decides."""
    for name in ("fp16", "bf16"):
        if view.on(f"{name}.enabled"):
            return name
        if view.written(f"{name}.enabled") and not view.off(f"{name}.enabled"):
            return None
    return None if view.context == "hf" else "fp32"


def named_dtype(view: View, path: str) -> str | None:
    written = view.get(path)
    return DTYPES.get(written) if isinstance(written, str) else None


def without_zero(view: View) -> bool:
    return view.absent("zero_optimization") or view.get("zero_optimization.stage") == 0


def capability(view: View) -> float | None:
    """The compute capability that was given, or that of a well-known GPU; None when unknown."""
    given = view.fact("cuda_capability")
    if not isinstance(given, (int, float)):
        name = view.fact("gpu_name")
        given = known_of(name).get("cuda_capability") if isinstance(name, str) else None
    return float(given) if isinstance(given, (int, float)) else None


@check("bf16-without-hardware")
def bf16_without_hardware(view: View) -> Iterator[Finding]:
    """bf16 (or autocast to it) on a GPU before Ampere."""
    number = capability(view)
    if number is None or number >= 8.0:
        return
    wanted = "bf16.enabled" if view.on("bf16.enabled") else None
    if wanted is None and view.on("torch_autocast.enabled") and view.get("torch_autocast.dtype") in ("bf16", "bfloat16", "torch.bfloat16"):
        wanted = "torch_autocast.dtype"
    if wanted is not None:
        yield Finding(wanted, {"gpu": _gpu(view, number)})


@check("fp16-without-hardware")
def fp16_without_hardware(view: View) -> Iterator[Finding]:
    """fp16 on a GPU where DeepSpeed refuses it."""
    number = capability(view)
    if number is None or not view.on("fp16.enabled"):
        return
    allowed = view.env("DS_ALLOW_DEPRECATED_FP16") == "1"
    if number < 6.0 or (number < 7.0 and not allowed):
        yield Finding("fp16.enabled", {"gpu": _gpu(view, number)})


def _gpu(view: View, number: float) -> str:
    name = view.fact("gpu_name")
    return f"{name} (compute capability {number})" if isinstance(name, str) else f"a GPU of compute capability {number}"


@check("communication-dtype-spelling")
def communication_dtype_spelling(view: View) -> Iterator[Finding]:
    """A name that other dtype keys take and these do not."""
    for path in ("communication_data_type", "seq_parallel_communication_data_type"):
        written = view.raw(path)
        if isinstance(written, str) and (name := SPELLINGS.get(written.strip().lower())):
            yield Finding(
                path,
                {"key": path, "written": written, "name": name},
                fixes=(Fix(f"write {name}", "safe", (Change("set", view.path(path), name),)),),
            )


@check("loss-scale-floor-above-start")
def loss_scale_floor_above_start(view: View) -> Iterator[Finding]:
    """min_loss_scale above 2 ** initial_scale_power: the floor lifts the scale instead of holding it."""
    floor, power = view.get("fp16.min_loss_scale"), view.get("fp16.initial_scale_power")
    dynamic = view.on("fp16.enabled") and view.get("fp16.loss_scale") in (0, 0.0)
    if dynamic and isinstance(floor, (int, float)) and isinstance(power, int) and 0 <= power < 64 and floor > 2**power:
        yield Finding("fp16.min_loss_scale", {"floor": floor, "start": 2**power})


@check("grad-accum-dtype-needs-zero")
def grad_accum_dtype_needs_zero(view: View) -> Iterator[Finding]:
    """At stage 0 the gradients' dtype must be the model's (before 0.17.5, bf16 took fp32 there and nothing else)."""
    model, accumulation = model_dtype(view), named_dtype(view, "data_types.grad_accum_dtype")
    if model is None or accumulation is None or not without_zero(view):
        return
    allowed = "fp32" if model == "bf16" and view.version < (0, 17, 5) else model
    if accumulation != allowed:
        yield Finding("data_types.grad_accum_dtype", {"model": model, "written": view.raw("data_types.grad_accum_dtype")})


@check("bf16-stage0-accumulation")
def bf16_stage0_accumulation(view: View) -> Iterator[Finding]:
    """bf16 at stage 0 with nothing said about accumulation, in the releases that refuse it."""
    pipeline = view.written("pipeline")
    if view.on("bf16.enabled") and without_zero(view) and view.absent("data_types.grad_accum_dtype") and not pipeline:
        yield Finding("bf16.enabled")


@check("param-dtype-conflicts")
def param_dtype_conflicts(view: View) -> Iterator[Finding]:
    """data_types.param_dtype against the precision that is enabled."""
    model, wanted = model_dtype(view), named_dtype(view, "data_types.param_dtype")
    if model is not None and wanted is not None and wanted != model:
        yield Finding("data_types.param_dtype", {"model": model, "written": view.raw("data_types.param_dtype")})


@check("autocast-modules")
def autocast_modules(view: View) -> Iterator[Finding]:
    """Names in lower_precision_safe_modules that cannot be imported, whatever is installed."""
    path = "torch_autocast.lower_precision_safe_modules"
    names = view.raw(path)
    if view.written(path) and (names is None or isinstance(names, str)) and not (names == "auto" and view.context == "hf"):
        yield Finding(
            path,
            {"problem": f"lower_precision_safe_modules is {'null' if names is None else 'a string'}; a list of full class names is wanted"},
        )
    if not isinstance(names, list):
        return
    for name in names:
        if not isinstance(name, str):
            yield Finding(path, {"problem": f"lower_precision_safe_modules holds {name!r}, which is no name of a class"})
            return
        if view.on("torch_autocast.enabled") and name.startswith("nn."):
            yield Finding(path, {"problem": f"{name} cannot be imported: write torch.{name}"})
            return
        if view.on("torch_autocast.enabled") and not ("." in name and all(part.isidentifier() for part in name.split("."))):
            yield Finding(path, {"problem": f"{name!r} is no full class name; write it with its module, such as torch.nn.Linear"})
            return


@check("bf16-under-two-names")
def bf16_under_two_names(view: View) -> Iterator[Finding]:
    names = [entry.name for entry in view.resolved.root.entries]
    if "bf16" in names and "bfloat16" in names:
        old = (*view.resolved.mount, "bfloat16")
        yield Finding("bf16", fixes=(Fix("remove bfloat16", "safe", (Change("delete", old),)),))
