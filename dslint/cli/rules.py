"""``dslint rules``: the list of everything that can be said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from dslint.catalogue import generic_codes
from dslint.cli import ERRORS_FOUND
from dslint.engine.registry import all_rules, rule_text
from dslint.faults import Fault


@click.command("rules", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How the list is shown.")
@click.option("--test", "tested", multiple=True, metavar="FILE", help="Test the rules of FILE by their own examples (repeatable).")
def command(output: str, tested: tuple[str, ...]) -> int:
    """List every code: PA loading, SC schema, and the rules of each format; or test rules of your own."""
    if tested:
        return test(tested)
    if output == "json":
        click.echo(json.dumps({"version": 1, "rules": [*_generic(), *_rules()]}, ensure_ascii=False, indent=2))
    else:
        click.echo(table())
    return 0


def test(files: Sequence[str]) -> int:
    """Run the rules of a project's own files over their examples, print what does not hold, and return the exit code. Raises Fault."""
    from dslint.engine.examples import failures
    from dslint.engine.parse_rules import RuleError
    from dslint.engine.registry import load_user_rules

    try:
        rules = load_user_rules(files)
    except RuleError as error:
        raise Fault(str(error)) from None
    except OSError as error:
        raise Fault(f"{error.filename}: {error.strerror or error}") from None
    failed = 0
    for rule in rules:
        found = list(failures(rule))
        failed += bool(found)
        for failure in found:
            click.echo(f"{rule.id} {rule.name}: {failure}")
    click.echo(f"{len(rules)} rule{'s' * (len(rules) != 1)} tested: {f'{failed} failed' if failed else 'all hold'}")
    return ERRORS_FOUND if failed else 0


def table() -> str:
    """One line a code: code, severity, F where it has a safe repair and f where it has an unsafe one, name, what it says."""
    rows = [(generic.code, "", " ", generic.name, generic.meaning) for generic in generic_codes()]
    for rule in all_rules():
        safeties = {fix.safety for fix in rule.fixes}
        rows.append((rule.id, rule.severity, "F" if "safe" in safeties else "f" if safeties else " ", rule.name, rule.message))
    names = max(len(row[3]) for row in rows)
    lines = [f"{code}  {severity:7}  {fix}  {name:{names}}  {message}" for code, severity, fix, name, message in rows]
    return "\n".join([*lines, "", "F: repaired by --fix    f: repaired by --fix --unsafe-fixes    `dslint explain CODE` tells more"])


def _generic() -> list[dict[str, Any]]:
    return [{"code": generic.code, "name": generic.name, "meaning": generic.meaning} for generic in generic_codes()]


def _rules() -> list[dict[str, Any]]:
    rules = []
    for rule in all_rules():
        text = rule_text(rule.id)
        rules.append(
            {
                "code": rule.id,
                "name": rule.name,
                "severity": rule.severity,
                "formats": list(rule.formats),
                "context": rule.context,
                "message": rule.message,
                "why": text.why,
                "source": text.source,
                "facts": list(rule.facts),
                "fixes": [{"title": fix.title, "safety": fix.safety} for fix in rule.fixes],
            }
        )
    return rules
