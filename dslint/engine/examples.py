"""The examples of rules as their tests: what is wrong with a rule, said by running it over its own examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dslint.document import Document, load
from dslint.document.edits import splice
from dslint.engine.config import Config
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.facts import Facts
from dslint.engine.project import Project, Target
from dslint.engine.registry import rule_text
from dslint.engine.rules import Rule
from dslint.engine.run import check_config, read_entry
from dslint.plan import Plan, Statement


def failures(rule: Rule) -> Iterator[str]:
    """One line for each example that does not hold: each bad one fires the rule, each repair silences it there, each good one is silent."""
    text = rule_text(rule.id)
    for kind, examples in (("bad", text.bad), ("good", text.good)):
        if not examples:
            yield f"no {kind} example: one is needed to know that the rule does what it says"
        for number, example in enumerate(examples, 1):
            yield from (f"{kind} example {number}: {failure}" for failure in _example(rule, kind, example))


def _example(rule: Rule, kind: str, example: Mapping[str, Any]) -> Iterator[str]:
    document = _document(rule, example)
    found = _findings(rule, document, example)
    if isinstance(found, str):
        yield found
        return
    if kind == "good":
        yield from (f"the rule fires: {diagnostic.message}" for diagnostic in found)
        return
    if not found:
        yield "the rule is silent"
    for diagnostic in found:
        for fix in diagnostic.fixes:
            after = splice(document, fix.changes)
            left = None if after is None else _findings(rule, load(document.file, after.encode(), document.syntax), example)
            if after is None:
                yield f"repair {fix.title!r} cannot be made in it"
            elif isinstance(left, str) or any(other.path == diagnostic.path for other in left or ()):
                yield f"repair {fix.title!r} does not silence the rule"


def _document(rule: Rule, example: Mapping[str, Any]) -> Document:
    text = str(example["text"]) if "text" in example else json.dumps(example.get("config"), indent=2)
    syntax = example.get("syntax") or ("json" if rule.formats[0] in ("deepspeed", "fsdp") else "yaml")
    return load(f"example.{syntax}", text.encode("utf-8", "replace"), "yaml" if syntax == "yaml" else "json")


def _findings(rule: Rule, document: Document, example: Mapping[str, Any]) -> list[Diagnostic] | str:
    """What the rule finds; a text where the example is no config."""
    facts = dict(example.get("facts") or {})
    env = facts.pop("env", None) or {}
    targets = {str(name): Target(str(version), "the example") for name, version in (example.get("targets") or {}).items()}
    entry = read_entry(document, Project(targets, Facts(facts, env), example.get("context")), rule.formats[0])
    if not isinstance(entry, Config):
        return "it cannot be read as a config"
    plan = Plan([Statement(str(name), value) for name, value in (example.get("plan") or {}).items()])
    return [diagnostic for diagnostic in check_config(entry, plan, (rule,)).diagnostics if diagnostic.code == rule.id]
