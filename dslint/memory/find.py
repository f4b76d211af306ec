"""The model that somebody means: a folder, a config.json, a name on the Hub, a size."""

from __future__ import annotations

import json
import os

from dslint.faults import Fault
from dslint.memory.model import Model, known_model, model_of
from dslint.models import MAXIMUM_BYTES


def find_model(name: str, folder: str) -> Model:
    """The shapes of a model; a relative path is looked for beside the file in ``folder``, then where we stand. Raises Fault, UnknownModel."""
    for place in dict.fromkeys((os.path.join(folder, name), name)):
        if os.path.isdir(place):
            return _read(os.path.join(place, "config.json"))
        if os.path.isfile(place):
            return _read(place)
    return known_model(name)


def _read(file: str) -> Model:
    try:
        if os.path.getsize(file) > MAXIMUM_BYTES:
            raise Fault(f"{file}: too large for the config.json of a model")
        with open(file, "rb") as stream:
            config = json.loads(stream.read())
    except OSError as error:
        raise Fault(f"{file}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise Fault(f"{file}: not the JSON of a model's config") from None
    if not isinstance(config, dict):
        raise Fault(f"{file}: not the config of a model: a mapping is expected")
    return model_of(config)
