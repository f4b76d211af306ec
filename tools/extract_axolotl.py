"""Make schemas/axolotl.json from Axolotl's own releases.

The pydantic models of each release (AxolotlInputConfig and what it holds) are imported from its unpacked source in a process of its own, together
with the arguments that its bundled plugins add. ``tools/axolotl_hand_read.yaml`` says what the models do not: validators that make a loose type
strict, older spellings, what became of removed keys. Each key ends with ``since``, ``removed`` and ``changes``.

The sources come from the package index: ``pip download --no-deps --ignore-requires-python axolotl==V``, unpacked. Only torch, transformers,
accelerate, pydantic and pillow must be importable; the releases need not be installed.

usage:  python tools/extract_axolotl.py --sources DIR [DIR ...]     write the schema from unpacked releases axolotl-V
        python tools/extract_axolotl.py --check                     compare the installed release with the schema
"""

from __future__ import annotations

import argparse
import ast
import enum
import importlib
import json
import os
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "axolotl.json"
HAND_READ = Path(__file__).with_name("axolotl_hand_read.yaml")
CONFIG = "axolotl.utils.schemas.config"
PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array", tuple: "array", dict: "object"}
DATASET_BLOCKS = {"SFTDataset": "dataset.sft", "DPODataset": "dataset.dpo", "KTODataset": "dataset.kto"}
# which model reads an entry of `datasets`, by `rl` (axolotl/utils/config/__init__.py: validate_config)
DATASET_BY_RL = {"dpo": "dataset.dpo", "ipo": "dataset.dpo", "simpo": "dataset.dpo", "kto": "dataset.kto"}


# --- one release, in a process of its own ---


def dump() -> dict[str, Any]:
    """The blocks of the importable release, by name."""
    module = importlib.import_module(CONFIG)
    blocks: dict[str, Any] = {}
    model = module.AxolotlInputConfig
    add_model(blocks, "config", model)
    add_datasets(blocks, importlib.import_module("axolotl.utils.schemas.datasets"))
    for plugin, arguments in plugins():
        place, _, name = arguments.rpartition(".")
        extra: dict[str, Any] = {}
        add_model(extra, "config", getattr(arguments_module(place), name))
        for key, facts in extra.pop("config")["keys"].items():
            if plugin not in builtin_plugins():
                facts.pop("default", None)
                facts.pop("required", None)
                facts["plugin"] = plugin
            blocks["config"]["keys"].setdefault(key, facts)
        blocks |= extra
    return blocks


def builtin_plugins() -> tuple[str, ...]:
    base = importlib.import_module("axolotl.integrations.base")
    return tuple(getattr(base, "BUILTIN_PLUGINS", ()))


def arguments_module(place: str) -> Any:
    """The module of a plugin's arguments, without running the plugin's own package, which may ask for packages that are not there."""
    base = Path(str(importlib.import_module("axolotl.integrations").__path__[0]))
    plugin = place.split(".")[2]
    if (package := f"axolotl.integrations.{plugin}") not in sys.modules:
        stub = types.ModuleType(package)
        stub.__path__ = [str(base / plugin)]
        sys.modules[package] = stub
    if place == package:
        place = f"{package}.args"
    return importlib.import_module(place)


def plugins() -> Iterator[tuple[str, str]]:
    """Bundled plugins and the model of the arguments that each adds, read from the source: importing them asks for packages."""
    folder = Path(str(importlib.import_module("axolotl.integrations").__path__[0]))
    for file in sorted([*folder.glob("*/__init__.py"), *folder.glob("*/plugin.py")]):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "get_input_args":
                    returned = [leaf.value for leaf in ast.walk(method) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]
                    place = next((text for text in returned if text.startswith("axolotl.") and " " not in text), None)
                    if place and place.rpartition(".")[0].replace(".", "/"):
                        yield f"axolotl.integrations.{file.parent.name}.{node.name}", place


def add_model(blocks: dict[str, Any], name: str, model: Any) -> None:
    keys: dict[str, Any] = {}
    blocks[name] = {"unknown": "refused" if model.model_config.get("extra") == "forbid" else "ignored", "keys": keys}
    for field, info in model.model_fields.items():
        facts = typed(info.annotation)
        key, aliases = named(field, info)
        child = f"{name}.{key}" if name != "config" else key
        for part in (facts, facts.get("items") or {}):
            if (models := part.pop("_models", None)) is not None:
                add_children(blocks, part, child, models)
        add_marks(facts, info)
        if info.is_required():
            facts["required"] = True
        if aliases:
            facts["aliases"] = aliases
        if isinstance(info.deprecated, str):
            facts["deprecated"] = {"replacement": None, "note": info.deprecated}
        owner = next((base for base in model.__mro__ if field in vars(base).get("__annotations__", {})), model)
        facts["source"] = f"{owner.__module__.replace('.', '/')}.py: {owner.__name__}.{field}"
        keys[key] = facts


def add_children(blocks: dict[str, Any], facts: dict[str, Any], child: str, models: list[Any]) -> None:
    """The block of a key that holds a model; datasets have blocks of their own."""
    names = [model.__name__ for model in models]
    if "SFTDataset" in names:
        facts["block"] = {"datasets": "dataset.sft", "pretraining_dataset": "dataset.pretraining"}.get(child, "dataset.any")
        if child == "datasets":
            del facts["block"]
            facts["by_type"] = {"key": "rl", "blocks": DATASET_BY_RL, "default": "dataset.sft"}
        return
    facts["block"] = child
    if child not in blocks:
        add_model(blocks, child, models[0])


def add_datasets(blocks: dict[str, Any], module: Any) -> None:
    """SFT, DPO and KTO entries as they are read; where any model may take an entry (test_datasets), only the names are known."""
    for model, name in DATASET_BLOCKS.items():
        add_model(blocks, name, getattr(module, model))
    if hasattr(module, "SyntheticDataset"):
        synthetic: dict[str, Any] = {}
        add_model(synthetic, "it", module.SyntheticDataset)
        for key, facts in synthetic["it"]["keys"].items():
            facts.pop("default", None)
            blocks["dataset.sft"]["keys"].setdefault(key, facts)
    both: dict[str, Any] = {}
    for model in ("SFTDataset", "PretrainingDataset"):
        part: dict[str, Any] = {}
        add_model(part, "it", getattr(module, model))
        for key, facts in part["it"]["keys"].items():
            both[key] = {"type": [], "source": facts["source"]}
    blocks["dataset.pretraining"] = {"unknown": "ignored", "keys": both}
    every: dict[str, Any] = {}
    for model in ("SFTDataset", "DPODataset", "KTODataset", "StepwiseSupervisedDataset", "SyntheticDataset"):
        if hasattr(module, model):
            part = {}
            add_model(part, "it", getattr(module, model))
            for key, facts in part["it"]["keys"].items():
                every.setdefault(key, {"type": [], "source": facts["source"]})
    blocks["dataset.any"] = {"unknown": "ignored", "keys": every}


def named(field: str, info: Any) -> tuple[str, list[str]]:
    """The key as documented, and its other spellings: models that are filled by name take both."""
    if info.alias and info.alias != field:
        return info.alias, [field]
    choices = [choice for choice in getattr(info.validation_alias, "choices", ()) if isinstance(choice, str) and choice != field]
    return field, choices


def typed(annotation: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": []}
    for part in members(annotation):
        add_type(facts, part)
    facts["type"] = list(dict.fromkeys(facts["type"]))
    if "any" in facts["type"]:
        facts = {"type": []}
    if "enum" in facts:
        if "boolean" in facts["type"]:
            facts["enum"] += [True, False]
        elif facts.pop("_free", False):
            del facts["enum"]
    facts.pop("_free", None)
    return facts


def members(annotation: Any) -> Iterator[Any]:
    """The members of a union, without their Annotated marks."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from members(part)
    elif origin is typing.Annotated:
        yield from members(typing.get_args(annotation)[0])
    else:
        yield annotation


def add_type(facts: dict[str, Any], part: Any) -> None:
    origin = typing.get_origin(part)
    if part is Any or isinstance(part, typing.ForwardRef):
        facts["type"].append("any")
    elif part in PLAIN or origin in PLAIN:
        kind = part if part in PLAIN else origin
        facts["type"].append(PLAIN[kind])
        if kind is str:
            facts["_free"] = True
        inner = typing.get_args(part)
        if origin is list and inner:
            facts["items"] = typed(inner[0])
    elif origin is typing.Literal:
        facts.setdefault("enum", []).extend(typing.get_args(part))
        facts["type"].append("string")
    elif isinstance(part, type) and issubclass(part, enum.Enum):
        values = [member.value for member in part]
        if all(isinstance(value, str) for value in values):
            facts.setdefault("enum", []).extend(values)
            facts["type"].append("string")
        else:
            facts["type"].append("string" if part.__name__ == "TorchAOQuantDType" else "any" if facts["type"] == [] else "integer")
    elif hasattr(part, "model_fields"):
        facts["type"].append("object")
        facts.setdefault("_models", []).append(part)
    else:
        raise TypeError(f"no rule for {part!r}")


def add_marks(facts: dict[str, Any], info: Any) -> None:
    default = info.default.value if isinstance(info.default, enum.Enum) else info.default
    if isinstance(default, (bool, int, float, str)):
        facts["default"] = default
    for mark in info.metadata:
        for short, name in (("ge", "minimum"), ("gt", "exclusive_minimum"), ("le", "maximum"), ("lt", "exclusive_maximum")):
            if getattr(mark, short, None) is not None:
                facts[name] = getattr(mark, short)


# --- merging the releases ---


def with_hand_read(blocks: dict[str, Any]) -> dict[str, Any]:
    """The models' blocks with the hand-read facts laid over them."""
    import yaml

    for name, block in yaml.safe_load(HAND_READ.read_text(encoding="utf-8")).items():
        target = blocks.setdefault(name, {"unknown": "ignored", "keys": {}})
        for key, facts in block["keys"].items():
            known = target["keys"].get(key, {"type": []})
            laid = known | facts
            if known.get("changes"):
                laid["changes"] = [
                    change
                    for change in ({k: v for k, v in change.items() if k not in facts} for change in known.get("changes", ()))
                    if set(change) != {"since"}
                ]
            target["keys"][key] = {fact: value for fact, value in laid.items() if value not in (None, [], {}) or fact == "type"}
    keys = blocks["fsdp_config"]["keys"]
    for key, facts in keys.items():
        if key != "fsdp_version":
            facts["aliases"] = [*facts.get("aliases", ()), f"fsdp_{key}"]
    return dict(sorted(blocks.items()))


def run_dump(source: Path | None) -> dict[str, Any]:
    """The models of a release: from its unpacked source, or (None) the installed one."""
    env = {**os.environ, "AXOLOTL_DO_NOT_TRACK": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    env.pop("PYTHONPATH", None)
    if source is not None:
        env["PYTHONPATH"] = str(source / "src" if (source / "src").is_dir() else source)
    done = subprocess.run([sys.executable, "-P", __file__, "--dump"], env=env, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        raise SystemExit(f"{source or 'installed'}: {done.stderr[-2000:]}")
    dumped: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return dumped


def extract(sources: list[Path]) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    from tools.extract_deepspeed import merge, version_key

    releases: dict[str, dict[str, Any]] = {}
    for source in sorted(sources, key=lambda path: version_key(path.name)):
        version = source.name.removeprefix("axolotl-")
        releases[version] = run_dump(source)
        print(f"{version}: {sum(len(block['keys']) for block in releases[version].values())} keys", file=sys.stderr)
    blocks = with_hand_read(merge(releases))
    return {"framework": "axolotl", "versions": list(releases), "root": "config", "autos": False, "blocks": blocks}


def check() -> list[str]:
    """Where the installed release and the schema at its version differ, in words; empty when they agree."""
    sys.path.insert(0, str(ROOT))
    from importlib.metadata import version as installed_version

    from dslint.schema.lookup import NAMES, Schema, VersionedSchema
    from tools.extract_deepspeed import merge

    version = installed_version("axolotl")
    schema = Schema.load("axolotl").at(version)
    blocks = with_hand_read(merge({version: run_dump(None)}))
    fresh = VersionedSchema("axolotl", version, "config", False, blocks)
    differences: list[str] = []
    for name in blocks:
        now, then = fresh.block(name), schema.block(name)
        differences += [f"{name}: {key} is not in the schema" for key in now.keys.keys() - then.keys.keys()]
        differences += [f"{name}: {key} is in the schema only" for key in then.keys.keys() - now.keys.keys()]
        differences += [
            f"{name}.{key}: {fact} is {ours!r}, the schema says {theirs!r}"
            for key in now.keys.keys() & then.keys.keys()
            for fact in NAMES - {"since", "removed"}
            if (ours := getattr(now.keys[key], fact)) != (theirs := getattr(then.keys[key], fact))
        ]
    return differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="+", type=Path, metavar="DIR", help="unpacked releases, named axolotl-V")
    parser.add_argument("--check", action="store_true", help="compare the installed release with the schema")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dump:
        print("\n" + json.dumps(dump()))
        return 0
    if options.check:
        differences = check()
        print("\n".join(differences) or "the installed release and the schema agree")
        return bool(differences)
    if not options.sources:
        parser.error("give --sources or --check")
    SCHEMA.write_text(json.dumps(extract(options.sources), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
