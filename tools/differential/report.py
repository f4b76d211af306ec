"""The result as a person reads it: figures first, then what is left, by kind and place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import version

from tools.differential.compare import ODD_KINDS, Case, Figures, Result

EXAMPLES = 2


def markdown(results: Sequence[Result]) -> str:
    seeds = ", ".join(str(result.seed) for result in results)
    lines = [
        "# dslint beside DeepSpeed itself",
        "",
        "Self-made configs with one mistake each, judged by `DeepSpeedConfig` (parser, a world of 8 ranks) and by "
        "`deepspeed.initialize` and two steps of a small model (engine, one CPU rank). "
        f"Made by `python -m tools.differential`, seeds {seeds}; deepspeed {version('deepspeed')}, torch {version('torch')}.",
        "",
        "- *refused*: DeepSpeed refuses and dslint reports an error. *accepted*: DeepSpeed accepts and dslint reports none, save where what "
        "is written is not what is trained: a key that DeepSpeed drops (misspelt, misplaced, unknown), `auto` where only the HF integration gives it a meaning, "
        "a quoted `false` that counts as true, a batch with half a sample.",
        f"- *said*: of the keys that DeepSpeed swallows ({', '.join(ODD_KINDS)}), those that dslint names.",
        "- *environment*: this machine refuses, not the config (CUDA, libaio, time); not counted.",
        "",
        "| seed | judge | mutants | refused | accepted | said | environment |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        for judge, cases in (("parser", result.parser), ("engine", result.engine)):
            lines.append(f"| {result.seed} | {judge} | {len(cases)} | " + " | ".join(_cells(Figures.of(cases))) + " |")
    rest = [case for result in results for case in (*result.parser, *result.engine)]
    lines += ["", "By kind, all seeds:", "", "| kind | refused | accepted | said | environment |", "|---|---|---|---|---|"]
    for kind in sorted({case.mutant.kind for case in rest}):
        lines.append(f"| {kind} | " + " | ".join(_cells(Figures.of([case for case in rest if case.mutant.kind == kind]))) + " |")
    lines += ["", "## What is left", ""]
    lines += disagreements(rest)
    return "\n".join(lines) + "\n"


def _cells(figures: Figures) -> list[str]:
    pairs = ((figures.agree_refused, figures.refused), (figures.agree_accepted, figures.accepted), (figures.told, figures.swallowed))
    return [f"{part}/{whole} ({100 * part / whole:.1f} %)" if whole else "–" for part, whole in pairs] + [str(figures.environment)]


def disagreements(cases: Sequence[Case], examples: int = EXAMPLES) -> list[str]:
    """Lines: what was missed by kind and path, false alarms by what dslint says; the largest group first."""
    missed = [case for case in cases if case.upstream == "refused" and not case.agree]
    alarms = [case for case in cases if case.false_alarms]
    silent = [case for case in cases if case.swallowed and not case.told]
    return [
        *_grouped("Refused by DeepSpeed, no error from dslint", missed, _mistake, examples),
        *_grouped("Accepted by DeepSpeed, an error from dslint", alarms, _alarm, examples),
        *_grouped("Swallowed by DeepSpeed, not said by dslint", silent, _mistake, examples),
    ]


def _mistake(case: Case) -> str:
    return f"{case.mutant.kind}, `{_place(case)}`"


def _alarm(case: Case) -> str:
    _, code, path, _ = case.false_alarms[0]
    return f"{code} at `{path}`"


def _grouped(title: str, cases: Sequence[Case], group_of: Callable[[Case], str], examples: int) -> list[str]:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[group_of(case)].append(case)
    lines = [f"### {title}: {len(cases)}", ""]
    for name, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"- {name} ({len(group)})")
        lines += [f"  - {line}" for case in group[:examples] for line in _lines(case)]
    return [*lines, ""]


def _place(case: Case) -> str:
    """The path, with the type of the optimizer or scheduler where it decides."""
    path = case.mutant.path
    if path[1:2] == ("params",) and isinstance(section := case.mutant.config.get(path[0]), dict):
        return ".".join([path[0], f"params[{section.get('type')}]", *path[2:]])
    return ".".join(path)


def _lines(case: Case) -> list[str]:
    """The two verdicts. Of dslint's words, its errors; where it has none, what it says of the same part of the config."""
    verdict = case.verdict
    upstream = "accepts" if verdict.accept else f"{verdict.error_type}: {' '.join((verdict.error or '').split())[:200]} [{verdict.where}]"
    near = case.false_alarms or case.errors or tuple(said for said in case.said if said[2].split(".")[0] == case.mutant.path[0])
    said = "; ".join(f"{severity} {code} {path}: {message[:120]}" for severity, code, path, message in near) or "nothing there"
    return [f"base {case.mutant.base}, {case.mutant.kind} {_place(case)}: {case.mutant.what}; {case.by}: {upstream}", f"dslint: {said}"]


def listing(cases: Sequence[Case]) -> str:
    """Every disagreement with its config, one JSON line each."""
    wrong = [case for case in cases if not case.agree or (case.swallowed and not case.told)]
    return "\n".join(
        json.dumps(
            {
                "kind": case.mutant.kind,
                "path": ".".join(case.mutant.path),
                "what": case.mutant.what,
                "upstream": case.upstream,
                "error": case.verdict.error,
                "where": case.verdict.where,
                "dslint": [list(said) for said in case.said],
                "config": case.mutant.config,
            }
        )
        for case in wrong
    )
