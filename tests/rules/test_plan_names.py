"""Rules and formats speak of the Plan in its own names only."""

from __future__ import annotations

from dslint.engine.registry import all_rules
from dslint.formats import FORMATS
from dslint.plan.vocabulary import VOCABULARY


def test_rules_ask_for_names_of_the_plan() -> None:
    unknown = {(rule.id, name) for rule in all_rules() for name in rule.plan if name not in VOCABULARY}
    assert not unknown


def test_auto_is_filled_by_names_of_the_plan() -> None:
    unknown = {(form.name, name) for form in FORMATS.values() for name in form.fills.values() if name not in VOCABULARY}
    assert not unknown
