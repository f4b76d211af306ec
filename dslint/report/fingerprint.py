"""What stays the same of a finding while the file around it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from dslint.document import Path, format_path
from dslint.engine.diagnostics import Diagnostic


def fingerprints(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, str]]:
    """Each finding with its fingerprint: of file, code, key path without positions in lists, and which of several alike it is.

    Lines, columns, messages and values have no part in it, so that an edit elsewhere in the file does not change it.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    for diagnostic in diagnostics:
        key = (posix(diagnostic.document.file), diagnostic.code, keys_of(diagnostic.path))
        seen[key] += 1
        yield diagnostic, _hashed(*key, str(seen[key]))


def keys_of(path: Path) -> str:
    """The path with every list item alike: ``datasets[].type``."""
    return format_path(path) if all(isinstance(step, str) for step in path) else "[]".join(map(format_path, _between_items(path)))


def _between_items(path: Path) -> Iterator[Path]:
    start = 0
    for index, step in enumerate(path):
        if isinstance(step, int):
            yield path[start:index]
            start = index + 1
    yield path[start:]


def posix(file: str) -> str:
    """A file's name with slashes, whatever the machine."""
    return file.replace("\\", "/").removeprefix("./")


def _hashed(*parts: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
