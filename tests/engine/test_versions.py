from __future__ import annotations

import pytest

from dslint.engine.versions import parse_range, parse_version, within


@pytest.mark.parametrize(
    ("text", "version"),
    [("0.16.4", (0, 16, 4)), ("0.19", (0, 19, 0)), ("2.13.0+cpu", (2, 13, 0)), ("0.17.0rc1", (0, 17, 0)), ("0.14.5.post1", (0, 14, 5))],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "latest", "v1"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        parse_version(text)


@pytest.mark.parametrize(("version", "inside"), [("0.14.0", True), ("0.19.7", True), ("0.19.8", False), ("0.13.9", False)])
def test_ranges(version: str, inside: bool) -> None:
    assert within(parse_version(version), parse_range(">=0.14, <0.19.8")) is inside


def test_no_range() -> None:
    with pytest.raises(ValueError, match="is no version range"):
        parse_range("0.14")
