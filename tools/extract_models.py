"""Make schemas/models.json: what transformers builds for each model type, and the shapes of well-known models.

Each model class is built from its own default config on torch's meta device, where no weight has a value, and asked for its modules. What a
release reads of a type stands in the file; names that only an older release has go into ``also``. The well-known models
come from ``tools/models_hand_read.yaml`` (facts of their public config.json).

Where timm and pillow are installed too, a few more vision models can be built.

usage:  python tools/extract_models.py --read RELEASE.json             what the importable transformers says
        python tools/extract_models.py --merge OLD.json … NEW.json     write the schema from such readings, the newest last
        python tools/extract_models.py --check [--types llama,qwen2]   compare the importable transformers with the schema
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "models.json"
HAND_READ = Path(__file__).with_name("models_hand_read.yaml")
# the heads under which a type may be trained; those that can be built from the default config count
HEADS = ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SEQ_TO_SEQ_CAUSAL_LM", "MULTIMODAL_LM", "MASKED_LM")
# what a default config leaves open and its model class does not accept as open
OPEN: dict[str, dict[str, Any]] = {
    "dots1": {"moe_intermediate_size": 1408, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
    "esm": {"vocab_size": 33},
    "chameleon": {"vocabulary_map": {"<image>": 8711}},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
}
# fact -> the usual name of the config key; a type's attribute_map says when it writes another
KEYS = {
    "layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "vocabulary": "vocab_size",
    "max_positions": "max_position_embeddings",
}
NAME_LISTS = ("layer_classes", "linear_names", "embedding_names", "expert_parameters", "module_classes")


def model_classes() -> dict[str, list[str]]:
    from transformers.models.auto import modeling_auto

    found: dict[str, list[str]] = {}
    for head in HEADS:
        for kind, names in getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES", {}).items():
            found.setdefault(kind, []).extend([names] if isinstance(names, str) else names)
    return found


def read(wanted: list[str] | None = None) -> dict[str, Any]:
    """The facts of each type that the importable transformers can build, by name; the others are named on stderr."""
    os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1")
    warnings.simplefilter("ignore")
    import transformers

    facts: dict[str, Any] = {}
    for kind, names in sorted(model_classes().items()):
        if wanted and kind not in wanted:
            continue
        failures = []
        for name in dict.fromkeys(names):
            try:
                add(facts, kind, read_type(kind, name))
            except Exception as error:  # a default config that its own class cannot be built from: there are a dozen in each release
                failures.append(f"{name}: {type(error).__name__}: {str(error).strip()[:100]!r}")
        if kind not in facts:
            print(f"not read: {kind}: {'; '.join(failures)}", file=sys.stderr)
    return {"version": transformers.__version__, "types": facts}


def add(facts: dict[str, Any], kind: str, reading: dict[str, Any]) -> None:
    """Put what a further head of a type shows beside what is known: only names."""
    known = facts.setdefault(kind, reading)
    for name in (*NAME_LISTS, "no_split"):
        if more := [item for item in reading.get(name, ()) if item not in known.get(name, ())]:
            known[name] = [*known.get(name, ()), *more] if name == "layer_classes" else sorted([*known.get(name, ()), *more])


def read_type(kind: str, class_name: str) -> dict[str, Any]:
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config_class = CONFIG_MAPPING[kind]
    config = config_class(**OPEN.get(kind, {}))
    with torch.device("meta"):
        model = getattr(transformers, class_name)(config)
    reading = {**modules(model), **keys(config)}
    reading["moe"] = True if reading["expert_parameters"] or re.search(r"Moe|MoE|Expert", " ".join(reading["module_classes"])) else None
    return {name: value for name, value in reading.items() if value not in ([], {}, None)}


def modules(model: Any) -> dict[str, Any]:
    """The names that a LoRA, a wrap policy or a leaf module can mean."""
    from torch import nn

    linear: set[str] = set()
    embedding: set[str] = set()
    for path, module in model.named_modules():
        last = path.rpartition(".")[2]
        if not last.isdigit():
            if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D":
                linear.add(last)
            elif isinstance(module, nn.Embedding):
                embedding.add(last)
    experts = {name.rpartition(".")[2] for name, weight in model.named_parameters() if "expert" in name and weight.dim() == 3}
    return {
        "layer_classes": layer_classes(model),
        "no_split": sorted(set(getattr(model, "_no_split_modules", None) or ())),
        "linear_names": sorted(linear),
        "embedding_names": sorted(embedding),
        "expert_parameters": sorted(experts),
        "module_classes": sorted({type(module).__name__ for module in model.modules() if not type(module).__module__.startswith("torch.")}),
    }


def layer_classes(model: Any) -> list[str]:
    """The classes in the outermost lists of blocks, those with the most parameters first."""
    from torch import nn

    sizes: dict[str, int] = {}
    lists: list[str] = []
    for path, module in model.named_modules():
        if not isinstance(module, nn.ModuleList) or any(path.startswith(f"{outer}.") for outer in lists):
            continue
        blocks = [child for child in module if any(True for _ in child.children())]
        if not blocks:
            continue
        lists.append(path)
        for child in blocks:
            name = type(child).__name__
            sizes[name] = sizes.get(name, 0) + sum(weight.numel() for weight in child.parameters())
    return sorted((name for name in sizes if name != "ModuleList"), key=lambda name: -sizes[name])


def keys(config: Any) -> dict[str, Any]:
    """Where the config writes its shape, and what holds where it does not."""
    from transformers import AutoConfig

    open_parts = [key for key, part in getattr(config, "sub_configs", {}).items() if part is AutoConfig]
    text = config.get_text_config()
    written = text.to_dict()
    names = {fact: text.attribute_map.get(usual, usual) for fact, usual in KEYS.items()}
    kv = names["kv_heads"]
    return {
        "keys": {fact: name if name in written else None for fact, name in names.items() if name != KEYS[fact] or name not in written},
        "open": {key: part.model_type for key in open_parts if (part := getattr(config, key, None)) is not None},
        "text": next((key for key, value in vars(config).items() if value is text), None),
        "kv_as_heads": True if kv in written and default_of(type(text), kv) is None else None,
        "tied": bool(getattr(config, "tie_word_embeddings", False)) if text is config else None,
        "max_positions": value if isinstance(value := written.get(names["max_positions"]), int) and text is config else None,
    }


def default_of(config_class: Any, key: str) -> Any:
    if dataclasses.is_dataclass(config_class):
        return next((field.default for field in dataclasses.fields(config_class) if field.name == key), 0)
    parameter = inspect.signature(config_class.__init__).parameters.get(key)
    return 0 if parameter is None else parameter.default


def merge(readings: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest reading of each type, with names that only older ones have in ``also``. Where they differ on ties, nothing is known."""
    types: dict[str, Any] = {}
    for reading in readings:
        for kind, facts in reading["types"].items():
            before = types.get(kind)
            types[kind] = dict(facts)
            if before is None:
                continue
            also = {
                name: sorted(extra)
                for name in NAME_LISTS
                if (extra := {*before.get(name, ()), *before.get("also", {}).get(name, ())} - set(facts.get(name, ())))
            }
            if before.get("tied") != facts.get("tied"):
                also["tied"] = None
            if also:
                types[kind]["also"] = also
    return {"versions": [reading["version"] for reading in readings], "types": dict(sorted(types.items()))}


def hand_read() -> dict[str, Any]:
    """The well-known models by name, each as a row of columns."""
    import yaml

    raw = yaml.safe_load(HAND_READ.read_text(encoding="utf-8"))
    columns = [*raw["columns"], "quantization"]
    models = {name: [*group["shape"], group.get("quantization")] for group in raw["models"] for name in group["names"]}
    return {"mirrors": raw["mirrors"], "columns": columns, "models": models}


def dump(schema: dict[str, Any]) -> str:
    """One type and one model a line."""

    def plain(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def lines(name: str) -> str:
        return f'"{name}":{{\n' + ",\n".join(f"{plain(key)}:{plain(value)}" for key, value in schema[name].items()) + "\n}"

    short = ",\n".join(f'"{name}":{plain(schema[name])}' for name in ("versions", "mirrors", "columns"))
    return f"{{{short},\n{lines('types')},\n{lines('models')}}}\n"


def check(wanted: list[str] | None) -> int:
    """How the importable transformers differs from the schema, told line by line."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    reading = read(wanted)
    newest = reading["version"] == schema["versions"][-1]
    differences = 0
    for kind, facts in reading["types"].items():
        stored = schema["types"].get(kind)
        if stored is None:
            differences += 1
            print(f"{kind}: not in the schema")
            continue
        for name in NAME_LISTS:
            there = {*stored.get(name, ()), *stored.get("also", {}).get(name, ())}
            if missing := sorted(set(facts.get(name, ())) - there):
                differences += 1
                print(f"{kind}: {name} lacks {', '.join(missing)}")
        if newest and (plain := {name: value for name, value in stored.items() if name != "also"}) != facts:
            differences += 1
            print(f"{kind}: {plain} is now {facts}")
    print(f"transformers {reading['version']}: {len(reading['types'])} types, {differences} differences")
    return 1 if differences else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--read", type=Path)
    parser.add_argument("--merge", type=Path, nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--types", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.types)
    if arguments.read:
        arguments.read.write_text(json.dumps(read(arguments.types)), encoding="utf-8")
        return 0
    readings = [json.loads(file.read_text(encoding="utf-8")) for file in arguments.merge]
    SCHEMA.write_text(dump({**merge(readings), **hand_read()}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
