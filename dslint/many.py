"""Very many files: in parts, by as many processes as there are processors, none of which keeps a tree longer than it must."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from signal import SIGTERM
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from dslint.document import load
from dslint.document.load import read
from dslint.engine.family import Family
from dslint.engine.run import Report
from dslint.workspace import Workspace

PART = 100
MOST_PROCESSES = 8


class Found(NamedTuple):
    """``unreadable``: files, each with why."""

    reports: list[Report]
    unreadable: list[tuple[str, OSError]]


class Part(NamedTuple):
    """What came of some files. ``reports`` of each launch, with the file that it starts from (None for one of several files);
    ``linked``: what other files bring in, so that it does not start a launch.
    """

    number: int
    reports: list[tuple[str | None, list[Report]]]
    linked: frozenset[str]
    unreadable: list[tuple[str, OSError]]


def check_many(workspace: Workspace, names: Sequence[str], max_bytes: int, progress: Callable[[int, int], None]) -> Found:
    """Check files as ``Workspace.check`` would all at once; the trees of their documents are let go. Raises Fault, CheckCrashed."""
    parts = list(enumerate(_parts(names)))
    count = min(_processors(), MOST_PROCESSES, len(parts)) if hasattr(os, "fork") else 1
    shares = [parts[start::count] for start in range(count)]
    done: list[Part] = []
    running = {_started(workspace, share, answers := TemporaryFile(), max_bytes): (share, answers) for share in shares[1:]}  # noqa: SIM115
    try:
        for number, part in shares[0]:
            done.append(_checked(workspace, number, part, max_bytes))
            progress(min(len(done) * PART * count, len(names)), len(names))
        while running:
            process, (share, answers) = next(iter(running.items()))
            _, status = os.waitpid(process, 0)
            del running[process]
            if status == 0:
                answers.seek(0)
                done += pickle.load(answers)
            else:  # what stopped it is said by doing its share here
                done += [_checked(workspace, number, part, max_bytes) for number, part in share]
    except BaseException:
        for process in running:
            os.kill(process, SIGTERM)
        raise
    done.sort(key=lambda part: part.number)
    linked = frozenset().union(*(part.linked for part in done))
    reports = (report for part in done for start, found in part.reports if start not in linked for report in found)
    return Found(workspace.wanted(reports), [trouble for part in done for trouble in part.unreadable])


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Whole directories together: what lies side by side may be one launch."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(os.path.dirname(os.path.abspath(name)), []).append(name)
    part: list[str] = []
    for files in folders.values():
        part += files
        if len(part) >= PART:
            yield part
            part = []
    if part:
        yield part


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started(workspace: Workspace, share: Sequence[tuple[int, list[str]]], answers: IO[bytes], max_bytes: int) -> int:
    """A process that checks a share and leaves its parts in a file; it exits with 0 where it could."""
    if process := os.fork():
        return process
    status = 1
    try:
        pickle.dump([_checked(workspace, number, part, max_bytes) for number, part in share], answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        status = 0
    finally:
        os._exit(status)


def _checked(workspace: Workspace, number: int, names: Sequence[str], max_bytes: int) -> Part:
    documents, unreadable = [], []
    for name in names:
        try:
            documents.append(load(name, read(name, max_bytes), max_bytes=max_bytes))
        except OSError as error:
            unreadable.append((name, error))
    reports: list[tuple[str | None, list[Report]]] = []
    linked: set[str] = set()
    for launch in workspace.launches(documents, alone=False):
        start = launch.documents[0].file if len(launch.documents) == 1 else None
        reports.append((None if start is None else os.path.abspath(start), workspace.reports(launch)))
        if isinstance(launch, Family):
            linked.update(map(os.path.abspath, launch.linked))
    for _, found in reports:
        for report in found:
            report.document.let_go()
            for diagnostic in report.diagnostics:
                for related in diagnostic.related:
                    related.document.let_go()
    return Part(number, reports, frozenset(linked), unreadable)
