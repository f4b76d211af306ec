"""``dslint diff A B``: what two runs would train differently."""

from __future__ import annotations

import json
from typing import Any

import click

from dslint.cli import ERRORS_FOUND
from dslint.cli.options import launch_options, workspace_of
from dslint.cli.show import family_of
from dslint.convert.differences import Difference, differences
from dslint.convert.run import Run
from dslint.document import format_path
from dslint.plan import Statement
from dslint.plan.vocabulary import VOCABULARY
from dslint.report.safe import printable
from dslint.schema.missing import MISSING


@click.command("diff", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the differences are shown.")
@launch_options
def command(one: str, other: str, output: str, **flags: Any) -> int:
    """Show what the runs of A and B, with the files that they link, would train differently; exit 1 when there is a difference.

    Only what the formats of both have words for is compared.
    """
    runs = [Run(family_of([file], workspace_of(flags))) for file in (one, other)]
    found = list(differences(*runs))
    if output == "json":
        rows = [{"name": row.name, "a": _side(row.one, row.one_said), "b": _side(row.other, row.other_said)} for row in found]
        click.echo(json.dumps({"version": 1, "differences": rows}, ensure_ascii=False, indent=2, default=str))
    elif found:
        click.echo("\n".join(printable(line) for row in found for line in _lines(row)))
    return ERRORS_FOUND if found else 0


def _side(value: Any, said: Statement | None) -> dict[str, Any]:
    return {"value": None if value is MISSING else value, "origin": _place(said)}


def _lines(row: Difference) -> list[str]:
    meaning = VOCABULARY[row.name].meaning if row.name in VOCABULARY else ""
    return [
        f"{row.name} ({meaning})",
        f"  - {_shown(row.one):20} {_place(row.one_said)}".rstrip(),
        f"  + {_shown(row.other):20} {_place(row.other_said)}".rstrip(),
    ]


def _shown(value: Any) -> str:
    return "says nothing" if value is MISSING else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _place(said: Statement | None) -> str:
    if said is None:
        return ""
    if said.document is None:
        return "--set" if said.origin == "override" else f"default of {said.source}"
    line, _ = said.document.line_column(said.document.key_span(said.path).start)
    return f"{said.document.file}:{line} {format_path(said.path)}"
