"""Where the data files lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def data_path(kind: str) -> Path:
    """The folder of ``schemas`` or ``rules``."""
    shipped = PACKAGE / "_data" / kind
    return shipped if shipped.is_dir() else PACKAGE.parent / kind
