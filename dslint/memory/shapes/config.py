"""A config.json as transformers reads it: older names of keys, and the defaults of its type."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from dslint.memory.model import UnknownModel
from dslint.schema.data import data_path

MISSING = object()


@cache
def table() -> Mapping[str, Any]:
    """schemas/shapes.json, made by tools/extract_shapes.py."""
    with open(os.path.join(data_path("schemas"), "shapes.json"), "rb") as file:
        found: Mapping[str, Any] = json.loads(file.read())
    return found


class Config:
    """One model's config, or that of a part of it. A key is asked for by the name that its class uses in transformers."""

    def __init__(self, written: Mapping[str, Any], model_type: str | None = None) -> None:
        self.type = str(written.get("model_type", model_type))
        known = table()["types"].get(self.type)
        if known is None:
            raise UnknownModel(f"the shapes of model type {self.type!r} are not known")
        self._defaults: Mapping[str, Any] = known["defaults"]
        self._parts: Mapping[str, str] = known.get("parts", {})
        self._written = {known.get("aliases", {}).get(key, key): value for key, value in written.items()}

    def get(self, key: str) -> Any:
        """The value written, else the default of the type; None where neither is."""
        return self._written.get(key, self._defaults.get(key))

    def number(self, key: str) -> int:
        """A whole number that the shapes need. Raises UnknownModel where the config has none."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UnknownModel(f"config of a {self.type} model: {key} is {value!r}; a whole number is needed")
        return value

    def flag(self, key: str) -> bool:
        return bool(self.get(key))

    def part(self, key: str) -> Config:
        """The config of a part (``text_config``, ``vision_config``)."""
        written = self.get(key)
        return Config(written if isinstance(written, Mapping) else {}, self._parts.get(key))

    @property
    def hidden(self) -> int:
        return self.number("hidden_size")

    @property
    def intermediate(self) -> int:
        return self.number("intermediate_size")

    @property
    def layers(self) -> int:
        return self.number("num_hidden_layers")

    @property
    def heads(self) -> int:
        return self.number("num_attention_heads")

    @property
    def kv_heads(self) -> int:
        return self.number("num_key_value_heads") if self.get("num_key_value_heads") else self.heads

    @property
    def head_size(self) -> int:
        return self.number("head_dim") if self.get("head_dim") else self.hidden // self.heads
