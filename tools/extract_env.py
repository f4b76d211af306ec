"""Make schemas/torch.json: the variables of a launch that NCCL, torch, Accelerate, DeepSpeed and the Hugging Face libraries read.

Names come from the sources: NCCL's macros in its git history (a bare repository), and quoted names in the installed packages. What a value may
be is read by hand (``tools/env_hand_read.yaml``), but for NCCL_PARAM, whose values are whole numbers.

usage:  python tools/extract_env.py --nccl REPOSITORY     write the schema
        python tools/extract_env.py --check               are the names in the installed packages in the schema?
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "torch.json"
HAND_READ = Path(__file__).with_name("env_hand_read.yaml")
# the NCCL releases that torch 1.10 to 2.13 bring, and those between
NCCL = (
    "v2.8.4-1", "v2.10.3-1", "v2.12.12-1", "v2.14.3-1", "v2.16.2-1", "v2.18.5-1", "v2.19.3-1", "v2.20.5-1", "v2.21.5-1", "v2.22.3-1",
    "v2.23.4-1", "v2.25.1-1", "v2.26.2-1", "v2.27.5-1", "v2.28.9-1", "HEAD"
)  # fmt: skip
FAMILIES = r"NCCL|CUDA|TORCH|PYTORCH|TORCHELASTIC|TORCHINDUCTOR|TORCHDYNAMO|ACCELERATE|DS|DEEPSPEED|FSDP|PARALLELISM_CONFIG|HF|HUGGINGFACE|TRANSFORMERS|OMP|MASTER|GLOO"
NAME = re.compile(rf"""["']((?:{FAMILIES})_[A-Z0-9_]*[A-Z0-9])["']""")
NAME_IN_BINARY = re.compile(rb"\0((?:" + FAMILIES.encode() + rb")_[A-Z0-9_]*[A-Z0-9])\0")
PARAM = re.compile(r'NCCL_PARAM\(\s*\w+,\s*"([A-Z0-9_]+)"')
PARAM_2 = re.compile(r"DEFINE_NCCL_PARAM\(\s*\w+,\s*[\w *]+,\s*(NCCL_[A-Z0-9_]+)")
PACKAGES = ("torch", "accelerate", "deepspeed", "transformers", "huggingface_hub")


def nccl_names(repository: str) -> tuple[set[str], set[str]]:
    """Every name that NCCL read in one of the releases, and of those the whole numbers."""
    names: set[str] = set()
    numbers: set[str] = set()
    for tag in NCCL:
        command = ["git", "-C", repository, "grep", "-h", "-E", "NCCL_PARAM|[gG]et[eE]nv|DEFINE_NCCL_PARAM|NCCL_[A-Z]", tag, "--", "src"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        params = {f"NCCL_{name}" for name in PARAM.findall(text)}
        numbers |= params
        names |= params | set(PARAM_2.findall(text)) | set(re.findall(r'[gG]et[eE]nv\("(NCCL_[A-Z0-9_]+)"\)', text))
    return names, numbers


def installed_names(packages: tuple[str, ...]) -> dict[str, str]:
    """Names of these families that are quoted in an installed package, with the package."""
    found: dict[str, str] = {}
    for package in packages:
        for name in _names_in(package):
            found.setdefault(name, package)
    return found


def _names_in(package: str) -> Iterator[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return
    folder = Path(spec.submodule_search_locations[0])
    for file in (*folder.rglob("*.py"), *folder.rglob("*.h"), *folder.rglob("*.hpp")):
        if "test" not in file.parts[-2]:
            yield from NAME.findall(file.read_text(encoding="utf-8", errors="replace"))
    for library in folder.glob("lib/libtorch_cpu.so"):
        yield from (name.decode() for name in NAME_IN_BINARY.findall(library.read_bytes()))


def write(repository: str) -> None:
    import yaml

    read = yaml.safe_load(HAND_READ.read_text(encoding="utf-8"))
    names, numbers = nccl_names(repository)
    keys: dict[str, Any] = {name: {} for name in (*names, *installed_names(PACKAGES), *read["names"])}
    for name in read["gone"]:
        keys.pop(name, None)
    for name in numbers:
        keys[name] = {"type": "integer", "coerce": "strtoll"}
    for group in read["values"]:
        for name in group["names"]:
            keys[name] = {key: value for key, value in group.items() if key != "names"}
    root = {"unknown": "ignored", "keys": {"env": {"type": ["object"], "block": "env"}}}
    env = {"unknown": "open", "keys": dict(sorted(keys.items()))}
    version = importlib.metadata.version("torch").partition("+")[0]
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(facts, separators=(',', ':'))}" for name, facts in env["keys"].items())
    head = json.dumps({"framework": "torch", "versions": [version], "root": "launch"})[:-1]
    SCHEMA.write_text(
        f'{head},"blocks":{{\n"launch":{json.dumps(root)},\n"env":{{"unknown":"open","keys":{{\n{lines}\n}}}}}}}}\n', encoding="utf-8"
    )


def check() -> int:
    known = json.loads(SCHEMA.read_text(encoding="utf-8"))["blocks"]["env"]["keys"]
    missing = {name: package for name, package in installed_names(("accelerate", "huggingface_hub")).items() if name not in known}
    for name, package in missing.items():
        print(f"{name} of {package} is not in the schema")
    return 1 if missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nccl")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    write(arguments.nccl)
    return 0


if __name__ == "__main__":
    sys.exit(main())
