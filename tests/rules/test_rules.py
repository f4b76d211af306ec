"""Every rule against its own examples: each bad one fires exactly this rule, each fix turns it clean, each good one is silent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dslint.checks import every_check
from dslint.document import Document, load
from dslint.document.edits import splice
from dslint.engine.config import Config
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.facts import Facts
from dslint.engine.project import Project, Target
from dslint.engine.registry import all_rules, rule_text
from dslint.engine.rules import Rule
from dslint.engine.run import check_config, read_entry
from dslint.launch import facts_of_document
from dslint.plan import Plan, Statement


def document(rule: Rule, example: Mapping[str, Any]) -> Document:
    if rule.formats[0] in ("env", "hostfile"):
        return load(example.get("file", f"launch.{rule.formats[0]}"), example["text"].encode(), rule.formats[0])
    text = example["text"] if "text" in example else json.dumps(example["config"], indent=2)
    syntax = example.get("syntax") or ("json" if rule.formats[0] in ("deepspeed", "fsdp") else "yaml")
    return load("config.yaml" if syntax == "yaml" else "ds_config.json", text.encode())


def findings(rule: Rule, document: Document, example: Mapping[str, Any]) -> list[Diagnostic]:
    facts = {**(example.get("facts") or {})}
    env = facts.pop("env", {})
    project = Project(
        {name: Target(str(version), "the example") for name, version in (example.get("targets") or {}).items()},
        (facts_of_document(document) if rule.formats[0] == "env" else Facts()).merged(Facts(facts, env)),
        example.get("context"),
    )
    plan = Plan([Statement(name, value) for name, value in (example.get("plan") or {}).items()])
    entry = read_entry(document, project, rule.formats[0])
    assert isinstance(entry, Config)
    entry.companions = {
        kind: load(f"{kind}.json", json.dumps(content).encode()) for kind, content in (example.get("companions") or {}).items()
    }
    return [*check_config(entry, plan).diagnostics]


def examples(kind: str) -> Iterator[Any]:
    for rule in all_rules():
        for number, example in enumerate(getattr(rule_text(rule.id), kind)):
            yield pytest.param(rule, example, id=f"{rule.id}-{number}")


def loud(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity != "info"]


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_bad_example_fires_exactly_this_rule(rule: Rule, example: Mapping[str, Any]) -> None:
    found = findings(rule, document(rule, example), example)
    assert {d.code for d in found if d.severity != "info" or d.code == rule.id} == {rule.id}, [(d.code, d.message) for d in found]


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_each_fix_turns_it_clean(rule: Rule, example: Mapping[str, Any]) -> None:
    before = document(rule, example)
    for diagnostic in findings(rule, before, example):
        if diagnostic.code != rule.id:
            continue
        for fix in diagnostic.fixes:
            text = splice(before, fix.changes)
            assert text is not None, f"{fix.title}: withheld"
            after = findings(rule, load(before.file, text.encode(), before.syntax), example)
            left = [d for d in after if (d.code == rule.id and d.path == diagnostic.path) or d.severity == "error"]
            assert not left, (fix.title, text, [(d.code, d.message) for d in left])


@pytest.mark.parametrize(("rule", "example"), examples("good"))
def test_good_example_is_silent(rule: Rule, example: Mapping[str, Any]) -> None:
    found = loud(findings(rule, document(rule, example), example))
    assert not found, [(d.code, d.message) for d in found]


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in all_rules()])
def test_every_rule_has_both_kinds_of_examples_and_a_source(rule: Rule) -> None:
    text = rule_text(rule.id)
    assert text.bad
    assert text.good
    assert text.source
    assert text.why


def test_every_check_is_registered_and_used() -> None:
    assert {rule.check for rule in all_rules() if rule.check} == set(every_check())
