"""Which version of each framework a config is checked against, and how that is known.

In this order: the command line, the env file, settings, a lock or requirements file beside the config or above it in the
same repository, what is installed beside dslint. Where none of them tells, the engine takes the newest version it knows.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache

from dslint.engine.project import Target
from dslint.engine.versions import parse_version
from dslint.faults import Fault
from dslint.nearest import did_you_mean

NAMES = ("deepspeed", "transformers", "accelerate", "axolotl", "llamafactory", "torch", "trl", "peft")
# spelling without separators -> name
FRAMEWORKS: Mapping[str, str] = {name: name for name in NAMES}
_DISTRIBUTION = rf"({'|'.join(NAMES)}|llama[-_]factory)"
_VERSION = r"([0-9]+(?:\.[0-9]+)*)"
# file -> how it pins a version: requirements, a block of a lock file, a conda environment
_REQUIREMENT = rf"(?mi)^[\s\"'-]*{_DISTRIBUTION}(?:\[[^\]]*\])?\s*===?\s*v?{_VERSION}"
_LOCKED = rf"(?mi)^name = \"{_DISTRIBUTION}\"\s*\nversion = \"{_VERSION}"
_CONDA = rf"(?mi)^\s*-\s*{_DISTRIBUTION}(?:\[[^\]]*\])?\s*={{1,2}}\s*{_VERSION}"
LOCK_FILES: Mapping[str, str] = {
    "uv.lock": _LOCKED,
    "poetry.lock": _LOCKED,
    "pdm.lock": _LOCKED,
    "requirements.txt": _REQUIREMENT,
    "environment.yml": _CONDA,
    "environment.yaml": _CONDA,
    "pyproject.toml": _REQUIREMENT,
}


def parse_targets(texts: Iterable[str]) -> dict[str, Target]:
    """``NAME==VERSION`` of the command line. Raises Fault."""
    targets: dict[str, Target] = {}
    for text in texts:
        name, equals, version = text.partition("==")
        if not equals:
            raise Fault(f"--target {text}: write NAME==VERSION, for example --target deepspeed==0.16.4")
        targets[framework_named(name, f"--target {text}")] = Target(checked_version(version, f"--target {text}"), "--target")
    return targets


def framework_named(text: str, where: str) -> str:
    """The framework's name, however it is spelt. Raises Fault."""
    plain = re.sub(r"[-_.\s]", "", text).lower()
    if plain not in FRAMEWORKS:
        raise Fault(f"{where}: unknown framework {text.strip()!r}{did_you_mean(plain, NAMES)}; known are {', '.join(NAMES)}")
    return FRAMEWORKS[plain]


def checked_version(text: str, where: str) -> str:
    """A version of numbers, without what follows them. Raises Fault."""
    plain = text.strip().removeprefix("v")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}((a|b|rc|\.?dev|\.?post)[0-9]*)*(\+[A-Za-z0-9.]+)?", plain):
        raise Fault(f"{where}: {text.strip()!r} is no version; write numbers such as 0.16.4")
    parse_version(plain)
    return plain


@cache
def pinned(directory: str) -> Mapping[str, Target]:
    """What lock and requirements files pin: those of the directory, then of those above it up to the root of its repository."""
    found: dict[str, Target] = {}
    for folder in reversed(up_to_repository(directory)):
        found |= pinned_in(folder)
    return found


@cache
def pinned_in(folder: str) -> Mapping[str, Target]:
    """What the lock and requirements files of one folder pin; of two that pin the same the first in ``LOCK_FILES`` counts."""
    found: dict[str, Target] = {}
    try:
        there = set(os.listdir(folder))
    except OSError:  # a file of a folder that may be entered but not listed
        there = set(LOCK_FILES)
    for name, pattern in LOCK_FILES.items():
        if name not in there:
            continue
        file = os.path.join(folder, name)
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                text = stream.read()
        except OSError:  # it is not there, or not to be read: it pins nothing
            continue
        for match in re.finditer(pattern, text):
            found.setdefault(framework_named(match.group(1), file), Target(match.group(2), os.path.relpath(file)))
    return found


@cache
def up_to_repository(directory: str) -> tuple[str, ...]:
    """The directory and those above it up to one with ``.git``; the directory alone where it is in no repository."""
    folders = [directory]
    while not os.path.exists(os.path.join(folders[-1], ".git")):
        parent = os.path.dirname(folders[-1])
        if parent == folders[-1]:
            return (directory,)
        folders.append(parent)
    return tuple(folders)


@cache
def installed() -> Mapping[str, Target]:
    """The versions installed beside dslint, read from the names of their metadata folders."""
    found: dict[str, Target] = {}
    for entry in sys.path:
        try:
            names = os.listdir(entry) if entry else []
        except OSError:  # zip files and folders that do not exist
            continue
        for name in names:
            if name.endswith(".dist-info"):
                distribution, _, version = name.removesuffix(".dist-info").partition("-")
                framework = FRAMEWORKS.get(distribution.lower().replace("_", ""))
                if framework and version[:1].isdigit():
                    found.setdefault(framework, Target(version, "installed"))
    return found
