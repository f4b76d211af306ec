"""dslint's verdict beside DeepSpeed's, mutant by mutant, and what the two disagree on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tools.differential.judges import Config, Judge, Verdict, text_of
from tools.differential.mutate import Mutant, means_nothing, mutants

Said: TypeAlias = tuple[str, str, str, str]  # severity, code, path, message
Upstream: TypeAlias = Literal["refused", "accepted", "environment"]
TARGET = "0.19.8"
WORLD_SIZE = 8
ODD_KINDS = ("misspelt", "misplaced", "foreign key")


@dataclass(frozen=True, slots=True)
class Case:
    """``verdict`` is the one that decided: the engine's where the parser accepted and the engine was asked."""

    mutant: Mutant
    verdict: Verdict
    by: Literal["parser", "engine"]
    said: tuple[Said, ...]

    @property
    def upstream(self) -> Upstream:
        if self.verdict.environment:
            return "environment"
        return "accepted" if self.verdict.accept else "refused"

    @property
    def errors(self) -> tuple[Said, ...]:
        return tuple(said for said in self.said if said[0] == "error")

    @property
    def swallowed(self) -> bool:
        """A key that DeepSpeed does not know, and takes without a word."""
        return self.upstream == "accepted" and self.mutant.kind in ODD_KINDS and self.mutant.odd is not None

    @property
    def told(self) -> bool:
        """Whether the swallowed key itself is said, as an error or a warning."""
        assert self.mutant.odd is not None
        return any(severity != "info" and _at(path, self.mutant.odd) for severity, _, path, _ in self.said)

    @property
    def agree(self) -> bool:
        return bool(self.errors) if self.upstream == "refused" else not self.false_alarms

    @property
    def false_alarms(self) -> tuple[Said, ...]:
        """Errors on what DeepSpeed accepts, save where what is written is not what is trained."""
        if self.upstream != "accepted":
            return ()
        return tuple(said for said in self.errors if not self._meaningless(said[2]))

    def _meaningless(self, path: str) -> bool:
        steps = tuple(path.split("."))
        blocks = (steps[:length] for length in range(1, len(steps) + 1))
        return any(means_nothing(self.mutant.config, block) for block in blocks)


def _at(path: str, key: tuple[str, ...]) -> bool:
    """Whether a dotted path is the key's or lies below it."""
    from dslint.document import format_path

    dotted = format_path(key)
    return path == dotted or path.startswith((dotted + ".", dotted + "["))


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of one run; ``agree_*`` of the ``refused`` and ``accepted``, ``told`` of the ``swallowed``."""

    refused: int
    agree_refused: int
    accepted: int
    agree_accepted: int
    swallowed: int
    told: int
    environment: int

    @classmethod
    def of(cls, cases: Sequence[Case]) -> Figures:
        refused = [case for case in cases if case.upstream == "refused"]
        accepted = [case for case in cases if case.upstream == "accepted"]
        swallowed = [case for case in cases if case.swallowed]
        return cls(
            len(refused),
            sum(case.agree for case in refused),
            len(accepted),
            sum(case.agree for case in accepted),
            len(swallowed),
            sum(case.told for case in swallowed),
            len(cases) - len(refused) - len(accepted),
        )

    def shares(self) -> tuple[float, float, float]:
        """Agreement on refused, on accepted, and the share of the swallowed that is said; 1.0 of nothing."""
        pairs = ((self.agree_refused, self.refused), (self.agree_accepted, self.accepted), (self.told, self.swallowed))
        return tuple(part / whole if whole else 1.0 for part, whole in pairs)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    parser: tuple[Case, ...]
    engine: tuple[Case, ...]


def compare(seed: int, parser_count: int, engine_count: int, cache: Path) -> Result:
    """Make the mutants, judge them, and check them with dslint."""
    parser, engine, check = Judge("parser", cache), Judge("engine", cache), checker()
    first = mutants(seed, parser_count)
    second = mutants(seed + 1_000_000, 3 * engine_count)
    accepted = [mutant for mutant, verdict in zip(second, parser.ask(_configs(second)), strict=True) if verdict.accept][:engine_count]
    return Result(seed, tuple(_by_parser(first, parser, engine, check)), tuple(_by_engine(accepted, engine, check)))


def _configs(of: Iterable[Mutant]) -> list[Config]:
    return [mutant.config for mutant in of]


def _by_parser(made: list[Mutant], parser: Judge, engine: Judge, check: Callable[[Config], tuple[Said, ...]]) -> Iterable[Case]:
    """The parser decides; where it accepts what dslint calls an error, the engine has the last word."""
    cases = [
        Case(mutant, verdict, "parser", check(mutant.config)) for mutant, verdict in zip(made, parser.ask(_configs(made)), strict=True)
    ]
    open_cases = [case for case in cases if case.verdict.accept and case.errors]
    last_word = dict(zip(map(id, open_cases), engine.ask([case.mutant.config for case in open_cases]), strict=True))
    for case in cases:
        yield Case(case.mutant, last_word[id(case)], "engine", case.said) if id(case) in last_word else case


def _by_engine(made: list[Mutant], engine: Judge, check: Callable[[Config], tuple[Said, ...]]) -> Iterable[Case]:
    for mutant, verdict in zip(made, engine.ask(_configs(made)), strict=True):
        yield Case(mutant, verdict, "engine", check(mutant.config))


def checker() -> Callable[[Config], tuple[Said, ...]]:
    """dslint itself: DeepSpeed 0.19.8 reads the file, on 8 ranks, of an unknown kind."""
    from dslint.document import format_path, load
    from dslint.engine.facts import Facts
    from dslint.engine.project import Project, Target
    from dslint.engine.run import check

    project = Project(targets={"deepspeed": Target(TARGET, "differential")}, facts=Facts({"world_size": WORLD_SIZE}), context="native")

    def said(config: Config) -> tuple[Said, ...]:
        report = check(load("ds_config.json", text_of(config).encode(), "json"), project, input_format="deepspeed")
        assert report is not None
        return tuple((found.severity, found.code, format_path(found.path), found.message) for found in report.diagnostics)

    return said
