"""Make schemas/accelerate.json from the sources of Accelerate's releases.

usage: python tools/extract_accelerate.py --sources DIR/accelerate-*/ [--write]
       python tools/extract_accelerate.py --check      the installed release against the schema

The keys come from the dataclasses of the config file and from the launcher's arguments, both read as syntax trees; what becomes of
their values is read by hand (accelerate_hand_read.yaml).
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "schemas" / "accelerate.json"
HAND_READ = Path(__file__).with_name("accelerate_hand_read.yaml")
# block -> how the launcher's arguments for it begin; those of deepspeed_config have no common start
PREFIXES = {
    "fsdp_config": "fsdp_",
    "parallelism_config": "parallelism_config_",
    "fp8_config": "fp8_",
    "dynamo_config": "dynamo_",
    "megatron_lm_config": "megatron_lm_",
    "mpirun_config": "mpirun_",
}
DEEPSPEED_ARGUMENTS = ("deepspeed_", "zero_", "offload_", "gradient_", "zero3_")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def fields_of(tree: ast.Module, name: str) -> list[str]:
    """The fields of a dataclass and of those it derives from."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    own = [
        statement.target.id
        for statement in classes[name].body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    inherited = [
        field for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes for field in fields_of(tree, base.id)
    ]
    return [*inherited, *own]


def arguments_of(tree: ast.Module) -> list[str]:
    """The long options of the launcher."""
    return [
        argument.value.removeprefix("--")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value.startswith("--")
    ]


def members_of(tree: ast.Module, name: str) -> list[str]:
    """The values of an enumeration of texts; those named by a base class's method are their own names."""
    (node,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [
        statement.value.value for statement in node.body if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
    ]


def read_release(package: Path) -> dict[str, Any]:
    """The keys of each block, and the choices that enumerations give, in one release."""
    config = ast.parse((package / "commands/config/config_args.py").read_text())
    launcher = arguments_of(ast.parse((package / "commands/launch.py").read_text()))
    enums = ast.parse((package / "utils/dataclasses.py").read_text())
    blocks = {"config": fields_of(config, "ClusterConfig"), "sagemaker": fields_of(config, "SageMakerConfig")}
    blocks["deepspeed_config"] = [name for name in launcher if name.startswith(DEEPSPEED_ARGUMENTS)]
    for block, prefix in PREFIXES.items():
        if block in ("dynamo_config", "mpirun_config") or block in blocks["config"]:
            blocks[block] = [name for name in launcher if name.startswith(prefix)]
    return {
        "blocks": blocks,
        "choices": {
            ("config", "distributed_type"): members_of(enums, "DistributedType"),
            ("dynamo_config", "dynamo_backend"): members_of(enums, "DynamoBackend"),
        },
    }


def build(releases: dict[str, dict[str, Any]], hand_read: dict[str, Any]) -> dict[str, Any]:
    versions = sorted(releases, key=numbers)
    blocks: dict[str, Any] = {}
    for block, facts in hand_read.items():
        keys: dict[str, Any] = {}
        for name in dict.fromkeys(name for version in versions for name in releases[version]["blocks"].get(block, ())):
            keys[name] = key_of(block, name, facts, releases, versions)
        for name, also in (facts.get("also") or {}).items():
            keys[name] = finished({"source": facts["source"], **also}, name, facts)
        blocks[block] = {"unknown": facts["unknown"], "keys": keys}
    return {"framework": "accelerate", "versions": versions, "root": "config", "blocks": blocks}


def key_of(block: str, name: str, facts: dict[str, Any], releases: dict[str, Any], versions: list[str]) -> dict[str, Any]:
    """The facts of one key, with the releases that have it and the choices that each release gives."""
    having = [version for version in versions if name in releases[version]["blocks"].get(block, ())]
    key = {"source": facts["source"], **(facts.get("keys", {}).get(name) or {})}
    if having[0] != versions[0]:
        key["since"] = having[0]
    if having[-1] != versions[-1]:
        key["removed"] = versions[versions.index(having[-1]) + 1]
    changes: list[dict[str, Any]] = []
    more = key.pop("also_enum", [])
    for version in having:
        choices = [*releases[version]["choices"].get((block, name), ()), *more]
        if choices and choices != (changes[-1]["enum"] if changes else None):
            changes.append({"since": version, "enum": choices})
    if changes:
        key["enum"] = changes[0]["enum"]
        if changes[1:]:
            key["changes"] = changes[1:]
    return finished(key, name, facts)


def finished(key: dict[str, Any], name: str, facts: dict[str, Any]) -> dict[str, Any]:
    key["coerce"] = "text" if key.pop("text", False) else "raw"
    if (prefix := facts.get("aliased")) and name.startswith(prefix):
        key["aliases"] = [name.removeprefix(prefix)]
    return {fact: str(value) if fact in ("since", "removed") else value for fact, value in key.items()}


def check() -> list[str]:
    """What differs between the installed release and what the schema says of it."""
    spec = find_spec("accelerate")
    assert spec is not None
    assert spec.origin is not None
    version = installed_version("accelerate")
    schema = json.loads(SCHEMA.read_text())
    if version not in schema["versions"]:
        return []
    fresh = read_release(Path(spec.origin).parent)
    differences = []
    for block, keys in fresh["blocks"].items():
        known = schema["blocks"][block]["keys"]
        also = yaml.safe_load(HAND_READ.read_text())[block].get("also") or {}
        live = {name for name, key in known.items() if name not in also and not _out(key, version)}
        differences += [f"{block}: {name}" for name in sorted(live ^ set(keys))]
    return differences


def _out(key: dict[str, Any], version: str) -> bool:
    since, removed = key.get("since"), key.get("removed")
    return bool((since and numbers(version) < numbers(since)) or (removed and numbers(version) >= numbers(removed)))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sources", nargs="+", type=Path)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    if options.check:
        differences = check()
        print("\n".join(differences) or "no difference")
        return bool(differences)
    releases = {source.name.rpartition("-")[2]: read_release(source / "accelerate") for source in options.sources}
    text = json.dumps(build(releases, yaml.safe_load(HAND_READ.read_text())), indent=1) + "\n"
    if options.write:
        SCHEMA.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
