"""dslint beside a framework's own parser: what the runs for all frameworks but DeepSpeed share.

A run makes configs with one mistake each, asks the framework's worker (one JSON line each way, see worker.py) and dslint about each, and
counts. A parser that fills its classes without looking often *swallows* a value: it is kept as it is, and dies or does nothing in training.
Of those (``Mutant.odd``), dslint should say something; of the rest the two should agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.differential.judges import Config, Verdict, default_cache

#: shares of the refused, the accepted and the swallowed that a run must reach
WANTED = (0.97, 0.97, 0.90)


@dataclass(frozen=True, slots=True)
class Mutant:
    """``key``: the dotted path of what was changed. ``odd``: a key or a value that the parser may keep without looking at it."""

    base: int
    kind: str
    key: str
    what: str
    config: Config
    odd: bool = False


@dataclass(frozen=True, slots=True)
class Framework:
    """What is asked, and how. ``later``: codes of what the parser lets through, and something after it then refuses or drops.

    ``linked`` are the files that lie beside the config, by name. ``about`` stands on top of the report.
    """

    name: str
    tool: str
    release: str
    worker: Path
    input_format: str
    file: str
    targets: Mapping[str, str]
    facts: Mapping[str, int]
    mutants: Callable[[int, int], list[Mutant]]
    text_of: Callable[[Config], str]
    later: frozenset[str]
    linked: Mapping[str, str]
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    mutant: Mutant
    verdict: Verdict
    said: tuple[tuple[str, str, str, str], ...]
    later: frozenset[str] = frozenset()

    @property
    def errors(self) -> list[tuple[str, str, str, str]]:
        return [said for said in self.said if said[0] == "error"]

    @property
    def alarms(self) -> list[tuple[str, str, str, str]]:
        """Errors on what the parser accepts, save those that it leaves to others."""
        return [said for said in self.errors if said[1] not in self.later] if self.verdict.accept else []

    @property
    def swallowed(self) -> bool:
        return self.verdict.accept and self.mutant.odd

    @property
    def told(self) -> bool:
        key = self.mutant.key
        return any(severity != "info" and (path == key or path.startswith((f"{key}.", f"{key}["))) for severity, _, path, _ in self.said)


def judged(framework: Framework, python: str, made: list[Mutant], folder: Path, cache: Path) -> Iterator[Verdict]:
    """The parser's verdicts, in their order; the linked files lie in the folder. What was asked before is in the cache."""
    stamp = hashlib.sha256(framework.worker.read_bytes()).hexdigest()[:8]
    file = cache / f"{framework.tool}-{framework.release}-{stamp}.jsonl"
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    known = {row.pop("id"): Verdict(**row) for row in rows}
    worker = subprocess.Popen([python, "-P", str(framework.worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
    assert worker.stdin is not None
    assert worker.stdout is not None
    cache.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as answers:
        for mutant in made:
            text = framework.text_of(mutant.config)
            key = hashlib.sha256(text.encode()).hexdigest()
            if key not in known:
                worker.stdin.write(json.dumps({"id": key, "text": text}) + "\n")
                worker.stdin.flush()
                row = json.loads(worker.stdout.readline())
                answers.write(json.dumps(row) + "\n")
                answers.flush()
                del row["id"]
                known[key] = Verdict(**row)
            yield known[key]
    worker.communicate()


def checked(framework: Framework, mutant: Mutant, folder: Path) -> tuple[tuple[str, str, str, str], ...]:
    """What dslint says of the file itself, with those that it links beside it."""
    from dslint.document import format_path, load
    from dslint.engine.facts import Facts
    from dslint.engine.project import Target
    from dslint.launch import Launch
    from dslint.workspace import Workspace

    said = Launch(
        targets={name: Target(version, "differential") for name, version in framework.targets.items()}, facts=Facts(dict(framework.facts))
    )
    workspace = Workspace(flags=said, input_format=framework.input_format)
    syntax = framework.file.rpartition(".")[2]
    document = load(str(folder / framework.file), framework.text_of(mutant.config).encode(), syntax)
    reports = workspace.check(workspace.launches([document]))
    found = [diagnostic for report in reports if report.document is document for diagnostic in report.diagnostics]
    return tuple((one.severity, one.code, format_path(one.path), one.message) for one in found)


def put_linked(framework: Framework, folder: Path) -> None:
    for name, text in framework.linked.items():
        (folder / name).write_text(text, encoding="utf-8")


def compare(framework: Framework, python: str, seed: int, count: int, cache: Path) -> list[Case]:
    made = framework.mutants(seed, count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put_linked(framework, folder)
        verdicts = list(judged(framework, python, made, folder, cache))
        before = os.getcwd()
        os.chdir(folder)
        try:
            return [
                Case(mutant, verdict, checked(framework, mutant, folder), framework.later)
                for mutant, verdict in zip(made, verdicts, strict=True)
            ]
        finally:
            os.chdir(before)


@dataclass(frozen=True, slots=True)
class Figures:
    refused: int
    agree_refused: int
    accepted: int
    agree_accepted: int
    swallowed: int
    told: int
    environment: int

    @classmethod
    def of(cls, cases: list[Case]) -> Figures:
        judged = [case for case in cases if not case.verdict.environment]
        refused = [case for case in judged if not case.verdict.accept]
        swallowed = [case for case in judged if case.swallowed]
        accepted = [case for case in judged if case.verdict.accept and not case.mutant.odd]
        return cls(
            len(refused),
            sum(bool(case.errors) for case in refused),
            len(accepted),
            sum(not case.alarms for case in accepted),
            len(swallowed),
            sum(case.told for case in swallowed),
            len(cases) - len(judged),
        )

    def shares(self) -> tuple[float, float, float]:
        pairs = ((self.agree_refused, self.refused), (self.agree_accepted, self.accepted), (self.told, self.swallowed))
        refused, accepted, told = (part / whole if whole else 1.0 for part, whole in pairs)
        return refused, accepted, told

    def row(self) -> str:
        pairs = ((self.agree_refused, self.refused), (self.agree_accepted, self.accepted), (self.told, self.swallowed))
        cells = [f"{part}/{whole} ({100 * part / whole:.1f} %)" if whole else "–" for part, whole in pairs]
        return " | ".join([*cells, str(self.environment)])


def left(framework: Framework, cases: list[Case]) -> list[str]:
    """What the two do not agree on, by kind and key."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.verdict.environment:
            continue
        if not case.verdict.accept and not case.errors:
            groups.setdefault(f"refused, no error: {case.mutant.kind} `{case.mutant.key}`", []).append(case)
        elif case.swallowed and not case.told:
            groups.setdefault(f"swallowed, not said: {case.mutant.kind} `{case.mutant.key}`", []).append(case)
        elif case.verdict.accept and not case.mutant.odd and case.alarms:
            groups.setdefault(f"accepted, an error: {case.alarms[0][1]} `{case.alarms[0][2]}`", []).append(case)
    lines = []
    for name, group in sorted(groups.items(), key=lambda item: (item[0].split(":")[0], -len(item[1]))):
        first = group[0]
        upstream = " ".join((first.verdict.error or "accepts").split())[:160]
        said = "; ".join(f"{severity} {code} {path}: {message[:100]}" for severity, code, path, message in first.errors or first.said[:2])
        lines.append(f"- {name} ({len(group)}): {first.mutant.what}; {framework.name}: {upstream}; dslint: {said or 'nothing'}")
    return lines


HEADER = "| seed | mutants | refused | accepted | said | environment |\n|---|---|---|---|---|---|"


def markdown(framework: Framework, results: Mapping[int, list[Case]]) -> str:
    """The report of one framework: its figures by seed and by kind, and what is left."""
    lines = [*framework.about, "", HEADER]
    lines += [f"| {seed} | {len(cases)} | {Figures.of(cases).row()} |" for seed, cases in results.items()]
    every = [case for cases in results.values() for case in cases]
    lines += ["", "| kind | refused | accepted | said | environment |", "|---|---|---|---|---|"]
    for kind in sorted({case.mutant.kind for case in every}):
        lines.append(f"| {kind} | {Figures.of([case for case in every if case.mutant.kind == kind]).row()} |")
    return "\n".join([*lines, "", "## What is left", "", *left(framework, every)]) + "\n"


def main(*frameworks: Framework) -> int:
    """The command line of a run; 1 where a share that is wanted is not reached."""
    first = frameworks[0]
    parser = argparse.ArgumentParser(description=first.about[0].lstrip("# "))
    parser.add_argument("--python", default=sys.executable, help=f"the interpreter of an environment with {first.tool} {first.release}")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where the verdicts are kept")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    texts, enough = [], True
    for framework in frameworks:
        results = {seed: compare(framework, options.python, seed, options.count, options.cache) for seed in options.seed or [1]}
        texts.append(markdown(framework, results))
        enough = enough and all(map(reached, results.values()))
    text = "\n".join(texts)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return 0 if enough else 1


def reached(cases: Sequence[Case]) -> bool:
    return all(share >= wanted for share, wanted in zip(Figures.of(list(cases)).shares(), WANTED, strict=True))
