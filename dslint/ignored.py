"""What git ignores below a directory: every .gitignore from the root of the repository down, and .git/info/exclude."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple


class _Patterns(NamedTuple):
    directory: str
    spec: Any


class GitIgnore:
    """Asked for the directories of a walk from the top down. Outside of a repository nothing is ignored."""

    def __init__(self, top: str) -> None:
        self._by_directory: dict[str, tuple[_Patterns, ...]] = {}
        self._root = _repository(os.path.abspath(top))

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        """Does git ignore this path? The pattern nearest to it that matches decides, as git does."""
        if self._root is None:
            return False
        whole = os.path.abspath(path)
        for patterns in reversed(self._patterns(os.path.dirname(whole), self._root)):
            name = os.path.relpath(whole, patterns.directory).replace(os.sep, "/")
            decided = patterns.spec.check_file(name + "/" if is_directory else name).include
            if decided is not None:
                return bool(decided)
        return False

    def _patterns(self, directory: str, root: str) -> tuple[_Patterns, ...]:
        """Those that hold in a directory, from the root of the repository down."""
        if directory not in self._by_directory:
            outer = self._patterns(os.path.dirname(directory), root) if directory != root else tuple(_of_repository(root))
            self._by_directory[directory] = (*outer, *_read(os.path.join(directory, ".gitignore"), directory))
        return self._by_directory[directory]


def _repository(directory: str) -> str | None:
    while not os.path.exists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    return directory


def _of_repository(root: str) -> Iterator[_Patterns]:
    yield from _read(os.path.join(root, ".git", "info", "exclude"), root)


def _read(file: str, directory: str) -> Iterator[_Patterns]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().splitlines()
    except OSError:  # there is none, or git cannot read it either
        return
    from pathspec import GitIgnoreSpec

    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if kept:
        yield _Patterns(directory, GitIgnoreSpec.from_lines(kept))
