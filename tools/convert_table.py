"""Write docs/convert.md: each name of the Plan and the key that says it in each format.

usage: python -m tools.convert_table
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dslint.convert.differences import SPEAKS
from dslint.formats import accelerate, axolotl, deepspeed, llamafactory, trainer
from dslint.plan.vocabulary import VOCABULARY

PAGE = Path(__file__).parents[1] / "docs" / "convert.md"
HEAD = """# What each format says of a run

Made by `python -m tools.convert_table` from the tables that `dslint convert` and `dslint diff` read files with. Each row is a name of the Plan with
its meaning, each column the key that says it. "in other words": several keys together, or words of the format's own; empty: the format
has no word for it, and a conversion says where it must be put.
"""
KEYS: dict[str, Mapping[str, str]] = {
    "deepspeed": deepspeed.NAMES,
    "accelerate": {**accelerate.NAMES, **accelerate.OF_DEEPSPEED, **accelerate.OF_FSDP, **accelerate.PARALLEL},
    "fsdp": {},
    "trainer": {**trainer.NAMES, **trainer.WRITTEN},
    "axolotl": axolotl.NAMES,
    "llamafactory": llamafactory.NAMES,
}


def table() -> str:
    """The page as text."""
    lines = [HEAD, f"| name | meaning | {' | '.join(KEYS)} |", f"|---|---|{'---|' * len(KEYS)}"]
    for name, term in VOCABULARY.items():
        cells = [_cell(form, name) for form in KEYS]
        if any(cells):
            lines.append(f"| {name} | {term.meaning} ({term.kind.replace('|', 'or')}) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(form: str, name: str) -> str:
    keys = [key for key, other in KEYS[form].items() if other == name]
    if keys:
        return ", ".join(f"`{key}`" for key in keys)
    return "in other words" if name in SPEAKS[form] else ""


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
