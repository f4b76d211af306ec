"""What the forward pass keeps for the backward pass, layer by layer, and the logits with their loss."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.memory.items import Item
from dslint.memory.model import Model
from dslint.memory.run import BYTES, Run

MODELING = "transformers/models/llama/modeling_llama.py"
LOSS = "transformers/loss/loss_utils.py: ForCausalLMLoss"


def activations_of(run: Run, model: Model) -> Iterator[Item]:
    """Activations of one micro batch on one rank."""
    tokens = run.tokens
    layers = -(-model.layers // run.pipeline)
    stored = _layer(run, model)
    edge = BYTES[run.weights] * model.hidden
    if run.checkpointing:
        kept = layers * tokens * edge
        yield Item(
            "layer inputs",
            kept,
            "host" if run.checkpointing_offload else "gpu",
            ("forward", "backward"),
            f"{layers} layers × {tokens:,} tokens × {edge:,} B",
            "torch/utils/checkpoint.py",
        )
        yield Item(
            "activations of the layer being recomputed",
            tokens * stored,
            "gpu",
            ("backward",),
            f"{tokens:,} tokens × {stored:,} B",
            MODELING,
        )
    else:
        yield Item(
            "activations",
            layers * tokens * stored,
            "gpu",
            ("forward", "backward"),
            f"{layers} layers × {tokens:,} tokens × {stored:,} B",
            MODELING,
        )
    yield from _logits(run, model)


def _layer(run: Run, model: Model) -> int:
    """Bytes that one layer keeps for each token."""
    width = BYTES[run.weights]
    hidden, heads, kv, size = model.hidden, model.heads, model.kv_heads, model.head_size
    experts = model.experts_per_token if model.experts else 1
    middle = experts * (model.expert_intermediate or model.intermediate) if model.experts else model.intermediate
    norms = 2 * (hidden * (4 + width) + 4)
    attention = width * (hidden + heads * size * 3 + kv * size * 4) + 4 * heads
    mlp = width * (hidden + 4 * middle)
    scores = 0 if run.attention != "eager" else heads * run.sequence * (4 + 2 * width)
    return (norms + attention + mlp + scores) // (run.tensor or 1)


def _logits(run: Run, model: Model) -> Iterator[Item]:
    if run.fused_loss:
        return
    width = BYTES[run.weights]
    elements = run.tokens * model.vocabulary
    size = width + 4 + 4
    yield Item(
        "logits and loss",
        elements * size,
        "gpu",
        ("forward", "backward"),
        f"{run.tokens:,} tokens × {model.vocabulary:,} words × ({width} + 4 + 4) B: as computed, in float32, their softmax",
        LOSS,
    )
    yield Item(
        "gradient of the logits",
        elements * 4,
        "gpu",
        ("backward",),
        f"{run.tokens:,} tokens × {model.vocabulary:,} words × 4 B",
        LOSS,
    )
