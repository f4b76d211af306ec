"""Where the rules come from: compiled modules in a wheel, or a cache of the checkout's YAML keyed by its content."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from dslint.engine.rules import Rule, RuleText
from dslint.schema.data import data_path

COMPILER_FILES = ("conditions.py", "functions.py", "parse_rules.py", "rules.py")
_user_texts: dict[str, RuleText] = {}


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, in the order of the files' names. Raises RuleError when the checkout's YAML cannot be read."""
    rules: tuple[Rule, ...] = _compiled("rules")["RULES"]
    return rules


def rule_text(ident: str) -> RuleText:
    """Why, source and examples of a built-in or a user's rule."""
    return _user_texts[ident] if ident in _user_texts else _texts()[ident]


@cache
def _texts() -> Mapping[str, RuleText]:
    texts: Mapping[str, RuleText] = _compiled("texts")["TEXTS"]
    return texts


def load_user_rules(files: list[Path]) -> tuple[Rule, ...]:
    """The rules of a project's own files (``extend-rules``). Raises RuleError, OSError."""
    rules, texts = _source(files, builtin=False)
    _user_texts.update(_executed(texts)["TEXTS"])
    return tuple(_executed(rules)["RULES"])


def _compiled(kind: str) -> dict[str, Any]:
    """The names of the compiled module ``rules`` or ``texts``."""
    folder = data_path("rules")
    shipped = folder / f"compiled_{kind}.py"
    if shipped.exists():
        return _imported(shipped)
    files = sorted(folder.rglob("*.yaml"))
    place = _cache_directory() / f"rules-{_content_key(files)}"
    if not (place / f"compiled_{kind}.py").exists():
        try:
            write_compiled(files, place)
        except OSError:  # no cache can be written here: compile again each time
            return _executed(_source(files, builtin=True)[("rules", "texts").index(kind)])
    return _imported(place / f"compiled_{kind}.py")


def write_compiled(files: list[Path], place: Path) -> None:
    """Write the two modules of these rule files into a folder; each appears whole or not at all. Raises RuleError, OSError."""
    place.mkdir(parents=True, exist_ok=True)
    for kind, source in zip(("rules", "texts"), _source(files, builtin=True), strict=True):
        unfinished = place / f".{kind}-{os.getpid()}"
        unfinished.write_text(source, encoding="utf-8")
        unfinished.replace(place / f"compiled_{kind}.py")


def _source(files: list[Path], *, builtin: bool) -> tuple[str, str]:
    from dslint.document import load
    from dslint.engine.parse_rules import to_source

    return to_source([load(str(file), file.read_bytes(), "yaml") for file in files], builtin=builtin)


def _imported(file: Path) -> dict[str, Any]:
    spec = spec_from_file_location(f"dslint_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def _executed(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "<rules>", "exec"), names)
    return names


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "dslint"


def _content_key(files: list[Path]) -> str:
    from hashlib import sha256

    digest = sha256(repr(sys.version_info[:2]).encode())
    for file in (*files, *(Path(__file__).with_name(name) for name in COMPILER_FILES)):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
