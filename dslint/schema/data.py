"""Where the data files lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def data_path(kind: str) -> str:
    """The folder of ``schemas`` or ``rules``."""
    shipped = os.path.join(PACKAGE, "_data", kind)
    return shipped if os.path.isdir(shipped) else os.path.join(os.path.dirname(PACKAGE), kind)
