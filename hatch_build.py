"""Turns rules/ into the compiled modules that a wheel ships, so that no YAML is read at start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, self.root)
        from dslint.engine.registry import write_compiled

        place = root / "build" / "rules"
        write_compiled(map(str, sorted((root / "rules").rglob("*.yaml"))), str(place))
        for module in sorted(place.glob("compiled_*.py")):
            build_data["force_include"][str(module)] = f"dslint/_data/rules/{module.name}"
