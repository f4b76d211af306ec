"""How much processor time dslint takes beside check-jsonschema (one file) and yamllint (many), in one run on one machine.

usage: python -m tools.bench [--files DIR] [--yaml DIR ...] [--repeat N] [--output FILE]

Whole processes, user and system time, the least of N runs, the tools taking turns so that what else the machine does meets all
of them. DIR holds the JSON (YAML) files to read, of several folders in turn; without it, copies of the repository's own examples.
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
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
MANY = 300
ONE_LIMIT, MANY_LIMIT, MIXED_LIMIT = 0.40, 0.25, 0.30
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


def gather(sources: Sequence[Path], folder: Path, suffixes: Sequence[str]) -> tuple[int, int]:
    """Put MANY files of these kinds into the folder, one of each source in turn, repeating those there are; their number and bytes."""
    folder.mkdir()
    found = [sorted(file for file in source.rglob("*") if file.suffix in suffixes) for source in sources]
    turns = [file for turn in zip_longest(*found) for file in turn if file is not None]
    if not turns:
        raise SystemExit(f"{', '.join(map(str, sources))}: no file that ends in {' or '.join(suffixes)}")
    for number in range(MANY):
        shutil.copyfile(turns[number % len(turns)], folder / f"ds_{number:03}{suffixes[0]}")
    return min(len(turns), MANY), sum(file.stat().st_size for file in folder.iterdir())


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", type=Path, default=ROOT / "examples")
    arguments.add_argument("--yaml", type=Path, nargs="+", default=[ROOT / "examples"])
    arguments.add_argument("--repeat", type=int, default=10)
    arguments.add_argument("--output", type=Path, default=ROOT / "docs" / "measurements" / "speed.md")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, mixed_folder = Path(place) / "files", Path(place) / "mixed"
        different, size = gather([options.files], folder, [".json"])
        kinds, weight = gather(options.yaml, mixed_folder, [".yaml", ".yml"])
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
        every = sorted(file.name for file in mixed_folder.iterdir())
        mixed = least(
            {
                "dslint": [str(TOOLS / "dslint"), "check", *every],
                "yamllint": [str(TOOLS / "yamllint"), "--format", "parsable", *every],
            },
            mixed_folder,
            max(1, options.repeat // 2),
        )
    times = {"one file": one, f"{MANY} JSON files": many, f"{MANY} YAML files": mixed}
    ratios = (
        ("one file: dslint / check-jsonschema", one["dslint"] / one["check-jsonschema"], ONE_LIMIT),
        (f"{MANY} JSON files: dslint / yamllint", many["dslint"] / many["yamllint"], MANY_LIMIT),
        (f"{MANY} YAML files: dslint / yamllint", mixed["dslint"] / mixed["yamllint"], MIXED_LIMIT),
    )
    held = f"{MANY} JSON files, {different} of them different, {size / 1024:.0f} KiB; {MANY} YAML files, {kinds} different, {weight / 1024:.0f} KiB"
    text = report(times, ratios, held, options.repeat)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    print(text)
    return int(any(ratio > limit for _, ratio, limit in ratios))


def report(times: Mapping[str, Mapping[str, float]], ratios: Sequence[tuple[str, float, float]], held: str, repeat: int) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("dslint-train", "check-jsonschema", "yamllint", "click", "PyYAML"))
    milliseconds = "".join(f"| {what} | {name} | {value * 1000:.0f} |\n" for what, tools in times.items() for name, value in tools.items())
    measured = "".join(f"| {what} | {ratio:.2f} | {limit:.2f} |\n" for what, ratio, limit in ratios)
    return f"""# Speed

Processor time (user and system) of whole processes, the least of {repeat} runs (of {max(1, repeat // 2)} for {MANY} files), the tools taking turns.
Made by `python -m tools.bench`; absolute times differ between machines and loads, the ratios are what is held.

| input | tool | ms |
|---|---|---|
{milliseconds}
| ratio | measured | limit |
|---|---|---|
{measured}
{held}. check-jsonschema has a schema that accepts every object.

Machine: {processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}.
Versions: {versions}.
"""


if __name__ == "__main__":
    sys.exit(main())
