"""``dslint schema``: a standard JSON Schema, for editors and other validators."""

from __future__ import annotations

import json
import os

import click

from dslint.faults import Fault
from dslint.nearest import did_you_mean
from dslint.schema.data import data_path
from dslint.schema.lookup import Schema
from dslint.targets import checked_version

# tables of facts that describe no JSON or YAML file
TABLES = ("models", "torch")


@click.command("schema", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("framework", metavar="FRAMEWORK[==VERSION]")
def command(framework: str) -> None:
    """Print the JSON Schema of a framework's config, for the newest known version or the one that is named."""
    from dslint.schema.project import project

    name, equals, version = framework.partition("==")
    known = sorted(name.removesuffix(".json") for name in os.listdir(data_path("schemas")) if name.removesuffix(".json") not in TABLES)
    if name.strip().lower() not in known:
        raise Fault(f"no schema of {name.strip()!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    schema = Schema.load(name.strip().lower())
    wanted = checked_version(version, f"schema {framework}") if equals else schema.newest
    click.echo(json.dumps(project(schema.at(wanted)), ensure_ascii=False, indent=2))
