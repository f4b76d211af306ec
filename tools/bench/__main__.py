"""How much processor time dslint takes beside check-jsonschema (one file) and yamllint (many), in one run on one machine.

usage: python -m tools.bench [--files DIR] [--repeat N] [--output FILE]

Whole processes, user and system time, the least of N runs, the tools taking turns so that what else the machine does meets all
of them. DIR holds the JSON files to read; without it, copies of the repository's own examples.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
MANY = 300
ONE_LIMIT, MANY_LIMIT = 0.40, 0.25
# what check-jsonschema must do at least: read its schema and the file
SCHEMA = '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}'

# compiled modules are kept between runs, as they are for every user
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: Sequence[str], folder: Path) -> float:
    """User and system time of one run of a command; it may find errors, but it must not fail otherwise."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed with {done.returncode}: {done.stderr.decode()[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(commands: Mapping[str, Sequence[str]], folder: Path, repeat: int) -> dict[str, float]:
    """The least time of each command, in turns."""
    found = dict.fromkeys(commands, float("inf"))
    for _ in range(repeat):
        for name, command in commands.items():
            found[name] = min(found[name], seconds(command, folder))
    return found


def gather(source: Path | None, folder: Path) -> tuple[int, int]:
    """Put MANY JSON files into the folder, repeating those there are; their number and bytes."""
    files = sorted((source or ROOT / "examples").rglob("*.json"))
    if not files:
        raise SystemExit(f"{source}: holds no JSON file")
    for number in range(MANY):
        shutil.copyfile(files[number % len(files)], folder / f"ds_{number:03}.json")
    return min(len(files), MANY), sum(file.stat().st_size for file in folder.iterdir())


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", type=Path)
    arguments.add_argument("--repeat", type=int, default=10)
    arguments.add_argument("--output", type=Path, default=ROOT / "docs" / "measurements" / "speed.md")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        folder.mkdir()
        different, size = gather(options.files, folder)
        (Path(place) / "schema.json").write_text(SCHEMA)
        first = "ds_000.json"
        one = least(
            {
                "dslint": [str(TOOLS / "dslint"), "check", first],
                "check-jsonschema": [str(TOOLS / "check-jsonschema"), "--schemafile", "../schema.json", first],
                "python": [sys.executable, "-c", "pass"],
            },
            folder,
            options.repeat,
        )
        every = sorted(file.name for file in folder.iterdir())
        many = least(
            {
                "dslint": [str(TOOLS / "dslint"), "check", *every],
                "yamllint": [str(TOOLS / "yamllint"), "--format", "parsable", *every],
                "check-jsonschema": [str(TOOLS / "check-jsonschema"), "--schemafile", "../schema.json", *every],
            },
            folder,
            max(1, options.repeat // 2),
        )
    ratios = (one["dslint"] / one["check-jsonschema"], many["dslint"] / many["yamllint"])
    text = report(one, many, ratios, different, size, options.repeat)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    print(text)
    return int(ratios[0] > ONE_LIMIT or ratios[1] > MANY_LIMIT)


def report(one: Mapping[str, float], many: Mapping[str, float], ratios: tuple[float, float], different: int, size: int, repeat: int) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("dslint-train", "check-jsonschema", "yamllint", "click", "PyYAML"))
    milliseconds = "".join(f"| one file | {name} | {value * 1000:.0f} |\n" for name, value in one.items())
    milliseconds += "".join(f"| {MANY} files | {name} | {value * 1000:.0f} |\n" for name, value in many.items())
    return f"""# Speed

Processor time (user and system) of whole processes, the least of {repeat} runs (of {max(1, repeat // 2)} for {MANY} files), the tools taking turns.
Made by `python -m tools.bench`; absolute times differ between machines and loads, the ratios are what is held.

| input | tool | ms |
|---|---|---|
{milliseconds}
| ratio | measured | limit |
|---|---|---|
| one file: dslint / check-jsonschema | {ratios[0]:.2f} | {ONE_LIMIT:.2f} |
| {MANY} files: dslint / yamllint | {ratios[1]:.2f} | {MANY_LIMIT:.2f} |

{MANY} JSON files, {different} of them different, {size / 1024:.0f} KiB. check-jsonschema has a schema that accepts every object.

Machine: {processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}.
Versions: {versions}.
"""


if __name__ == "__main__":
    sys.exit(main())
