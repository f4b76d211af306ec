"""How much learning rate is enough to expect the loss to fall, and when the steps of a run are over."""

from __future__ import annotations

from collections.abc import Sequence

# sum of the learning rates of the steps taken; each parameter moves by about this much under an optimizer that normalises
ADAPTIVE_USEFUL = 4e-5
PLAIN_USEFUL = 5e-2
# beyond this per step a random model may as well diverge
ADAPTIVE_MOST = 1e-2
PLAIN_MOST = 2.0
# optimizers that move by learning rate times gradient
PLAIN = frozenset({"sgd", "asgd", "musgd"})

MOST_STEPS = 48


def enough(rates: Sequence[float], optimizer: str) -> bool:
    """Are these learning rates, one for each step taken, large enough together that the loss must fall?"""
    return sum(rates) >= (PLAIN_USEFUL if optimizer.lower() in PLAIN else ADAPTIVE_USEFUL)


def too_large(rates: Sequence[float], optimizer: str) -> bool:
    return max(rates, default=0.0) > (PLAIN_MOST if optimizer.lower() in PLAIN else ADAPTIVE_MOST)
