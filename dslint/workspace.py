"""What holds in each directory: settings, target versions and facts brought together, once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dslint.document import Document, Path
from dslint.document.load import MAXIMUM_BYTES
from dslint.document.overlay import Override
from dslint.engine.config import Config
from dslint.engine.facts import Facts
from dslint.engine.family import Family, assemble
from dslint.engine.project import Project, Target
from dslint.engine.rules import Rule
from dslint.engine.run import Launch, Report, Unread, check_family, read_entry
from dslint.faults import CheckCrashed, Fault
from dslint.launch import NOTHING_SAID, facts_of_document, with_known_gpu
from dslint.launch import Launch as Said
from dslint.links import Files
from dslint.nearest import did_you_mean
from dslint.selection import Ignore, wanted
from dslint.settings import Settings, settings_for
from dslint.targets import installed, pinned, pinned_in, up_to_repository

if TYPE_CHECKING:
    from dslint.baseline import Baseline


def forget_files() -> None:
    """Settings and lock files are read again: for whoever lives longer than one command."""
    for remembered in (settings_for, pinned, pinned_in, up_to_repository):
        remembered.cache_clear()


class Setup(NamedTuple):
    project: Project
    settings: Settings


class Workspace:
    """Answers what a file is checked against. ``flags`` go above the ``env`` file, that above settings, those above what is found."""

    def __init__(
        self,
        flags: Said = NOTHING_SAID,
        env: Said = NOTHING_SAID,
        select: tuple[Ignore, ...] = (),
        ignore: tuple[Ignore, ...] = (),
        input_format: str | None = None,
        max_bytes: int = MAXIMUM_BYTES,
        overrides: tuple[Override, ...] = (),
        baseline: Baseline | None = None,
    ) -> None:
        self.flags = flags
        self.env = env
        self.select = select
        self.ignore = ignore
        self.input_format = input_format
        self.max_bytes = max_bytes
        self.overrides = overrides
        self.baseline = baseline
        self._setups: dict[str, Setup] = {}

    def setup(self, file: str) -> Setup:
        """The project and settings of a file. Raises Fault."""
        directory = os.path.dirname(os.path.abspath(file))
        if directory not in self._setups:
            self._setups[directory] = self._of(directory, Facts())
        setup = self._setups[directory]
        if by_path := setup.settings.facts_by_path(file):
            facts = Facts()
            for _, more in by_path:
                facts = facts.merged(more)
            return self._of(directory, facts)
        return setup

    def _of(self, directory: str, by_path: Facts) -> Setup:
        settings = settings_for(directory)
        targets: Mapping[str, Target] = {
            **installed(),
            **pinned(directory),
            **settings.targets,
            **self.env.targets,
            **self.flags.targets,
        }
        facts: Facts = with_known_gpu(settings.facts.merged(by_path)).merged(self.env.facts).merged(self.flags.facts)
        return Setup(Project(targets, facts, self.flags.context or self.env.context), settings)

    def launches(self, documents: Sequence[Document], *, together: bool = False, alone: bool = True) -> list[Launch]:
        """The documents of a known format by the launch that they belong to: what links bring in is seen through the file that links it.

        ``together``: all of them are one launch. ``alone``: there are no others, so that one launch among them is the only one.
        """
        read = [self._entry(document) for document in self._with_env_file(documents)]
        configs = [entry for entry in read if isinstance(entry, Config)]
        self._refuse_unclaimed(configs)
        groups = {id(config): group for group in ([configs] if together else _beside(configs)) for config in group}
        files = Files(documents, self.max_bytes)
        launches: list[Launch] = []
        for entry in read:
            if isinstance(entry, Unread):
                launches.append(entry)
            elif entry is not None and entry is (group := groups.get(id(entry), [entry]))[0]:
                launches.append(assemble(group, files))
        linked = {file for launch in launches if isinstance(launch, Family) for file in launch.linked}
        kept = [
            launch
            for launch in launches
            if isinstance(launch, Unread) or len(launch.roots) > 1 or launch.roots[0].document.file not in linked
        ]
        if alone:
            _tell_surroundings([launch for launch in kept if isinstance(launch, Family)])
        return kept

    def _with_env_file(self, documents: Sequence[Document]) -> list[Document]:
        """The documents, and the file of --env-file where it is none of them."""
        env = self.env.document
        if env is None or any(os.path.realpath(document.file) == os.path.realpath(env.file) for document in documents):
            return list(documents)
        return [*documents, env]

    def _entry(self, document: Document) -> Config | Unread | None:
        project = self.setup(document.file).project
        if document.syntax != "env":
            return read_entry(document, project, self.input_format, self.overrides)
        if document.root is None:
            return None
        facts = facts_of_document(document).merged(project.facts)
        forced = self.input_format if self.input_format in ("env", "hostfile") else None
        return read_entry(document, Project(project.targets, facts, project.context), forced)

    def _refuse_unclaimed(self, configs: Sequence[Config]) -> None:
        """Raises Fault for a key of --set that no file can have."""
        claimed = {path for config in configs for path in config.overridden}
        for override in self.overrides:
            if override.path not in claimed and configs:
                known = {key for config in configs for key in config.resolved.blocks[""].keys}
                hint = did_you_mean(str(override.path[0]), known)
                raise Fault(f"--set {override.key}: no such key in {configs[0].form.title}'s configs{hint}")

    def check(self, launches: Iterable[Launch]) -> list[Report]:
        """What is found in the files of the launches, as far as it is wanted; a file of several launches has one report."""
        return self.wanted(report for launch in launches for report in self.reports(launch))

    def wanted(self, found: Iterable[Report]) -> list[Report]:
        """One report of each config, with what is wanted of it: not what comments silence, settings turn off, or a baseline accepts."""
        reports: dict[tuple[str, Path], Report] = {}
        for report in found:
            key = (os.path.abspath(report.document.file), report.mount)
            reports[key] = _joined(reports[key], report) if key in reports else report
        return self._accepted([self._wanted(report) for report in self._spoken(list(reports.values()))])

    def reports(self, launch: Launch) -> list[Report]:
        """All that is found in the files of a launch. Raises CheckCrashed, with the first of them, on a defect of a check."""
        try:
            return [launch.report] if isinstance(launch, Unread) else list(check_family(launch, self._extra_rules(launch)))
        except Exception as error:
            raise CheckCrashed(launch.documents[0].file) from error

    def _extra_rules(self, launch: Family) -> tuple[Rule, ...]:
        return self.setup(launch.roots[0].document.file).settings.extra_rules

    def _spoken(self, reports: list[Report]) -> list[Report]:
        """Without what comments in the files silence."""
        if not any("dslint:" in report.document.text for report in reports):
            return reports
        from dslint.suppression import suppressed

        def judged(file: str, code: Ignore) -> bool:
            select = self.select or self.setup(file).settings.select
            return (not select or code in select) and not any(code.rule.startswith(other.rule) for other in self.ignore)

        return suppressed(reports, lambda file: self.setup(file).settings.extra_rules, judged)

    def _accepted(self, reports: list[Report]) -> list[Report]:
        return reports if self.baseline is None else self.baseline.without(reports)

    def _wanted(self, report: Report) -> Report:
        settings = self.setup(report.document.file).settings
        ignored = (*self.ignore, *settings.ignores(report.document.file))
        select = self.select or settings.select
        found = wanted(report.diagnostics, (*select, *settings.extend_select) if select else (), ignored)
        return report._replace(diagnostics=tuple(map(settings.severity, found) if settings.severities else found))


# what is of no launch alone: the variables and the hosts
SURROUNDINGS = ("env", "hostfile")


def _tell_surroundings(families: Sequence[Family]) -> None:
    """The variables and hosts see what the configs say, where those are one launch."""
    around = [family for family in families if family.roots[0].form.name in SURROUNDINGS]
    inside = [family for family in families if family not in around]
    if len(inside) == 1:
        for family in around:
            family.beside = tuple(statement for config in inside[0].configs for statement in config.statements)


LAUNCHERS, TRAINERS = ("accelerate",), ("trainer", "axolotl", "llamafactory")


def _beside(configs: Sequence[Config]) -> list[list[Config]]:
    """Of each directory the only launcher's file and the only trainer's file, where it holds one of each: they are one launch."""
    folders: dict[str, list[Config]] = {}
    for config in configs:
        if config.form.name in (*LAUNCHERS, *TRAINERS):
            folders.setdefault(os.path.dirname(os.path.abspath(config.document.file)), []).append(config)
    groups = [sorted(group, key=lambda config: config.form.name in LAUNCHERS) for group in folders.values() if len(group) == 2]
    return [group for group in groups if group[0].form.name in TRAINERS and group[1].form.name in LAUNCHERS]


def _joined(one: Report, other: Report) -> Report:
    """What two launches say of one file, each thing once."""
    known = {(diagnostic.code, diagnostic.path, diagnostic.message) for diagnostic in one.diagnostics}
    more = [diagnostic for diagnostic in other.diagnostics if (diagnostic.code, diagnostic.path, diagnostic.message) not in known]
    ordered = sorted((*one.diagnostics, *more), key=lambda diagnostic: diagnostic.span.start)
    return one._replace(diagnostics=tuple(ordered), skipped=tuple(dict.fromkeys((*one.skipped, *other.skipped))))
