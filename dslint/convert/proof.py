"""Nothing is written that dslint itself would refuse."""

from __future__ import annotations

import os
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from dslint.document import load
from dslint.engine.run import Unread
from dslint.workspace import Workspace


def errors_of(texts: Mapping[str, str], main: str, form: str) -> list[str]:
    """The errors that ``dslint check`` finds in a set of files whose first is called ``main`` and is of the given form."""
    with TemporaryDirectory(prefix="dslint-") as folder:
        names = [main, *list(texts)[1:]]
        for name, text in zip(names, texts.values(), strict=True):
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        document = load(
            os.path.join(folder, names[0]), next(iter(texts.values())).encode(), "json" if form in ("deepspeed", "fsdp") else "yaml"
        )
        workspace = Workspace(input_format=form)
        launches = workspace.launches([document])
        found = [launch.report if isinstance(launch, Unread) else report for launch in launches for report in workspace.reports(launch)]
    return [f"{one.code} {one.message}" for report in found for one in report.diagnostics if one.severity == "error"]
