"""``dslint show FILES``: the run as it will be, each value with where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from dslint.cli.inputs import describe
from dslint.cli.options import launch_options, workspace_of
from dslint.document import Document, format_path, load
from dslint.document.load import read
from dslint.engine.family import Family
from dslint.engine.run import Unread
from dslint.faults import Fault
from dslint.plan import Plan, Statement
from dslint.report.safe import printable
from dslint.workspace import Workspace


class Shown(NamedTuple):
    """One value of the run: ``origin`` in words, ``fills``: places that say "auto" and take it, ``others``: who says something else."""

    name: str
    value: Any
    origin: str
    fills: tuple[str, ...]
    others: tuple[str, ...]


@click.command("show", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the run is shown.")
@launch_options
def command(files: tuple[str, ...], output: str, **flags: Any) -> int:
    """Show the run that FILES describe: each value with its origin, what fills in "auto", and what contradicts it."""
    rows = list(shown(family_of(files, workspace_of(flags))))
    if output == "json":
        click.echo(json.dumps({"version": 1, "run": [row._asdict() for row in rows]}, ensure_ascii=False, indent=2, default=str))
    else:
        click.echo("\n".join(_lines(rows)))
    return 0


def family_of(files: Sequence[str], workspace: Workspace) -> Family:
    """The one launch that files make. Raises Fault."""
    launches = workspace.launches([_read(file) for file in files], together=True)
    for launch in launches:
        if isinstance(launch, Unread):
            problem = launch.report.diagnostics[0]
            raise Fault(f"{launch.report.document.file}: {problem.message}")
    families = [launch for launch in launches if isinstance(launch, Family)]
    if not families:
        raise Fault(f"{', '.join(files)}: no known config; --input-format says what it is")
    return families[0]


def _read(file: str) -> Document:
    try:
        return load(file, read(file))
    except OSError as error:
        raise Fault(f"{file}: {describe(error)}") from None


def shown(family: Family) -> Iterator[Shown]:
    """The run's values by name, those of one subject together."""
    plan = family.plan
    fills = _fills(family)
    for name in sorted(plan, key=lambda name: (_subjects(plan).index(name.partition(".")[0]), name)):
        counting = plan.statement(name)
        assert counting is not None
        others = [
            other for other in plan.all(name) if other.origin == "written" and other is not counting and other.value != counting.value
        ]
        yield Shown(
            name,
            counting.value,
            _origin(counting),
            tuple(fills.get(name, ())),
            tuple(f"{_place(other)}: {_text(other.value)}" for other in others),
        )


def _subjects(plan: Plan) -> list[str]:
    return list(dict.fromkeys(name.partition(".")[0] for name in plan))


def _fills(family: Family) -> dict[str, list[str]]:
    """The places that say "auto", by the name of the value that they take."""
    places: dict[str, list[str]] = {}
    for config in family.configs:
        for path in config.resolved.autos:
            if (name := config.form.fills.get(path)) is not None and config.parent is not None:
                places.setdefault(name, []).append(_line(config.document, config.resolved.path(path)))
    return places


def _origin(statement: Statement) -> str:
    if statement.origin == "written":
        return _place(statement)
    return {"override": "--set", "default": f"default of {statement.source}", "model": statement.source}[statement.origin]


def _place(statement: Statement) -> str:
    assert statement.document is not None
    return _line(statement.document, statement.path) if statement.path else statement.document.file


def _line(document: Document, path: tuple[str | int, ...]) -> str:
    line, _ = document.line_column(document.key_span(path).start)
    return f"{document.file}:{line} {format_path(path)}" if path else document.file


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _lines(rows: list[Shown]) -> Iterator[str]:
    if not rows:
        yield "these files say nothing of the run"
    names = max((len(row.name) for row in rows), default=0)
    values = min(40, max((len(_text(row.value)) for row in rows), default=0))
    for row in rows:
        yield printable(f"{row.name:{names}}  {_text(row.value):{values}}  {row.origin}").rstrip()
        for place in row.fills:
            yield printable(f'{"":{names}}  {"":{values}}  fills "auto" at {place}')
        for other in row.others:
            yield printable(f"{'':{names}}  {'':{values}}  but {other}")
