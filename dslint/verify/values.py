"""Reading a config that may hold anything anywhere."""

from __future__ import annotations

from typing import Any

TRUE = frozenset({"true", "1", "yes", "on", "t", "y"})


def section(config: Any, *path: str) -> dict[str, Any]:
    """The mapping at a path, or an empty one where there is none."""
    for step in path:
        config = config.get(step) if isinstance(config, dict) else None
    return config if isinstance(config, dict) else {}


def on(value: Any) -> bool:
    """Is it true, as a lax reader of booleans sees it?"""
    return value.lower() in TRUE if isinstance(value, str) else isinstance(value, (bool, int, float)) and value == 1


def number(value: Any) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def stage_of(config: dict[str, Any]) -> int:
    """The ZeRO stage that a config asks for; 0 where it asks for none or for nonsense."""
    stage = section(config, "zero_optimization").get("stage", 0)
    if isinstance(stage, str) and stage.isdigit():
        stage = int(stage)
    return int(stage) if isinstance(stage, (int, float)) and stage in (0, 1, 2, 3) else 0
