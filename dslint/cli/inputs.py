"""Which files a command line means."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dslint.ignored import GitIgnore
from dslint.settings import settings_for

SUFFIXES = (".json", ".hjson", ".yaml", ".yml", ".env", "hostfile")
SKIPPED_DIRECTORIES = frozenset(["node_modules", "venv", "__pycache__", "site-packages"])
STDIN = "-"


class Source(NamedTuple):
    """A file to read, by the name the user knows. ``directory``: the argument it was met in; None where its own name was given."""

    name: str
    directory: str | None = None

    @property
    def named(self) -> bool:
        return self.directory is None

    @property
    def is_stdin(self) -> bool:
        return self.name == STDIN


class Inputs:
    """What the arguments of a command stand for: files to read, directories that were searched, and what cannot be read and why."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.directories: list[str] = []
        self.unreadable: list[str] = []


def collect(arguments: Iterable[str]) -> Inputs:
    """The files that the arguments name, and those in the directories they name, each once.

    In a directory: the files with a known suffix or that the settings include, without hidden directories, virtual environments,
    node_modules, what git ignores and what the settings exclude; links to directories are not followed. Raises Fault.
    """
    inputs = Inputs()
    seen: set[str] = set()

    def add(source: Source) -> None:
        key = os.path.normpath(source.name)
        if key not in seen:
            seen.add(key)
            inputs.sources.append(source)

    for argument in arguments:
        if argument == STDIN:
            add(Source(STDIN))
        elif os.path.isdir(argument):
            inputs.directories.append(argument)
            for name in _walk(argument, inputs.unreadable):
                add(Source(name, argument))
        elif (trouble := _trouble(argument)) is not None:
            inputs.unreadable.append(trouble)
        else:
            add(Source(argument))
    return inputs


def _walk(top: str, unreadable: list[str]) -> Iterator[str]:
    def refused(error: OSError) -> None:
        unreadable.append(f"{error.filename}: {describe(error)}")

    settings, git = settings_for(os.path.abspath(top)), GitIgnore(top)

    def left_out(path: str, is_directory: bool) -> bool:
        return settings.excludes(path) or git.ignores(path, is_directory=is_directory)

    for directory, names, files in os.walk(top, onerror=refused):
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".")
            and name not in SKIPPED_DIRECTORIES
            and not os.path.exists(os.path.join(directory, name, "pyvenv.cfg"))
            and not left_out(os.path.join(directory, name), True)
        )
        for file in sorted(files):
            path = os.path.join(directory, file)
            if not file.lower().endswith(SUFFIXES) and not settings.includes(path):
                continue
            if os.path.isfile(path) and not left_out(path, False):
                yield os.path.normpath(path)


def _trouble(name: str) -> str | None:
    """Why a named file cannot be read, or None."""
    try:
        mode = os.stat(name).st_mode
    except OSError as error:
        if os.path.islink(name) and error.errno == errno.ENOENT:
            return f"{name}: a link to {os.readlink(name)}, which does not exist"
        return f"{name}: {describe(error)}"
    except ValueError:
        return f"{name!r}: no file can have this name"
    if not stat.S_ISREG(mode):
        return f"{name}: not a regular file but {_kind(mode)}; pipe its content into `dslint check -` instead"
    return None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def describe(error: OSError) -> str:
    """The reason in plain words."""
    plain = {
        errno.ENOENT: "no such file or directory",
        errno.EACCES: "permission denied: make it readable, or run as a user who may read it",
        errno.EPERM: "permission denied: make it readable, or run as a user who may read it",
        errno.ELOOP: "a link that leads back to itself",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ENOTDIR: "a part of its path is not a directory",
    }
    return plain.get(error.errno or 0, error.strerror or str(error))
