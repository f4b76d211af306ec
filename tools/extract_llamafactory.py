"""Make schemas/llamafactory.json: what each release of LLaMA-Factory takes in a config, and the values that it knows.

Everything is read from the source by AST: LLaMA-Factory's own dataclasses, and the TrainingArguments of the transformers releases that
it allows. What no annotation says (choices that nobody checks, types that are wider than written, renamed keys) is in
``tools/llamafactory_hand_read.yaml``, each fact with the place where it was read.

usage:  python tools/extract_llamafactory.py FOLDER            FOLDER holds llamafactory-VERSION/ and transformers-VERSION/ (unpacked wheels)
        python tools/extract_llamafactory.py FOLDER --check    compare instead of write; the releases that are there must say the same
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "llamafactory.json"
HAND_READ = Path(__file__).with_name("llamafactory_hand_read.yaml")
# block -> the dataclasses that its command parses the file into
COMMANDS = {
    "train": ("ModelArguments", "DataArguments", "FinetuningArguments", "GeneratingArguments", "TrainingArguments"),
    "infer": ("ModelArguments", "DataArguments", "FinetuningArguments", "GeneratingArguments"),
    "eval": ("ModelArguments", "DataArguments", "EvaluationArguments", "FinetuningArguments"),
}
HPARAMS = ("model_args", "data_args", "finetuning_args", "generating_args", "evaluation_args", "training_args")
PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null", "NoneType": "null", "Path": "string"}
CONTAINERS = {"list": "array", "List": "array", "dict": "object", "Dict": "object"}


class Field(NamedTuple):
    name: str
    annotation: ast.expr
    default: Any
    source: str


class Module:
    """The dataclasses and enums of some files, by name."""

    def __init__(self) -> None:
        self.classes: dict[str, tuple[ast.ClassDef, str]] = {}

    def read(self, file: Path, shown: str) -> Module:
        if file.exists():
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = (node, shown)
        return self

    def fields(self, name: str) -> dict[str, Field]:
        """The fields of a dataclass and of its bases that are given to its constructor."""
        if name not in self.classes:
            return {}
        node, shown = self.classes[name]
        found: dict[str, Field] = {}
        for base in reversed(node.bases):
            found |= self.fields({"BaseTrainingArguments": "Seq2SeqTrainingArguments"}.get(ast.unparse(base), ast.unparse(base)))
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                keywords = {k.arg: k.value for k in statement.value.keywords} if isinstance(statement.value, ast.Call) else {}
                if (init := keywords.get("init")) is not None and not ast.literal_eval(init):
                    found.pop(statement.target.id, None)
                    continue
                default = keywords.get("default") if isinstance(statement.value, ast.Call) else statement.value
                found[statement.target.id] = Field(statement.target.id, statement.annotation, default, f"{shown}: {name}")
        return found

    def members(self, name: str) -> list[Any]:
        """The values of an enum; empty for what is none."""
        if name not in self.classes or not any("Enum" in ast.unparse(base) for base in self.classes[name][0].bases):
            return []
        return [
            statement.value.value
            for statement in self.classes[name][0].body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        ]

    def facts(self, field: Field) -> dict[str, Any]:
        kinds: list[str] = []
        choices: list[Any] = []
        for part in _parts(field.annotation):
            text = ast.unparse(part)
            head = text.split("[")[0].rpartition(".")[2]
            if text in PLAIN:
                kinds.append(PLAIN[text])
            elif head in CONTAINERS:
                kinds.append(CONTAINERS[head])
            elif head == "Literal" and isinstance(part, ast.Subscript):
                values = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
                choices += [ast.literal_eval(value) for value in values]
                kinds.append("string")
            elif members := self.members(text):
                choices += members
                kinds.append("string")
        facts: dict[str, Any] = {"type": list(dict.fromkeys(kinds)), "coerce": "raw"}
        if "boolean" in kinds:
            facts["type"] = ["boolean", "null", *(kind for kind in facts["type"] if kind not in ("boolean", "null"))]
            facts["tolerant"] = True
        if choices and set(facts["type"]) <= {"string", "null"}:
            facts["enum"] = choices
        if (value := self.value(field.default)) is not None:
            facts["default"] = value
        return {**facts, "source": field.source}

    def value(self, node: Any) -> Any:
        """A default that is a plain value, a product of numbers or a member of an enum."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return -node.operand.value  # type: ignore[operator]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.value(node.left) * self.value(node.right)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.classes:
            for statement in self.classes[node.value.id][0].body:
                if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == node.attr:
                    return ast.literal_eval(statement.value)
        if isinstance(node, ast.Name) and node.id == "default_optim":
            return "adamw_torch"
        return None


def _parts(annotation: ast.expr) -> Iterator[ast.expr]:
    """The members of a union."""
    if isinstance(annotation, ast.BinOp):
        yield from _parts(annotation.left)
        yield from _parts(annotation.right)
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("Optional", "Union"):
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        for part in inner:
            yield from _parts(part)
        if ast.unparse(annotation.value) == "Optional":
            yield ast.Constant(None)
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from _parts(ast.parse(annotation.value, mode="eval").body)
    else:
        yield annotation


def transformers_module(folder: Path, version: str) -> Module:
    package = folder / f"transformers-{version}" / "transformers"
    module = Module()
    for name in ("trainer_utils", "debug_utils", "training_args", "training_args_seq2seq"):
        module.read(package / f"{name}.py", f"transformers/{name}.py")
    return module


def training_fields(folder: Path, version: str) -> dict[str, dict[str, Any]]:
    """What one transformers release takes in Seq2SeqTrainingArguments."""
    module = transformers_module(folder, version)
    fields = {name: module.facts(field) for name, field in module.fields("Seq2SeqTrainingArguments").items()}
    return {name: facts for name, facts in fields.items() if not name.startswith("_")}


def release(folder: Path, version: str, allowed: list[str]) -> dict[str, dict[str, Any]]:
    """Block -> key -> facts of one release of LLaMA-Factory; ``allowed``: the transformers releases that it may run with, the newest last."""
    package = folder / f"llamafactory-{version}" / "llamafactory"
    module = Module()
    for number in allowed:
        module.classes |= transformers_module(folder, number).classes
    module.read(package / "extras" / "constants.py", "").read(package / "model" / "model_utils" / "quantization.py", "")
    for name in HPARAMS:
        module.read(package / "hparams" / f"{name}.py", f"llamafactory/hparams/{name}.py")
    own_training = "TrainingArguments" in module.classes and module.classes["TrainingArguments"][1].startswith("llamafactory")
    training: dict[str, Any] = {}
    for number in allowed:
        newer = training_fields(folder, number)
        for key, facts in newer.items():  # a word that any allowed release knows is one
            known = training.get(key, {}).get("enum", []) if "enum" in facts else []
            facts |= {"enum": [*facts["enum"], *(word for word in known if word not in facts["enum"])]} if known else {}
        training |= newer
    if own_training:
        parents = [ast.unparse(base) for base in module.classes["TrainingArguments"][0].bases]
        for parent in reversed(parents[:-1]):
            training |= {name: module.facts(field) for name, field in module.fields(parent).items()}
        node = module.classes["TrainingArguments"][0]
        node.bases = []
        training |= {name: module.facts(field) for name, field in module.fields("TrainingArguments").items()}
    blocks: dict[str, dict[str, Any]] = {}
    for block, classes in COMMANDS.items():
        blocks[block] = {}
        for name in classes:
            fields = {key: module.facts(field) for key, field in module.fields(name).items()} if name != "TrainingArguments" else training
            blocks[block] |= fields
        if "template" in blocks[block]:
            blocks[block]["template"] |= {"enum": registered(package / "data" / "template.py"), "tolerant": True}
            blocks[block]["tool_format"] |= {"enum": tools(package / "data" / "tool_utils.py"), "tolerant": True}
    return blocks


def registered(file: Path) -> list[str]:
    """The names of the templates that the release registers."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("register_template", "_register_template"):
            found += [k.value.value for k in node.keywords if k.arg == "name" and isinstance(k.value, ast.Constant)]
    return sorted(found)


def tools(file: Path) -> list[str]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TOOLS" and isinstance(node.value, ast.Dict):
            return sorted(key.value for key in node.value.keys if isinstance(key, ast.Constant))
    return []


def merged(by_version: dict[str, dict[str, Any]], versions: list[str]) -> dict[str, Any]:
    """The keys of several releases as one table with since, removed and changes."""
    keys: dict[str, Any] = {}
    for name in sorted({name for found in by_version.values() for name in found}):
        having = [version for version in versions if name in by_version[version]]
        facts = dict(by_version[having[0]][name])
        current = dict(facts)
        changes = []
        for version in having[1:]:
            new = by_version[version][name]
            change = {key: new.get(key) for key in (*current, *new) if new.get(key) != current.get(key) and key != "source"}
            if change:
                changes.append({"since": version, **change})
                current |= change
        facts["source"] = by_version[having[-1]][name]["source"]
        if having[0] != versions[0]:
            facts["since"] = having[0]
        if having[-1] != versions[-1]:
            facts["removed"] = versions[versions.index(having[-1]) + 1]
        if changes:
            facts["changes"] = changes
        keys[name] = facts
    return keys


def by_hand(blocks: dict[str, dict[str, Any]], hand: dict[str, Any]) -> None:
    """Lay the facts that were read by hand over the extracted ones. Raises SystemExit on one that speaks of no key."""
    for name, facts in hand["keys"].items():
        targets = [block[name] for block in blocks.values() if name in block]
        if not targets:
            raise SystemExit(f"{HAND_READ.name}: no release has the key {name}")
        for target in targets:
            only = facts.get("block")
            if only is not None and target is not blocks[only].get(name):
                continue
            target |= {key: value for key, value in facts.items() if key not in ("block", "why")}
            target["changes"] = [
                rest for change in target.get("changes", ()) if len(rest := {k: v for k, v in change.items() if k not in facts}) > 1
            ]
            if not target["changes"]:
                del target["changes"]
    for name in hand["megatron"]:
        blocks["train"].setdefault(name, {"type": [], "coerce": "raw", "since": "0.9.4", "source": "mcore_adapter/training_args.py"})
    for name, facts in hand["before"].items():
        blocks["train"].setdefault(name, {"type": [], "coerce": "raw", "since": "0.1.0", "removed": "0.2.0"})
        blocks["train"][name] |= facts


def extract(folder: Path) -> dict[str, Any]:
    hand = yaml.safe_load(HAND_READ.read_text(encoding="utf-8"))
    versions = list(hand["transformers"])
    read = {version: release(folder, version, allowed) for version, allowed in hand["transformers"].items()}
    blocks = {name: merged({version: read[version][name] for version in versions}, versions) for name in COMMANDS}
    by_hand(blocks, hand)
    numbers = hand["training_arguments"]
    fields = {number: training_fields(folder, number) for number in numbers}
    varying = {name: facts for name, facts in merged(fields, numbers).items() if "since" in facts or "removed" in facts}
    table = {name: {key: facts[key] for key in ("since", "removed") if key in facts} for name, facts in varying.items()}
    for name, instead in hand["training_renamed"].items():
        table[name]["renamed_to"] = instead
    out = {name: {"unknown": "refused", "keys": keys} for name, keys in blocks.items()}
    out["training_arguments"] = {"unknown": "refused", "keys": table}
    return {"framework": "llamafactory", "versions": versions, "root": "train", "blocks": out}


def text_of(schema: dict[str, Any]) -> str:
    """One key a line, so that differences can be read."""
    lines = ["{"]
    for name in ("framework", "versions", "root"):
        lines.append(f" {json.dumps(name)}: {json.dumps(schema[name])},")
    lines.append(' "blocks": {')
    for number, (name, block) in enumerate(schema["blocks"].items()):
        lines.append(f'  {json.dumps(name)}: {{"unknown": {json.dumps(block["unknown"])}, "keys": {{')
        keys = [f"   {json.dumps(key)}: {json.dumps(facts, ensure_ascii=False)}" for key, facts in block["keys"].items()]
        lines.append(",\n".join(keys))
        lines.append("  }}" + ("," if number + 1 < len(schema["blocks"]) else ""))
    return "\n".join([*lines, " }", "}", ""])


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    text = text_of(extract(chosen.folder))
    if not chosen.check:
        SCHEMA.write_text(text, encoding="utf-8")
        return 0
    if text == SCHEMA.read_text(encoding="utf-8"):
        return 0
    print(f"{SCHEMA.name} is not what the releases in {chosen.folder} say")
    return 1


if __name__ == "__main__":
    sys.exit(main())
