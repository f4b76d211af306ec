"""Where the files are that a config names: as its framework looks for them, then beside the file, then from the root of the repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dslint.document import Change, Document, load
from dslint.document.load import MAXIMUM_BYTES, read
from dslint.engine.config import Config
from dslint.engine.diagnostics import Diagnostic, Fix, Severity
from dslint.engine.family import Found
from dslint.formats.base import Link
from dslint.nearest import nearest
from dslint.plan import Statement
from dslint.targets import up_to_repository

if TYPE_CHECKING:
    from dslint.models import ModelFacts

CODES: dict[str, tuple[str, str]] = {
    "LK001": (
        "linked-file-missing",
        "The config names a file that is not there: as seen from here, from beside the config, or from the root of the repository.",
    ),
    "LK002": ("linked-file-misspelt", "The config names a file that is not there, and one with nearly the same name is."),
    "LK003": ("linked-file-unreadable", "The file that the config names cannot be read."),
    "LK004": ("linked-directory", "The config names a directory where a file belongs."),
}
# what is looked for inside of a directory that a link names
INSIDE = {"adapter": "adapter_config.json", "data": "dataset_info.json"}


class Files:
    """Finds what links name, each file read once. ``documents``: those that were already read."""

    def __init__(self, documents: Iterable[Document] = (), max_bytes: int = MAXIMUM_BYTES) -> None:
        self.max_bytes = max_bytes
        self._documents = tuple(documents)

    @cached_property
    def _read(self) -> dict[str, Document]:
        return {os.path.realpath(document.file): document for document in self._documents}

    def __call__(self, config: Config, link: Link) -> Found:
        name = link.value
        assert isinstance(name, str), "an embedded config needs no file"
        if not name.strip() or "\0" in name or "$" in name or "{" in name:
            return Found()
        if link.format == "model":
            return Found(model=partial(self._model, config, name))
        if link.format in INSIDE:
            return self._directory(config, link, name)
        for place in self._places(config, name):
            if os.path.isfile(place):
                return self._document(config, link, place)
            if os.path.isdir(place):
                return Found(diagnostic=_say(config, link, "LK004", f"{name} is a directory, not a file"))
        if (said := _shipped(config.form.ships, name)) is not None:
            return Found(model=partial(_of_framework, said, name))
        return Found(diagnostic=self._missing(config, link, name))

    def _places(self, config: Config, name: str) -> Iterator[str]:
        """Where the file may lie, inside of the project only: the working directory, the config's own, the repository's root."""
        name = os.path.expanduser(name)
        here = os.getcwd()
        roots = _roots(config)
        for root in roots:
            place = os.path.normpath(os.path.join(root, name))
            if any(_below(place, allowed) for allowed in roots) and (not os.path.exists(place) or _really_within(place, roots)):
                yield os.path.relpath(place) if _below(place, here) else place

    def _document(self, config: Config, link: Link, place: str) -> Found:
        real = os.path.realpath(place)
        if real not in self._read:
            try:
                data = read(place, self.max_bytes)
            except OSError as error:
                message = f"{link.value} cannot be read: {error.strerror or error}"
                return Found(diagnostic=_say(config, link, "LK003", message))
            self._read[real] = load(place, data, "json" if link.format in ("deepspeed", "fsdp") else None, max_bytes=self.max_bytes)
        return Found(self._read[real])

    def _directory(self, config: Config, link: Link, name: str) -> Found:
        """What a directory in the project says of itself; a name on the Hub, or a directory of another machine, says nothing."""
        places = (os.path.join(place, INSIDE[link.format]) for place in self._places(config, name))
        return next((self._document(config, link, place) for place in places if os.path.isfile(place)), Found())

    def _model(self, config: Config, name: str) -> list[Statement]:
        """What is known of a model: from the config.json of its directory, wherever that is, else from its well-known name."""
        from dslint import models

        for root in _roots(config):
            place = os.path.join(root, os.path.expanduser(name))
            if os.path.isdir(place) and (facts := models.by_directory(place)) is not None:
                return list(_of_model(facts, f"{name}/config.json"))
        known = models.by_name(name)
        return list(_of_model(known, name)) if known is not None else []

    def _missing(self, config: Config, link: Link, name: str) -> Diagnostic | None:
        if os.path.isabs(os.path.expanduser(name)):
            return _missing_elsewhere(config, link, name)
        near = _near(self._places(config, name), name) or _like(name, config.form.ships)
        if near is None:
            return _missing_elsewhere(config, link, name)
        return _say(config, link, "LK002", f"{name} does not exist: did you mean {near}?", near)


def _shipped(ships: Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """What a file of the framework's own repository says, wherever that lies on the machine of the run."""
    plain = name.replace("\\", "/")
    return next((said for place, said in ships.items() if plain == place or plain.endswith(f"/{place}")), None)


def _of_framework(said: Mapping[str, Any], name: str) -> list[Statement]:
    return [Statement(term, value, "model", source=name) for term, value in said.items()]


def _of_model(facts: ModelFacts, source: str) -> Iterator[Statement]:
    for name, value in facts._asdict().items():
        if value is not None and value != ():
            yield Statement(f"model.{name}", list(value) if isinstance(value, tuple) else value, "model", source=source)


def _missing_elsewhere(config: Config, link: Link, name: str) -> Diagnostic:
    return _say(config, link, "LK001", f"{name} is not found from here, from the config's directory or from the repository's root")


def _near(places: Iterable[str], name: str) -> str | None:
    """A file with nearly this name in the directory where it was looked for, written as the config would."""
    folder, base = os.path.split(name)
    for place in places:
        try:
            names = os.listdir(os.path.dirname(place) or ".")
        except OSError:
            continue
        if (found := _like(base, names)) is not None:
            return os.path.join(folder, found)
    return None


def _like(name: str, others: Iterable[str]) -> str | None:
    """The other name that differs by a letter or two; digits and the suffix mean something and must be the same."""
    kept = _digits_and_suffix(name)
    return nearest(name, [other for other in others if _digits_and_suffix(other) == kept], limit=2)


def _digits_and_suffix(name: str) -> tuple[str, str]:
    stem, suffix = os.path.splitext(name)
    return "".join(filter(str.isdigit, stem)), suffix


def _say(config: Config, link: Link, code: str, message: str, near: str | None = None) -> Diagnostic:
    path = config.resolved.path(link.at)
    fixes = (Fix(f"write {near}", "safe", (Change("set", path, near),)),) if near else ()
    name, why = CODES[code]
    severity: Severity = "warning" if code == "LK001" else "error"
    return Diagnostic(config.document, code, name, severity, path, config.document.key_span(path), message, why, "", (), fixes)


def _roots(config: Config) -> tuple[str, ...]:
    """Where a path of a config may start: the working directory, the config's own, the repository's root; never the root of all files."""
    own = os.path.dirname(os.path.abspath(config.document.file))
    return tuple(root for root in dict.fromkeys([os.getcwd(), own, up_to_repository(own)[-1]]) if root != os.sep)


def _below(place: str, root: str) -> bool:
    return place == root or place.startswith(root + os.sep)


def _really_within(place: str, roots: Iterable[str]) -> bool:
    """Does it lie there once every symbolic link on the way is followed?"""
    real = os.path.realpath(place)
    return any(_below(real, os.path.realpath(root)) for root in roots)
