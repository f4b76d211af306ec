"""A config.json as transformers reads it: older names of keys, and the defaults of its type."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any

from dslint.memory.model import UnknownModel
from dslint.schema.data import data_path

INTERMEDIATE_KEYS = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "hidden_dim", "d_ff")
# older files of these types have the keys of the text beside those of the whole
FLAT = ("qwen2_vl", "qwen2_5_vl")


@cache
def table() -> Mapping[str, Any]:
    """schemas/shapes.json, made by tools/extract_shapes.py."""
    with open(os.path.join(data_path("schemas"), "shapes.json"), "rb") as file:
        found: Mapping[str, Any] = json.loads(file.read())
    return found


class Config:
    """One model's config, or that of a part of it. A key is asked for by the name that its class uses in transformers."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.type = str(written["model_type"])
        known = table()["types"].get(self.type)
        if known is None:
            raise UnknownModel(f"the shapes of model type {self.type!r} are not known")
        self._defaults: Mapping[str, Any] = known["defaults"]
        self._parts: Mapping[str, Any] = known.get("parts", {})
        self._aliases: Mapping[str, str] = known.get("aliases", {})
        self._written = {self._aliases.get(key, key): value for key, value in written.items()}

    def get(self, key: str) -> Any:
        """The value written, else the default of the type; None where neither is."""
        key = self._aliases.get(key, key)
        return self._written.get(key, self._defaults.get(key))

    def number(self, key: str) -> int:
        """A whole number that the shapes need. Raises UnknownModel where the config has none."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UnknownModel(f"config of a {self.type} model: {key} is {value!r}; a whole number is needed")
        return value

    def flag(self, key: str) -> bool:
        return bool(self.get(key))

    def count(self, key: str) -> int:
        """A whole number, 0 where there is none."""
        return 0 if self.get(key) is None else self.number(key)

    def replace(self, **values: int) -> Config:
        """The same config with other values."""
        changed = copy(self)
        changed._written = {**self._written, **values}
        return changed

    def part(self, key: str) -> Config:
        """The config of a part (``text_config``, ``vision_config``), by its defaults where it is not written."""
        default = self._parts[key]
        written = self.get(key)
        if not isinstance(written, Mapping):
            written = self._written if key == "text_config" and self.type in FLAT else default["absent"]
            return Config({**written, "model_type": default["type"]})
        named = written.get("model_type", default["type"])
        return Config({**written, "model_type": default["type"] if named == self.type else named})

    @property
    def hidden(self) -> int:
        return self.number("hidden_size")

    @property
    def intermediate(self) -> int:
        """Width of a dense MLP; where a type has no key for it, or nothing is written, four times the hidden size."""
        key = next((key for key in INTERMEDIATE_KEYS if self.get(key) is not None), None)
        return 4 * self.hidden if key is None else self.number(key)

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

    @property
    def vocabulary(self) -> int:
        return self.number("vocab_size")
