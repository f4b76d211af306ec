"""What holds in each directory: settings, target versions and facts brought together, once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from dslint.document import Document
from dslint.engine.facts import Facts
from dslint.engine.project import Project, Target
from dslint.engine.run import Report
from dslint.engine.run import check as check_document
from dslint.launch import NOTHING_SAID, Launch, with_known_gpu
from dslint.selection import Ignore, wanted
from dslint.settings import Settings, settings_for
from dslint.targets import installed, pinned


class Setup(NamedTuple):
    project: Project
    settings: Settings


class Workspace:
    """Answers what a file is checked against. ``flags`` go above the ``env`` file, that above settings, those above what is found."""

    def __init__(
        self,
        flags: Launch = NOTHING_SAID,
        env: Launch = NOTHING_SAID,
        select: tuple[Ignore, ...] = (),
        ignore: tuple[Ignore, ...] = (),
        input_format: str | None = None,
    ) -> None:
        self.flags = flags
        self.env = env
        self.select = select
        self.ignore = ignore
        self.input_format = input_format
        self._setups: dict[str, Setup] = {}

    def setup(self, file: str) -> Setup:
        """The project and settings of a file. Raises Fault."""
        directory = os.path.dirname(os.path.abspath(file))
        if directory not in self._setups:
            self._setups[directory] = self._of(directory)
        return self._setups[directory]

    def _of(self, directory: str) -> Setup:
        settings = settings_for(directory)
        targets: Mapping[str, Target] = {
            **installed(),
            **pinned(directory),
            **settings.targets,
            **self.env.targets,
            **self.flags.targets,
        }
        facts: Facts = with_known_gpu(settings.facts).merged(self.env.facts).merged(self.flags.facts)
        return Setup(Project(targets, facts, self.flags.context or self.env.context), settings)

    def check(self, document: Document) -> Report | None:
        """The findings of a document that are wanted, or None when it is of no known format."""
        setup = self.setup(document.file)
        report = check_document(document, setup.project, input_format=self.input_format, extra_rules=setup.settings.extra_rules)
        if report is None:
            return None
        return report._replace(
            diagnostics=tuple(wanted(report.diagnostics, self.select, (*self.ignore, *setup.settings.ignores(document.file))))
        )
