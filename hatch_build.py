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
        from dslint.engine.registry import MIGRATIONS, rule_files, write_compiled

        for part in ("", MIGRATIONS):
            place = root / "build" / "rules" / part
            write_compiled(rule_files(str(root / "rules" / part)), str(place))
            for module in sorted(place.glob("compiled_*.py")):
                build_data["force_include"][str(module)] = (Path("dslint/_data/rules") / part / module.name).as_posix()
