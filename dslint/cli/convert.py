"""``dslint convert FILES --to FORMAT``: the same run for another framework, with an account of every key."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from dslint.cli import ERRORS_FOUND
from dslint.cli.inputs import describe
from dslint.cli.options import launch_options, workspace_of
from dslint.cli.show import family_of
from dslint.convert.account import Line, account
from dslint.convert.draft import Draft, Wish
from dslint.convert.proof import errors_of
from dslint.convert.run import Run
from dslint.convert.targets import TARGETS, converted, title
from dslint.convert.text import head, json_text, report, summary, table, yaml_text
from dslint.document.overlay import Override
from dslint.faults import Fault
from dslint.launch import parse_overrides
from dslint.report.safe import printable


@click.command("convert", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--to", "to", type=click.Choice(list(TARGETS)), required=True, help="The format to write.")
@click.option("-o", "--output", metavar="FILE|DIR/", help="Where to write; into a directory goes the set of files that belong together.")
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.option("--strict", is_flag=True, help="Exit 1 when anything is approximate or lost.")
@click.option("--report", "report_file", metavar="FILE", help="Write the account of every key as JSON.")
@click.option("--resolve", "manner", flag_value="resolve", help="Concrete numbers (the default where the source says the batch).")
@click.option("--auto", "manner", flag_value="auto", help='"auto" where the Hugging Face integration fills it in.')
@click.option("--flavour", type=click.Choice(["deepspeed", "fsdp"]), help="Which of Accelerate's engines, where it is not the run's own.")
@click.option("--fsdp-version", type=click.IntRange(1, 2), help="FSDP1 or FSDP2, where it is not the run's own.")
@click.option("--add", "added", multiple=True, metavar="KEY=VALUE", help="A key of the target that the source cannot say (repeatable).")
@launch_options
def command(files: tuple[str, ...], to: str, output: str | None, force: bool, strict: bool, report_file: str | None, **flags: Any) -> int:
    """Write the run that FILES describe in the form of another framework. What becomes of each key is said on standard error."""
    workspace = workspace_of(flags)
    several = output is not None and (os.path.isdir(output) or output.endswith(("/", os.sep)))
    wish = Wish(flags["manner"], flags["flavour"], flags["fsdp_version"], several)
    if (wanted := workspace.flags.targets.get(TARGETS[to].framework)) is not None:
        wish = wish._replace(target_version=wanted.version)
    run = Run(family_of(files, workspace))
    if not run.values:
        raise Fault(f"{', '.join(files)}: says nothing of a training run")
    draft = converted(run, to, wish, _added(parse_overrides(flags["added"])))
    lines = account(draft, title(to))
    texts = _texts(draft, to, files, lines)
    if errors := errors_of(texts, TARGETS[to].file if several else _name(output, to), to):
        raise Fault(f"what can be written for {title(to)} would not work: {'; '.join(errors)}")
    _write(texts, output, several=several, force=force)
    if report_file is not None:
        _save(report_file, json.dumps(report(files, to, list(texts), lines, draft), indent=2, ensure_ascii=False) + "\n", force=True)
    shown = table(lines) if sys.stderr.isatty() or output is not None else [summary(lines)]
    click.echo("\n".join(map(printable, shown)), err=True)
    return ERRORS_FOUND if strict and any(line.fate.kind in ("approximate", "lost") for line in lines) else 0


def _added(overrides: tuple[Override, ...]) -> dict[str, Any]:
    return {override.key: override.value for override in overrides}


def _name(output: str | None, to: str) -> str:
    return os.path.basename(output) if output is not None else TARGETS[to].file


def _texts(draft: Draft, to: str, source: tuple[str, ...], lines: list[Line]) -> dict[str, str]:
    """The text of each file of the set by its name, the main one first."""
    texts: dict[str, str] = {}
    for name, tree in draft.files.items():
        name = name or TARGETS[to].file
        subjects: Mapping[str, str] = draft.subjects if name == TARGETS[to].file else {}
        texts[name] = json_text(tree) if name.endswith(".json") else yaml_text(tree, subjects, head(source, lines))
    return texts


def _write(texts: Mapping[str, str], output: str | None, *, several: bool, force: bool) -> None:
    """Raises Fault, with nothing written, where a file is there already."""
    if output is None:
        click.echo(next(iter(texts.values())), nl=False)
    elif not several:
        _save(output, next(iter(texts.values())), force=force)
    else:
        there = [place for name in texts if os.path.exists(place := os.path.join(output, name))]
        if there and not force:
            raise Fault(f"{', '.join(there)}: there already; --force overwrites")
        try:
            os.makedirs(output, exist_ok=True)
        except OSError as error:
            raise Fault(f"{output}: {describe(error)}") from None
        for name, text in texts.items():
            _save(os.path.join(output, name), text, force=True)


def _save(name: str, text: str, *, force: bool) -> None:
    if os.path.exists(name) and not force:
        raise Fault(f"{name}: there already; --force overwrites")
    try:
        unfinished = f"{name}.{os.getpid()}"
        with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(unfinished, name)
    except OSError as error:
        raise Fault(f"{name}: {describe(error)}") from None
