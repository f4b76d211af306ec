"""What dslint calls good, and what its repairs leave behind, trains for real (or cannot be told here)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dslint.document import Document, load, to_python
from dslint.document import Mapping as Object
from dslint.engine.facts import Facts
from dslint.engine.fixes import fix
from dslint.engine.project import Project
from dslint.engine.registry import all_rules, rule_text
from dslint.engine.run import Report, check
from dslint.verify.outcome import Outcome

Proved = Callable[..., Outcome]
EXAMPLES = Path(__file__).parents[2] / "examples"


def prove(proved: Proved, document: Document, report: Report, world_size: Any) -> Outcome:
    assert document.root is not None
    return proved(to_python(document.root), context=report.context, text=document.text, world_size=world_size)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("good/*.json")), ids=lambda file: file.stem)
def test_good_examples_train(proved: Proved, file: Path) -> None:
    document = load(file.name, file.read_bytes())
    report = check(document, Project({}, Facts({}, {}), None), input_format="deepspeed")
    assert report is not None
    outcome = prove(proved, document, report, None)
    assert outcome.status == "pass", outcome.render()


def repaired() -> Iterator[Any]:
    """The bad example of each rule as it stands once all its repairs are made, each text once, those for other releases left out."""
    seen: set[tuple[str, Any]] = set()
    for rule in all_rules():
        for number, example in enumerate(rule_text(rule.id).bad):
            if "deepspeed" in (example.get("targets") or {}):
                continue
            parts = _repair(example)
            if parts is not None and (parts[0].text, parts[1].context) not in seen:
                seen.add((parts[0].text, parts[1].context))
                yield pytest.param(*parts, id=f"{rule.id}-{number}")


def _repair(example: Mapping[str, Any]) -> tuple[Document, Report, Any] | None:
    facts = dict(example.get("facts") or {})
    project = Project({}, Facts(facts, facts.pop("env", {})), example.get("context"))
    text = example["text"] if "text" in example else json.dumps(example["config"], indent=2)

    def report(document: Document) -> Report:
        made = check(document, project, input_format="deepspeed")
        assert made is not None
        return made

    before = load("ds_config.json", text.encode())
    after = fix(before, lambda document: report(document).diagnostics, unsafe=True).document
    last = report(after)
    errors = any(diagnostic.severity == "error" for diagnostic in last.diagnostics)
    return None if errors or after is before or not isinstance(after.root, Object) else (after, last, facts.get("world_size"))


@pytest.mark.parametrize(("document", "report", "world_size"), list(repaired()))
def test_repaired_examples_train(proved: Proved, document: Document, report: Report, world_size: Any) -> None:
    outcome = prove(proved, document, report, world_size)
    assert outcome.status != "fail", f"{document.text}\n{outcome.render()}"
