"""What each optimizer keeps for a trainable parameter, by the names that configs give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Optimizer(NamedTuple):
    """``states``: numbers kept for each parameter; ``width``: bytes of one, 0: those of the parameter that the optimizer sees.

    ``factored``: keeps rows and columns of a matrix in place of one of its states. ``paged``: its states may leave the GPU.
    """

    title: str
    states: int
    width: float
    source: str
    factored: bool = False
    paged: bool = False


TORCH = "torch/optim"
BNB = "bitsandbytes/optim/optimizer.py: Optimizer2State, blocks of 256 with a float32 constant"
EIGHT = 1 + 4 / 256
FAMILIES: Mapping[str, Optimizer] = {
    "adam": Optimizer("Adam", 2, 0, f"{TORCH}/adam.py: exp_avg, exp_avg_sq"),
    "adam8bit": Optimizer("8-bit Adam", 2, EIGHT, BNB),
    "paged_adam": Optimizer("paged Adam", 2, 0, BNB, paged=True),
    "paged_adam8bit": Optimizer("paged 8-bit Adam", 2, EIGHT, BNB, paged=True),
    "adam4bit": Optimizer("4-bit Adam", 2, 0.5 + 4 / 128, "torchao/optim: blocks of 128 with a float32 scale"),
    "lion": Optimizer("Lion", 1, 0, "deepspeed/ops/lion/fused_lion.py: exp_avg"),
    "lion8bit": Optimizer("8-bit Lion", 1, EIGHT, BNB),
    "adagrad": Optimizer("Adagrad", 1, 0, f"{TORCH}/adagrad.py: sum"),
    "sgd": Optimizer("SGD with momentum", 1, 0, f"{TORCH}/sgd.py: momentum_buffer"),
    "plain_sgd": Optimizer("SGD without momentum", 0, 0, f"{TORCH}/sgd.py"),
    "rmsprop": Optimizer("RMSprop", 1, 0, f"{TORCH}/rmsprop.py: square_avg"),
    "adafactor": Optimizer("Adafactor", 0, 4, "transformers/optimization.py: exp_avg_sq_row, exp_avg_sq_col", factored=True),
    "lamb": Optimizer("LAMB", 2, 4, "deepspeed/ops/lamb/fused_lamb.py: exp_avg, exp_avg_sq"),
    "ademamix": Optimizer("AdEMAMix", 3, 0, "bitsandbytes/optim/ademamix.py: m1, m2, nu"),
    "muon": Optimizer("Muon", 1, 0, f"{TORCH}/_muon.py: momentum_buffer"),
}
NAMES: Mapping[str, str] = {
    "adamw_8bit": "adam8bit",
    "adamw_bnb_8bit": "adam8bit",
    "adamw_torch_8bit": "adam8bit",
    "adamw_torch_4bit": "adam4bit",
    "paged_adamw_32bit": "paged_adam",
    "paged_adamw": "paged_adam",
    "paged_adamw_8bit": "paged_adam8bit",
    "lion_32bit": "lion",
    "lion_8bit": "lion8bit",
    "paged_lion_32bit": "lion",
    "paged_lion_8bit": "lion8bit",
    "cpulion": "lion",
    "fusedlion": "lion",
    "fusedlamb": "lamb",
    "rmsprop_bnb": "rmsprop",
    "schedule_free_adamw": "adam",
    "deepspeedcpuadam": "adam",
}


def optimizer_of(name: str) -> Optimizer:
    """The optimizer of a config's word, in any case; an unknown one counts as Adam, with its name in the title."""
    word = name.lower().replace("-", "_")
    family = NAMES.get(word, word)
    if family in FAMILIES:
        return FAMILIES[family]
    if "adam" in word:
        return FAMILIES["adam"]
    return FAMILIES["adam"]._replace(title=f"{name}, counted as Adam")
