"""Every raise, assert and warning of a framework has a rule, a schema finding, or a reason.

The framework is the installed one, or a release that lies unpacked in the folder that DSLINT_RELEASES names (NAME-VERSION/NAME).
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dslint.engine.registry import all_rules

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from list_raises import FILES, Raise, installed_package, list_raises, load_mapping, mapped_to  # noqa: E402

# the release that each mapping speaks of
MAPPED = {"deepspeed": "0.19.8", "llamafactory": "0.9.5"}
KINDS = ("rules", "schema", "reason")


@pytest.fixture(scope="module", params=sorted(MAPPED))
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def raises(framework: str) -> list[Raise]:
    version = MAPPED[framework]
    unpacked = Path(os.environ.get("DSLINT_RELEASES", os.devnull)) / f"{framework}-{version}" / framework
    if unpacked.is_dir():
        return list_raises(unpacked, FILES[framework])
    try:
        package = installed_package(framework)
    except FileNotFoundError:
        pytest.skip(f"{framework} is not installed here")
    if (installed := importlib.metadata.version(framework)) != version:
        pytest.skip(f"the mapping speaks of {framework} {version}, installed is {installed}")
    return list_raises(package, FILES[framework])


@pytest.fixture(scope="module")
def groups(framework: str) -> list[dict[str, Any]]:
    return load_mapping(sorted((ROOT / "docs" / "coverage").glob(f"{framework}*.yaml")))


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
