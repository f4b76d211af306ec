"""Settings of a project: ``dslint.yaml``, or ``[tool.dslint]`` of ``pyproject.toml``, the nearest upwards."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from dslint.engine import facts as facts_module
from dslint.engine.diagnostics import Diagnostic, Severity
from dslint.engine.facts import UNLIMITED, Facts, Value, sound
from dslint.engine.project import Target
from dslint.engine.rules import Rule
from dslint.faults import Fault
from dslint.nearest import did_you_mean
from dslint.selection import Ignore, parse_ignore
from dslint.targets import checked_version, framework_named

NAMES = (
    "select",
    "extend-select",
    "ignore",
    "per-file-ignores",
    "severity",
    "include",
    "exclude",
    "targets",
    "facts",
    "per-file-facts",
    "extend-rules",
)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
FACTS = dict(facts_module.VARIABLES.values())
OWN_SECTION = rb"(?m)^\s*\[\s*tool\s*\.\s*[\"']?dslint\b"


def path_matches(relative: str, pattern: str) -> bool:
    """Does a glob match a path relative to the settings file? One without a slash is a glob of the name in any folder."""
    return fnmatchcase(relative if "/" in pattern else relative.rpartition("/")[2], pattern)


class PerFile(NamedTuple):
    """``pattern``: a glob of the path relative to the settings file; one without a slash is a glob of the name in any folder."""

    pattern: str
    ignores: tuple[Ignore, ...]

    def matches(self, relative: str) -> bool:
        return path_matches(relative, self.pattern)


class Settings(NamedTuple):
    """``file`` is "" where there are no settings; then all else is empty."""

    file: str = ""
    ignore: tuple[Ignore, ...] = ()
    per_file: tuple[PerFile, ...] = ()
    targets: Mapping[str, Target] = MappingProxyType({})
    facts: Facts = Facts()
    extra_rules: tuple[Rule, ...] = ()
    select: tuple[Ignore, ...] = ()
    extend_select: tuple[Ignore, ...] = ()
    severities: tuple[tuple[Ignore, Severity], ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_facts: tuple[tuple[str, Facts], ...] = ()

    def ignores(self, file: str) -> tuple[Ignore, ...]:
        """All that is ignored in a file (any path to it)."""
        return self.ignore + tuple(ignore for per_file in self.per_file_that_match(file) for ignore in per_file.ignores)

    def per_file_that_match(self, file: str) -> tuple[PerFile, ...]:
        if not self.per_file:
            return ()
        relative = self.relative(file)
        return tuple(per_file for per_file in self.per_file if per_file.matches(relative))

    def facts_by_path(self, file: str) -> tuple[tuple[str, Facts], ...]:
        """The facts of the paths that a file matches, with their patterns; the last that says something wins."""
        if not self.per_file_facts:
            return ()
        relative = self.relative(file)
        return tuple((pattern, facts) for pattern, facts in self.per_file_facts if path_matches(relative, pattern))

    def includes(self, file: str) -> bool:
        return bool(self.include) and any(path_matches(self.relative(file), pattern) for pattern in self.include)

    def excludes(self, path: str) -> bool:
        """Is a file or a directory left out when a directory is searched?"""
        return bool(self.exclude) and any(path_matches(self.relative(path), pattern.rstrip("/")) for pattern in self.exclude)

    def severity(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding with the severity that the settings give it; of several the last wins."""
        for choice, severity in reversed(self.severities):
            if choice.matches(diagnostic):
                return diagnostic._replace(severity=severity)
        return diagnostic

    def relative(self, path: str) -> str:
        """Any path as it is seen from the settings file, with slashes."""
        return os.path.relpath(os.path.abspath(path), os.path.dirname(os.path.abspath(self.file))).replace(os.sep, "/")


NO_SETTINGS = Settings()


@cache
def settings_for(directory: str) -> Settings:
    """The settings that hold in a directory (an absolute path). Raises Fault."""
    own = os.path.join(directory, "dslint.yaml")
    if os.path.isfile(own):
        return parse_settings(own, _yaml(own))
    pyproject = os.path.join(directory, "pyproject.toml")
    if os.path.isfile(pyproject) and (section := _toml(pyproject)) is not None:
        return parse_settings(pyproject, section)
    parent = os.path.dirname(directory)
    return NO_SETTINGS if parent == directory else settings_for(parent)


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise Fault(f"{file}: {error.strerror or error}") from None


def _yaml(file: str) -> Any:
    from dslint.document import load, to_python

    document = load(file, _read(file), "yaml")
    for problem in document.problems:
        if problem.code == "PA008":
            return {}
        line, column = document.line_column(problem.span.start)
        raise Fault(f"{file}:{line}:{column}: {problem.message}")
    return {} if document.root is None else to_python(document.root)


def _toml(file: str) -> Any:
    """The table ``tool.dslint``, or None where the file has none; only a file that names it is parsed."""
    data = _read(file)
    if not re.search(OWN_SECTION, data):
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8")).get("tool", {}).get("dslint")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Fault(f"{file}: {error}") from None


def parse_settings(file: str, raw: Any) -> Settings:
    """Settings from plain values. Raises Fault, naming the file, the setting and what to write."""
    if not isinstance(raw, dict):
        raise Fault(f"{file}: settings are a mapping with {', '.join(NAMES)}")
    for name in raw:
        if name not in NAMES:
            raise Fault(f"{file}: unknown setting {name!r}{did_you_mean(str(name), NAMES)}; the settings are {', '.join(NAMES)}")
    rules = _rules(file, raw.get("extend-rules"))
    return Settings(
        file,
        _ignores(file, "ignore", raw.get("ignore"), rules),
        tuple(
            PerFile(str(pattern), _ignores(file, f"per-file-ignores: {pattern}", codes, rules))
            for pattern, codes in _mapping(file, "per-file-ignores", raw.get("per-file-ignores")).items()
        ),
        _targets(file, raw.get("targets")),
        Facts(_facts(file, "facts", raw.get("facts"))),
        rules,
        _ignores(file, "select", raw.get("select"), rules),
        _ignores(file, "extend-select", raw.get("extend-select"), rules),
        _severities(file, raw.get("severity"), rules),
        tuple(_strings(file, "include", raw.get("include"))),
        tuple(_strings(file, "exclude", raw.get("exclude"))),
        tuple(
            (str(pattern), Facts(_facts(file, f"per-file-facts: {pattern}", facts)))
            for pattern, facts in _mapping(file, "per-file-facts", raw.get("per-file-facts")).items()
        ),
    )


def _ignores(file: str, setting: str, value: Any, rules: tuple[Rule, ...]) -> tuple[Ignore, ...]:
    return tuple(parse_ignore(text, f"{file}: {setting}", rules) for text in _strings(file, setting, value))


def _targets(file: str, value: Any) -> dict[str, Target]:
    targets = {}
    for name, version in _mapping(file, "targets", value).items():
        where = f"{file}: targets: {name}"
        if not isinstance(version, str):
            raise Fault(f'{where}: write the version in quotes, for example {name}: "0.16.4"')
        targets[framework_named(str(name), f"{file}: targets")] = Target(checked_version(version, where), os.path.basename(file))
    return targets


def _severities(file: str, value: Any, rules: tuple[Rule, ...]) -> tuple[tuple[Ignore, Severity], ...]:
    found: list[tuple[Ignore, Severity]] = []
    for code, severity in _mapping(file, "severity", value).items():
        where = f"{file}: severity: {code}"
        if severity not in SEVERITIES:
            raise Fault(f"{where}: expected {', '.join(SEVERITIES)}, not {severity!r}; `ignore` is for what is not wanted at all")
        found.append((parse_ignore(str(code), f"{file}: severity", rules), severity))
    return tuple(found)


def _facts(file: str, setting: str, value: Any) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    derived: dict[str, Value] = {}
    for name, fact in _mapping(file, setting, value).items():
        where = f"{file}: {setting}: {name}"
        if name == "gpu":
            from dslint.hardware import facts_of

            try:
                derived = facts_of(str(fact))
            except Fault as fault:
                raise Fault(str(fault).replace("--gpu", f"{where}:", 1).replace("--gpu", "gpu:")) from None
            continue
        if name not in FACTS:
            known = ["gpu", *FACTS]
            raise Fault(f"{file}: unknown fact {name!r}{did_you_mean(str(name), known)}; the facts are {', '.join(known)}")
        kind = FACTS[name]
        fits = (
            isinstance(fact, str)
            if kind is str
            else isinstance(fact, (int,) if kind is int else (int, float)) and not isinstance(fact, bool)
        )
        if name == "memlock_kb" and str(fact).lower() in UNLIMITED:
            fact, fits = float("inf"), True
        if not fits or not sound(name, fact):
            expected = {str: "a text in quotes", int: "a whole number", float: "a number"}[kind]
            raise Fault(f"{where}: expected {expected}{' above 0' if fits else ''}, not {fact!r}")
        facts[name] = fact
    return derived | facts


def _rules(file: str, value: Any) -> tuple[Rule, ...]:
    names = _strings(file, "extend-rules", value)
    if not names:
        return ()
    from dslint.engine.parse_rules import RuleError
    from dslint.engine.registry import load_user_rules

    try:
        return load_user_rules([os.path.join(os.path.dirname(file), name) for name in names])
    except RuleError as error:
        raise Fault(str(error)) from None
    except OSError as error:
        raise Fault(f"{file}: extend-rules: {error.filename}: {error.strerror or error}") from None


def _mapping(file: str, setting: str, value: Any) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Fault(f"{file}: {setting}: expected a mapping, not {value!r}")
    return value


def _strings(file: str, setting: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Fault(f"{file}: {setting}: expected a list of texts")
    return value
