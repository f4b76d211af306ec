"""Model states on each GPU: weights, gradients, master copies, optimizer states, and the buffers that move them.

Every formula was measured against the real engine on CPU ranks (docs/measurements/memory.md); N is the number of ranks that share one copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from dslint.memory.counts import Counts
from dslint.memory.items import ALWAYS, TRAINING, Item, Phase
from dslint.memory.optimizers import Optimizer, optimizer_of
from dslint.memory.run import BYTES, Run

ZERO12, ZERO3 = "deepspeed/runtime/zero/stage_1_and_2.py", "deepspeed/runtime/zero/stage3.py"
FP16, ENGINE = "deepspeed/runtime/fp16/unfused_optimizer.py", "deepspeed/runtime/engine.py"
DDP, FSDP = "torch/nn/parallel/distributed.py", "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py"
AFTER_FIRST_STEP: tuple[Phase, ...] = ("forward", "backward", "step", "save")


def states_of(run: Run, counts: Counts) -> Iterator[Item]:
    """The model states of one rank, wherever they lie."""
    if run.engine == "deepspeed":
        yield from (_zero0, _zero12, _zero12, _zero3)[run.stage](run, counts)
    elif run.engine == "fsdp" and run.sharding != "none":
        yield from _fsdp(run, counts)
    else:
        yield from _ddp(run, counts)


def optimizer_bytes(optimizer: Optimizer, run: Run, counts: Counts, ranks: int) -> int:
    """Bytes of the states for the trainable elements that one of ``ranks`` owns."""
    if optimizer.factored:
        return round(optimizer.width * counts.factors / ranks)
    width = optimizer.width or (2 if run.low_precision_states else _seen(run))
    return round(optimizer.states * width * counts.trainable / ranks)


def _seen(run: Run) -> int:
    """Bytes of an element as the optimizer sees it: the master copy, where there is one."""
    return (BYTES[run.weights] if run.low_precision_master else 4) if run.master else BYTES[run.stored]


def _n(ranks: int) -> str:
    return f" / {ranks}" if ranks > 1 else ""


def _weights(run: Run, counts: Counts, ranks: int, source: str) -> Item:
    width = BYTES[run.weights] if run.engine == "deepspeed" else BYTES[run.stored]
    return Item("weights", _sharded(width * counts.total, ranks), "gpu", ALWAYS, f"{width} B × {counts.total:,}{_n(ranks)}", source)


def _sharded(size: float, ranks: int) -> int:
    return -(-round(size) // ranks)


def _optimizer(run: Run, counts: Counts, ranks: int, phases: tuple[Phase, ...] = AFTER_FIRST_STEP) -> Item:
    optimizer = optimizer_of(run.optimizer)
    size = optimizer_bytes(optimizer, run, counts, ranks)
    if optimizer.factored:
        formula = f"{optimizer.title}: 4 B × {counts.factors:,} rows and columns{_n(ranks)}"
    else:
        width = optimizer.width or (2 if run.low_precision_states else _seen(run))
        formula = f"{optimizer.title}: {optimizer.states} × {width:g} B × {counts.trainable:,}{_n(ranks)}"
    return Item("optimizer states", size, "gpu", phases, formula, optimizer.source)


def _master(run: Run, counts: Counts, ranks: int, source: str) -> Item:
    width = _seen(run)
    return Item(
        "master weights", _sharded(width * counts.trainable, ranks), "gpu", ALWAYS, f"{width} B × {counts.trainable:,}{_n(ranks)}", source
    )


def _zero0(run: Run, counts: Counts) -> Iterator[Item]:
    width = BYTES[run.weights]
    yield _weights(run, counts, 1, ENGINE)
    if run.master:
        yield _master(run, counts, 1, FP16)
        yield _optimizer(run, counts, 1, ALWAYS)
        yield Item(
            "gradients in the master's type",
            _seen(run) * counts.trainable,
            "gpu",
            ("step",),
            f"{_seen(run)} B × {counts.trainable:,}",
            f"{FP16}: step",
        )
    else:
        yield _optimizer(run, counts, 1)
    yield Item("gradients", width * counts.trainable, "gpu", ("backward", "step"), f"{width} B × {counts.trainable:,}", ENGINE)


def _zero12(run: Run, counts: Counts) -> Iterator[Item]:
    ranks = run.shard
    offloaded = run.offload_optimizer != "none"
    width, own = BYTES[run.gradients], counts.trainable
    yield _weights(run, counts, 1, f"{ZERO12}: bit16_groups_flat")
    if not offloaded:
        yield _master(run, counts, ranks, f"{ZERO12}: single_partition_of_fp32_groups")
        yield _optimizer(run, counts, ranks)
        whole = run.stage == 1 and run.accumulation > 1
        yield Item(
            "gradients",
            width * own if whole else _sharded(width * own, ranks),
            "gpu",
            ("backward",),
            f"{width} B × {own:,}" + (", whole until the last micro batch" if whole else _n(ranks)),
            f"{ZERO12}: averaged_gradients",
        )
        flat = _sharded((_seen(run) + (BYTES[run.gradients] if run.gradients != "float32" else 0)) * own, ranks)
        yield Item(
            "gradients, flattened in the master's type",
            flat + (_sharded(width * own, ranks) if run.gradients != "float32" else 0),
            "gpu",
            ("step",),
            f"({_seen(run)} + 2 × {width}) B × {own:,}{_n(ranks)}" if run.gradients != "float32" else f"4 B × {own:,}{_n(ranks)}",
            f"{ZERO12}: step, single_grad_partition",
        )
    else:
        yield Item(
            "gradient on its way to the host",
            BYTES[run.weights] * counts.largest,
            "gpu",
            ALWAYS,
            f"{BYTES[run.weights]} B × {counts.largest:,}, the largest tensor",
            f"{ZERO12}: temp_grad_buffer_for_gpu_offload",
        )
    if run.contiguous or offloaded:
        number = 2 if run.overlap else 1
        bucket = BYTES[run.gradients if run.stage == 1 else run.weights]
        yield Item(
            "reduce bucket",
            number * bucket * run.reduce_bucket,
            "gpu",
            ("backward",),
            f"{bucket} B × {run.reduce_bucket:,}" + (" × 2 for overlap_comm" if run.overlap else ""),
            f"{ZERO12}: setup_buckets",
        )
    yield _fresh(run, counts)


def _fresh(run: Run, counts: Counts) -> Item:
    width = BYTES[run.weights]
    return Item(
        "gradient just computed",
        width * counts.largest,
        "gpu",
        ("backward",),
        f"{width} B × {counts.largest:,}, the largest tensor",
        "torch/autograd: a gradient exists before it is reduced",
    )


def _zero3(run: Run, counts: Counts) -> Iterator[Item]:
    ranks, width, own = run.shard, BYTES[run.weights], counts.trainable
    offloaded = run.offload_optimizer != "none"
    kept = counts.small
    if run.offload_parameters == "none":
        yield _weights(run, counts, ranks, f"{ZERO3}: fp16_partitioned_groups_flat")
    if kept and ranks > 1:
        yield Item(
            "persistent small weights",
            width * kept,
            "gpu",
            ALWAYS,
            f"{width} B × {kept:,} in tensors of at most {run.persistence:,}",
            "deepspeed/runtime/zero/parameter_offload.py: mark_persistent_parameters",
        )
    if run.secondary > 1:
        yield Item(
            "second copy within the node",
            _sharded(width * counts.total, run.secondary),
            "gpu",
            ALWAYS,
            f"{width} B × {counts.total:,} / {run.secondary}",
            "deepspeed/runtime/zero/partition_parameters.py: ds_secondary_tensor",
        )
    if ranks > 1 or run.offload_parameters != "none":
        live = min(counts.total, max(run.live_parameters, counts.layer) + run.prefetch_bucket)
        yield Item(
            "gathered weights",
            width * live,
            "gpu",
            ("forward", "backward"),
            f"{width} B × {live:,}: all, or stage3_max_live_parameters and the prefetch bucket",
            "deepspeed/runtime/zero/partitioned_param_coordinator.py: fetch_sub_module",
        )
    if not offloaded:
        if run.master:
            yield _master(run, counts, ranks, f"{ZERO3}: fp32_partitioned_groups_flat")
        yield _optimizer(run, counts, ranks)
        gradient = BYTES[run.gradients]
        yield Item(
            "gradients",
            _sharded(gradient * own, ranks),
            "gpu",
            ALWAYS,
            f"{gradient} B × {own:,}{_n(ranks)}",
            f"{ZERO3}: grad_partitions_flat_buffer",
        )
        group = min(_sharded(own, ranks), run.subgroup)
        yield Item(
            "gradients of a sub-group in the master's type",
            (_seen(run) + gradient) * group,
            "gpu",
            ("step",),
            f"({_seen(run)} + {gradient}) B × {group:,}",
            f"{ZERO3}: _prepare_fp32_grad_for_sub_group",
        )
        whole = min(own, run.subgroup * ranks)
        yield Item(
            "buffer for the optimizer's first step",
            _seen(run) * whole,
            "gpu",
            ("init",),
            f"{_seen(run)} B × {whole:,}, whole tensors of a sub-group",
            f"{ZERO3}: initialize_optimizer_states, gradient_buffer",
        )
    if run.contiguous:
        yield Item("reduce bucket", width * run.reduce_bucket, "gpu", ALWAYS, f"{width} B × {run.reduce_bucket:,}", f"{ZERO3}: ipg_buckets")
    yield _fresh(run, counts)


def _fsdp(run: Run, counts: Counts) -> Iterator[Item]:
    ranks, own, width = run.shard, counts.trainable, BYTES[run.stored]
    compute = BYTES[run.weights]
    if run.offload_parameters == "none":
        yield _weights(run, counts, ranks, f"{FSDP}: sharded parameters")
        yield _optimizer(run, counts, ranks)
        yield Item(
            "gradients",
            _sharded(width * own, ranks),
            "gpu",
            ("backward", "step"),
            f"{width} B × {own:,}{_n(ranks)}",
            f"{FSDP}: post_backward",
        )
    if run.reshard:
        gathered = counts.root + 2 * counts.layer
        words = f"the embeddings and 2 layers of {counts.layer:,}"
    else:
        gathered = counts.total
        words = "all, as they stay gathered until the backward pass"
    gathered = min(gathered, counts.total)
    if ranks > 1 or compute != width:
        yield Item(
            "gathered weights",
            compute * gathered,
            "gpu",
            ("forward", "backward"),
            f"{compute} B × {gathered:,}: {words}",
            f"{FSDP}: unshard",
        )
        yield Item(
            "gradients of a layer, whole",
            2 * compute * counts.layer,
            "gpu",
            ("backward",),
            f"2 × {compute} B × {counts.layer:,}: as computed, and as sent",
            f"{FSDP}: foreach_reduce",
        )


def _ddp(run: Run, counts: Counts) -> Iterator[Item]:
    width, own = BYTES[run.stored], counts.trainable
    yield _weights(run, counts, 1, DDP)
    yield _optimizer(run, counts, 1)
    yield Item("gradients", width * own, "gpu", ("backward", "step"), f"{width} B × {own:,}", DDP)
    if run.world > 1:
        yield Item(
            "reducer's buckets", width * own, "gpu", TRAINING, f"{width} B × {own:,}", f"{DDP}: gradient_as_bucket_view is off by default"
        )
