"""docs/convert.md is what the code says."""

from __future__ import annotations

from tools.convert_table import PAGE, table


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(), "python -m tools.convert_table writes it anew"
