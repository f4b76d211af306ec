"""A code in full, as text: what ``dslint explain``, the documentation and an editor show of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dslint.catalogue import Generic
from dslint.engine.registry import rule_text
from dslint.engine.rules import FixTemplate, Rule
from dslint.engine.versions import Bound


def explained_any(found: Rule | Generic) -> str:
    """All that is known of a code."""
    return explained(found) if isinstance(found, Rule) else f"{found.code} {found.name}\n\n{found.meaning}"


def explained(rule: Rule) -> str:
    """A rule as text: what it says, why, on what it rests, its repairs and its examples."""
    text = rule_text(rule.id)
    about = [f"{rule.severity} in {', '.join(rule.formats)}"]
    about += [f"{name} {_range(bounds)}" for name, bounds in rule.versions]
    if rule.context:
        about.append("only when DeepSpeed itself reads the file" if rule.context == "native" else "only with the Hugging Face integration")
    lines = [f"{rule.id} {rule.name} ({'; '.join(about)})", "", rule.message, "", " ".join(text.why.split()), "", f"Source: {text.source}"]
    if rule.facts:
        lines.append(f"Needs to know: {', '.join(rule.facts)}")
    if rule.fixes:
        lines += ["", "To mend it:", *(f"  {fix_text(fix)}" for fix in rule.fixes)]
    for heading, examples in (("Wrong", text.bad), ("Right", text.good)):
        if examples:
            lines += ["", f"{heading}:", *(f"  {line}" for line in example_text(examples[0]).splitlines())]
    return "\n".join(lines)


def fix_text(fix: FixTemplate) -> str:
    """A repair in words, with the flags that make it."""
    flags = "--fix" if fix.safety == "safe" else "--fix --unsafe-fixes"
    return f"{fix.title} ({flags})"


def _range(bounds: tuple[Bound, ...]) -> str:
    return ",".join(f"{sign}{'.'.join(map(str, version))}" for sign, version in bounds)


def example_text(example: Mapping[str, Any]) -> str:
    """An example of a rule as it would be written, with what else is known there."""
    text = example["text"].rstrip() if "text" in example else json.dumps(example["config"], indent=2)
    given = [f"{name}: {value}" for name, value in example.get("facts", {}).items()]
    given += [f"{name}=={version}" for name, version in example.get("targets", {}).items()]
    given += [f"context: {example['context']}"] if "context" in example else []
    return f"{text}\n({'; '.join(given)})" if given else text
