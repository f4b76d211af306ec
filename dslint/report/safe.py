"""Texts of strangers' files on a terminal."""

from __future__ import annotations

# C0 and C1 controls, and the marks that turn the direction of writing
CONTROLS = dict.fromkeys((*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}")
CONTROLS[ord("\t")] = " "


def printable(text: str) -> str:
    """The text without characters that steer a terminal; a tab is one space, so that columns stay."""
    return text.translate(CONTROLS)
