"""The size of the model that a verification trains, known on both sides of the process boundary."""

from __future__ import annotations

VOCABULARY = 256
HIDDEN = 64
INTERMEDIATE = 160
HEADS = 4
KEY_VALUE_HEADS = 2
LAYERS = 2
SEQUENCE = 32

_ATTENTION = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * HIDDEN * KEY_VALUE_HEADS // HEADS
_LAYER = _ATTENTION + 3 * HIDDEN * INTERMEDIATE + 2 * HIDDEN
PARAMETERS = 2 * VOCABULARY * HIDDEN + LAYERS * _LAYER + HIDDEN
