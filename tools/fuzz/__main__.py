"""Random files, repairs and rules, to find a crash or a broken promise of dslint.

usage: python -m tools.fuzz [--files DIR] [--seconds N] [--seed N] {documents,repairs,rules,kill}...

documents: bytes of real files changed at random, checked.
repairs: the same with --unsafe-fixes; the repaired text must parse, stay as it is when repaired again, and hold no new error.
rules: fields of real rules changed at random, loaded as a stranger's, and run.
kill: dslint check --fix on copies, killed at a random moment; each file must be the old or the new one, whole.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from dslint.document import Document, load
from dslint.engine.diagnostics import Diagnostic
from dslint.engine.fixes import fix
from dslint.engine.parse_rules import RuleError
from dslint.engine.project import Project
from dslint.engine.registry import load_user_rules
from dslint.engine.run import check

ROOT = Path(__file__).parents[2]
STARTS = re.compile(rb"^- id: ", re.MULTILINE)
SUFFIXES = (".json", ".yaml", ".yml", ".hjson")
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b'"',
    b"'",
    b"\n",
    b"\r\n",
    b"\t",
    b"#",
    b"//",
    b"&a ",
    b"*a",
    b"<<: ",
    b"- ",
    b"null",
    b"true",
]
PIECES += [b"auto", b"1e-5", b"-1", b"99999999999999999999", b"1e999", b"\\ud800", b"\xff", b"\x00", b"\xef\xbb\xbf", "ä\u202e😀".encode()]
PIECES += [b"# dslint: ignore[SC001]", b"dslint: ignore-file", b"x" * 300, b"{" * 250]


def changed(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few pieces put in, taken out, doubled or exchanged."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 0, 1, 5, 40)))
        piece = chance.choice((chance.choice(PIECES), data[end : end + chance.randrange(80)], b""))
        data = data[:start] + piece + data[end:]
    return data


def diagnose(document: Document) -> list[Diagnostic]:
    report = check(document, Project({}))
    return [] if report is None else list(report.diagnostics)


def documents(file: Path, data: bytes, chance: random.Random) -> bool:
    """Did the text still parse?"""
    document = load(file.name, changed(data, chance))
    diagnose(document)
    return document.root is not None


def repairs(file: Path, data: bytes, chance: random.Random) -> bool:
    """Was anything repaired?"""
    before = load(file.name, changed(data, chance))
    fixed = fix(before, diagnose, unsafe=True)
    if not fixed.applied:
        return False
    after = fixed.document
    assert not after.problems or before.problems, "the repaired text does not parse"
    again = fix(after, diagnose, unsafe=True)
    assert again.document.text == after.text, "repaired twice it is another"
    # a finding that stood behind another shows when that one is gone; what counts is whether there are more
    assert errors(after) <= errors(before), "the repair brings new errors"
    return True


def errors(document: Document) -> int:
    return sum(diagnostic.severity == "error" for diagnostic in diagnose(document))


def rules(file: Path, data: bytes, chance: random.Random) -> bool:
    """Could the rule be loaded?"""
    conditional = [rule for rule in STARTS.split(data) if b"\n  when:" in rule]
    if not conditional:
        return False
    rule = b"- id: ZZ" + chance.choice(conditional)[2:]
    with tempfile.NamedTemporaryFile(suffix=".yaml") as stranger:
        stranger.write(changed(rule, chance))
        stranger.flush()
        try:
            loaded = load_user_rules([stranger.name])
        except RuleError:
            return False
    for text in (b'{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": 1}}', b"{}"):
        check(load("ds_config.json", text), Project({}), input_format="deepspeed", extra_rules=loaded)
    return True


def kill(file: Path, data: bytes, chance: random.Random) -> bool:
    """Were some files repaired and others not yet?"""
    old = b'{\n  "gradient_cliping": 1.0\n}\n'
    new = old.replace(b"cliping", b"clipping")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"ds_{number}.json") for number in range(60)]
        for copy in files:
            copy.write_bytes(old)
        command = [sys.executable, "-m", "dslint", "check", "--fix", "--context", "native", folder]
        started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 0.6))
        started.kill()
        started.wait()
        found = [copy.read_bytes() for copy in files]
        assert all(content in (old, new) for content in found), "a file is half"
        return len(set(found)) == 2


TARGETS: dict[str, Callable[[Path, bytes, random.Random], bool]] = {
    "documents": documents,
    "repairs": repairs,
    "rules": rules,
    "kill": kill,
}


def run(target: str, files: list[Path], seconds: float, seed: int) -> int:
    """Run one target for its time; print and keep each input that breaks it. The number of those."""
    found = runs = deep = 0
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chance = random.Random(f"{seed}-{target}-{runs}")
        file = chance.choice(files)
        start = time.process_time()
        try:
            deep += TARGETS[target](file, file.read_bytes(), chance)
        except Exception as error:
            found += 1
            print(f"{target}: run {runs} of seed {seed} with {file}: {type(error).__name__}: {str(error)[:200]}")
        slowest = max(slowest, time.process_time() - start)
        runs += 1
    print(f"{target}: {runs:,} runs in {seconds:.0f} s, {deep:,} reached what they are for, {found} broken, the slowest {slowest:.2f} s")
    return found


def gather(folders: Iterable[Path]) -> list[Path]:
    return sorted(file for folder in folders for file in folder.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []])
    parser.add_argument("--files", type=Path, default=ROOT / "examples")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ.setdefault("XDG_CACHE_HOME", str(Path(tempfile.gettempdir()) / "dslint-fuzz-cache"))
    found = 0
    for target in given.targets or TARGETS:
        files = gather([ROOT / "rules"] if target == "rules" else [given.files])
        found += run(target, files, given.seconds, given.seed)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
