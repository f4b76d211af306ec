"""Every raise, assert and warning of the installed DeepSpeed has a rule, a schema finding, or a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dslint.engine.registry import all_rules

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from list_raises import Raise, installed_package, list_raises, load_mapping, mapped_to  # noqa: E402

MAPPED_VERSION = "0.19.8"
KINDS = ("rules", "schema", "reason")


@pytest.fixture(scope="module")
def raises() -> list[Raise]:
    try:
        package = installed_package()
    except FileNotFoundError:
        pytest.skip("deepspeed is not installed here")
    import importlib.metadata

    if (installed := importlib.metadata.version("deepspeed")) != MAPPED_VERSION:
        pytest.skip(f"the mapping speaks of deepspeed {MAPPED_VERSION}, installed is {installed}")
    return list_raises(package)


@pytest.fixture(scope="module")
def groups() -> list[dict[str, Any]]:
    return load_mapping(sorted((ROOT / "docs" / "coverage").glob("deepspeed*.yaml")))


def test_everything_is_mapped_once(raises: list[Raise], groups: list[dict[str, Any]]) -> None:
    spoken = {place.id: mapped_to(place.id, groups) for place in raises}
    assert not [ident for ident, found in spoken.items() if not found]
    assert not [ident for ident, found in spoken.items() if len(found) > 1]


def test_nothing_is_stale(raises: list[Raise], groups: list[dict[str, Any]]) -> None:
    used: set[str] = set()
    for place in raises:
        for group in mapped_to(place.id, groups):
            used |= {pattern for pattern in group["ids"] if pattern == place.id or place.id.startswith(pattern.removesuffix("*"))}
    stale = [pattern for group in groups for pattern in group["ids"] if pattern not in used]
    assert not stale


def test_groups_say_exactly_one_thing(groups: list[dict[str, Any]]) -> None:
    known = {rule.id for rule in all_rules()}
    for group in groups:
        assert len([kind for kind in KINDS if group.get(kind)]) == 1, group
        assert set(group) <= {"ids", *KINDS, "note"}, group
        assert not set(group.get("rules", ())) - known, group
        assert "reason" not in group or len(str(group["reason"])) > 20, group
