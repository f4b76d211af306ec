"""Did you mean, for what is written on the command line and in settings."""

from __future__ import annotations

from collections.abc import Iterable

from dslint.schema.suggest import edit_distance


def nearest(word: str, known: Iterable[str], limit: int | None = None) -> str | None:
    """The known word within ``limit`` edits (a third of its letters), ignoring case; None where none is near."""
    limit = limit or max(1, len(word) // 3)
    distances = [(edit_distance(word.lower(), candidate.lower(), limit), candidate) for candidate in known]
    distance, candidate = min(distances, default=(limit + 1, ""))
    return candidate if distance <= limit else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` or nothing, to be put behind a message."""
    near = nearest(word, known)
    return f" (did you mean {near}?)" if near else ""
