"""Make schemas/shapes.json: what each model type of transformers fills in where its config.json says nothing, by key.

The shapes themselves are in dslint/memory/shapes; they ask for keys by the names of the type's config class. ``known`` are the rest of the
configs of well-known models, beyond the columns of schemas/models.json (``tools/models_hand_read.yaml``).

usage:  python tools/extract_shapes.py            write the file from the importable transformers
        python tools/extract_shapes.py --check    exit 1 where the file says something else
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "shapes.json"
HAND_READ = Path(__file__).with_name("models_hand_read.yaml")
# what decides no shape
WITHOUT_SHAPE = ("_token_id", "_token_index", "use_cache", "output_router_logits", "summary_", "sliding_window")


def main(arguments: list[str]) -> int:
    written = text()
    if arguments == ["--check"]:
        return int(written != SCHEMA.read_text())
    SCHEMA.write_text(written)
    return 0


def text() -> str:
    os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1")
    import transformers

    from dslint.memory.shapes import TYPES

    wanted = list(TYPES)
    facts: dict[str, Any] = {}
    while wanted:
        if (name := wanted.pop()) not in facts:
            facts[name] = of_class(transformers.CONFIG_MAPPING[name])
            wanted += [part["type"] for part in facts[name].get("parts", {}).values()]
    rows = ",\n".join(f"{json.dumps(name)}:{compact(row)}" for name, row in sorted(facts.items()))
    known = ",\n".join(f"{json.dumps(name)}:{compact(config)}" for name, config in known_configs().items())
    return f'{{"version":{json.dumps(transformers.__version__)},\n"types":{{\n{rows}}},\n"known":{{\n{known}}}}}\n'


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def of_class(config: type[Any]) -> dict[str, Any]:
    import transformers

    general = {field.name for field in dataclasses.fields(transformers.PreTrainedConfig)}
    defaults = {"tie_word_embeddings": getattr(config, "tie_word_embeddings", None)}
    defaults |= {field.name: field.default for field in dataclasses.fields(config) if field.name not in general}
    real = config.attribute_map
    facts: dict[str, Any] = {"defaults": {real.get(name, name): value for name, value in defaults.items() if of_shape(name, value)}}
    if real:
        facts["aliases"] = real
    parts = {key: {"type": type_of(part), "absent": shapes_of(part.init_kwargs)} for key, part in config.sub_configs_defaults.items()}
    if parts:
        facts["parts"] = parts
    return facts


def type_of(part: Any) -> str:
    return str(part.model_type or part.config_class.model_type)


def shapes_of(values: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (values or {}).items() if of_shape(name, value)}


def of_shape(name: str, value: Any) -> bool:
    return isinstance(value, (bool, int, str)) and not any(part in name for part in WITHOUT_SHAPE)


def known_configs() -> dict[str, dict[str, Any]]:
    """Name -> the keys of its config.json that the columns of models.json do not hold."""
    with open(HAND_READ) as file:
        groups = yaml.safe_load(file)["models"]
    return {name: group["config"] for group in groups if "config" in group for name in group["names"]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
