"""Convert every config of a corpus that has no errors to every target, alone and as a set of files.

usage: python -m tools.convert_corpus CORPUS OUT [KIND...]

What is written goes to OUT/TARGET/{file,set}/KIND-NAME/, for the verdicts of the upstream validators. Printed are the counts of each kind and target,
and the reasons of the refusals with the files. Exit code 1 where a conversion stops with anything but a reason, or a key is accounted for twice or never.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from dslint.cli.convert import command
from dslint.cli.show import family_of
from dslint.convert.run import leaves
from dslint.convert.targets import TARGETS
from dslint.engine.facts import Facts
from dslint.faults import Fault
from dslint.launch import Launch
from dslint.workspace import Workspace

KINDS = ("accelerate", "axolotl", "deepspeed", "hf_fsdp", "llamafactory", "trl")
WORLD_SIZE = 8


def main(corpus: Path, out: Path, kinds: tuple[str, ...]) -> int:
    counts: Counter[tuple[str, str, str]] = Counter()
    reasons: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for kind in kinds:
        for file in sorted((corpus / kind).glob("*")):
            keys = _keys(file)
            if keys is None:
                continue
            for to in TARGETS:
                for manner in ("file", "set"):
                    outcome, why = _convert(file, keys, to, manner, out / to / manner / f"{kind}-{file.stem}")
                    counts[kind, to, outcome] += 1
                    if why:
                        reasons[kind, to, why].append(file.name)
    for (kind, to, outcome), count in sorted(counts.items()):
        print(f"{kind:12} -> {to:12} {outcome:8} {count}")
    for (kind, to, why), files in sorted(reasons.items(), key=lambda row: -len(row[1])):
        print(f"{len(files):5} {kind} -> {to}: {why} ({', '.join(files[:3])})")
    return int(any(outcome in ("crashed", "account") for _, _, outcome in counts))


def _keys(file: Path) -> int | None:
    """How many keys a config has with its linked files; None where it is none, or has errors."""
    workspace = Workspace(Launch(Facts({"world_size": WORLD_SIZE})))
    try:
        family = family_of([str(file)], workspace)
    except Fault:
        return None
    if any(one.severity == "error" for report in workspace.check([family]) for one in report.diagnostics):
        return None
    return sum(1 for config in family.configs for _ in leaves(config))


def _convert(file: Path, keys: int, to: str, manner: str, place: Path) -> tuple[str, str]:
    """The outcome and, where it is not plainly written, the reason."""
    place.mkdir(parents=True, exist_ok=True)
    report = place.with_suffix(".report")
    output = f"{place}/" if manner == "set" else str(place / TARGETS[to].file)
    flags = ["--to", to, "-o", output, "--force", "--world-size", str(WORLD_SIZE), "--report", str(report)]
    try:
        command.main([str(file), *flags], standalone_mode=False)
    except Fault as fault:
        return "refused", str(fault).removeprefix(f"{file}: ")
    except Exception as error:  # what a corpus run is there to find
        return "crashed", repr(error)
    rows = json.loads(report.read_text())["keys"]
    if len({(row["file"], row["path"]) for row in rows}) != len(rows) or len(rows) != keys:
        return "account", f"{len(rows)} fates of {keys} keys"
    return "written", ""


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2]), tuple(sys.argv[3:]) or KINDS))
