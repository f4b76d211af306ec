"""Where the rules come from: compiled modules in a wheel, or a cache of the checkout's YAML keyed by the state of its files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any
from zlib import crc32

from dslint.engine.rules import Rule, RuleText
from dslint.schema.data import data_path

COMPILER_FILES = ("conditions.py", "functions.py", "parse_rules.py", "rules.py")
MIGRATIONS = "migrations"
_user_texts: dict[str, RuleText] = {}


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, in the order of the files' names. Raises RuleError when the checkout's YAML cannot be read."""
    rules: tuple[Rule, ...] = _compiled("rules")["RULES"]
    return rules


@cache
def migrations() -> tuple[Rule, ...]:
    """What brings a config to a later release, in the form of rules; ``dslint check`` does not look at them. Raises RuleError."""
    rules: tuple[Rule, ...] = _compiled("rules", MIGRATIONS)["RULES"]
    _user_texts.update(_compiled("texts", MIGRATIONS)["TEXTS"])
    return rules


def rule_text(ident: str) -> RuleText:
    """Why, source and examples of a built-in or a user's rule."""
    return _user_texts[ident] if ident in _user_texts else _texts()[ident]


@cache
def _texts() -> Mapping[str, RuleText]:
    texts: Mapping[str, RuleText] = _compiled("texts")["TEXTS"]
    return texts


def load_user_rules(files: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of a project's own files (``extend-rules``). Raises RuleError, OSError."""
    from dslint.engine.parse_rules import RuleError

    names = list(files)
    for name in names:
        if os.path.exists(name) and not os.path.isfile(name):
            raise RuleError(f"{name}: not a regular file")
    rules, texts = _source(names, builtin=False)
    try:
        compiled, told = _executed(rules)["RULES"], _executed(texts)["TEXTS"]
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise RuleError(f"{', '.join(names)}: a condition is nested too deeply: {error}") from None
    if taken := {rule.id for rule in compiled} & {rule.id for rule in all_rules()}:
        raise RuleError(f"{', '.join(names)}: {min(taken)} is a built-in rule; codes of your own start with other letters")
    _user_texts.update(told)
    return tuple(compiled)


def _compiled(kind: str, part: str = "") -> dict[str, Any]:
    """The names of the compiled module ``rules`` or ``texts``, of the rules themselves or of a part that stands for itself."""
    folder = os.path.join(data_path("rules"), part)
    shipped = os.path.join(folder, f"compiled_{kind}.py")
    if os.path.exists(shipped):
        return _imported(shipped)
    files = rule_files(folder)
    place = os.path.join(_cache_directory(), f"rules-{_state(files)}")
    cached = os.path.join(place, f"compiled_{kind}.py")
    if not os.path.exists(cached):
        try:
            write_compiled(files, place)
        except OSError:  # no cache can be written here: compile again each time
            return _executed(_source(files, builtin=True)[("rules", "texts").index(kind)])
    return _imported(cached)


def rule_files(folder: str) -> list[str]:
    """The YAML files of a folder of rules, without the migrations where it is not theirs."""
    found = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names if name.endswith(".yaml"))
    own = os.path.join(folder, MIGRATIONS) + os.sep
    return sorted(file for file in found if not file.startswith(own))


def write_compiled(files: Iterable[str], place: str) -> None:
    """Write the two modules of these rule files into a folder; each appears whole or not at all. Raises RuleError, OSError."""
    os.makedirs(place, exist_ok=True)
    for kind, source in zip(("rules", "texts"), _source(files, builtin=True), strict=True):
        unfinished = os.path.join(place, f".{kind}-{os.getpid()}")
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(source)
        os.replace(unfinished, os.path.join(place, f"compiled_{kind}.py"))


def _source(files: Iterable[str], *, builtin: bool) -> tuple[str, str]:
    from dslint.document import load
    from dslint.document.load import read
    from dslint.engine.parse_rules import to_source

    return to_source([load(file, read(file), "yaml") for file in files], builtin=builtin)


def _imported(file: str) -> dict[str, Any]:
    spec = spec_from_file_location(f"dslint_{os.path.basename(file)[:-3]}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def _executed(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "<rules>", "exec"), names)
    return names


def _cache_directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "dslint")


def _state(files: Iterable[str]) -> str:
    """What changes when a rule file or the compiler does: names, sizes, times of change."""
    own = os.path.dirname(__file__)
    state: list[object] = [sys.version_info[:2]]
    for file in (*files, *(os.path.join(own, name) for name in COMPILER_FILES)):
        status = os.stat(file)
        state.append((file, status.st_size, status.st_mtime_ns))
    return f"{crc32(repr(state).encode()):08x}"
