"""Make schemas/transformers.json: the arguments that files for the Trainer and for TRL's trainers can hold, and the Trainer's fsdp_config.

TrainingArguments is read from every transformers release between which a key comes or goes, TRL's configs from the releases that are there;
both by AST. A file does not say which of TRL's classes reads it, so the keys of all stand in one block, and a key of TRL has no release of
transformers. What no annotation says is in ``tools/trainer_hand_read.yaml``.

usage:  python -m tools.extract_trainer FOLDER [--check]       FOLDER holds transformers-VERSION/ and trl-VERSION/ (unpacked wheels)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from tools.extract_llamafactory import HAND_READ as TRAINING_ARGUMENTS
from tools.extract_llamafactory import Module, merged, text_of, training_fields

ROOT = Path(__file__).resolve().parent.parent
HAND_READ = Path(__file__).with_name("trainer_hand_read.yaml")
SCHEMA = ROOT / "schemas" / "transformers.json"


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def trl_fields(folder: Path, endings: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Every key of a TRL release's configs, script arguments and model config."""
    module = Module()
    for file in sorted((folder / "trl").rglob("*.py")):
        if file.name.endswith(("_config.py", "utils.py", "config.py")):
            module.read(file, f"trl/{file.relative_to(folder / 'trl')}")
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(module.classes):
        if name.endswith(endings):
            for key, field in module.fields(name).items():
                facts = module.facts(field)
                known = found.get(key)
                if known is None:
                    found[key] = facts
                elif (
                    known["type"] != facts["type"] or known.get("enum") != facts.get("enum") or known.get("default") != facts.get("default")
                ):
                    found[key] = either(known, facts)
    return found


def either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What holds of a key whichever of two classes reads it."""
    joined = {"type": list(dict.fromkeys((*one["type"], *other["type"]))), "coerce": "raw", "source": one["source"]}
    if not one["type"] or not other["type"]:
        joined["type"] = []
    if one.get("enum") and other.get("enum"):
        joined["enum"] = list(dict.fromkeys((*one["enum"], *other["enum"])))
    if one.get("tolerant") or other.get("tolerant"):
        joined["tolerant"] = True
    return joined


def arguments(folder: Path, hand: dict[str, Any]) -> dict[str, Any]:
    training = yaml.safe_load(TRAINING_ARGUMENTS.read_text(encoding="utf-8"))
    versions = [version for version in training["training_arguments"] if (folder / f"transformers-{version}").exists()]
    keys = merged({version: training_fields(folder, version) for version in versions}, versions)
    for name, instead in training["training_renamed"].items():
        keys[name] |= {"renamed_to": instead, "removed_effect": "refused"}
    releases = sorted((path for path in folder.glob("trl-*") if path.is_dir()), key=lambda path: numbers(path.name.removeprefix("trl-")))
    of_trl: dict[str, dict[str, Any]] = {}
    for release in releases:
        of_trl |= trl_fields(release, tuple(hand["trl_classes"]))
    for name, facts in of_trl.items():
        if name not in keys:
            keys[name] = {key: value for key, value in facts.items() if key != "default"}
        elif set(facts["type"]) - set(keys[name]["type"]) and keys[name]["type"]:
            keys[name]["type"] = list(dict.fromkeys((*keys[name]["type"], *facts["type"])))
    for name in ("removed", "since"):  # a key that TRL has by itself does not go when transformers drops it
        for key in of_trl:
            if of_trl[key]["source"].startswith("trl/"):
                keys[key].pop(name, None)
    for name in hand["scripts"]:
        keys.setdefault(name, {"type": [], "coerce": "raw", "source": "a training script"})
    for name, facts in hand["keys"].items():
        keys.setdefault(name, {"coerce": "raw"})
        keys[name] |= {key: value for key, value in facts.items() if key != "why"}
        keys[name]["changes"] = [change for change in keys[name].get("changes", ()) if not (change.keys() & facts.keys())]
        if not keys[name]["changes"]:
            del keys[name]["changes"]
    blocks = {"arguments": {"unknown": "scripted", "keys": keys}, "fsdp_config": {"unknown": "ignored", "keys": fsdp(hand)}}
    return {"framework": "transformers", "versions": versions, "root": "arguments", "blocks": blocks}


def fsdp(hand: dict[str, Any]) -> dict[str, Any]:
    keys = {}
    for name, facts in hand["fsdp"].items():
        key = {key: str(value) if key == "since" else value for key, value in facts.items() if key != "text"}
        key |= {"coerce": "text" if facts.get("text") else "raw", "aliases": [f"fsdp_{name}"]}
        keys[name] = key | {"source": "transformers/training_args.py: TrainingArguments._process_fsdp_args"}
    return keys


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    hand = yaml.safe_load(HAND_READ.read_text(encoding="utf-8"))
    text = text_of(arguments(chosen.folder, hand))
    if not chosen.check:
        SCHEMA.write_text(text, encoding="utf-8")
        return 0
    if text == SCHEMA.read_text(encoding="utf-8"):
        return 0
    print(f"{SCHEMA.name} is not what the releases in {chosen.folder} say")
    return 1


if __name__ == "__main__":
    sys.exit(main())
