"""DeepSpeed's verdicts on many configs: worker processes beneath, and a cache by content.

The verdicts do not depend on dslint, so they are kept between runs under the versions that gave them.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

Config: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["parser", "engine"]
WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``environment``: refused, and the machine is to blame."""

    accept: bool
    error_type: str | None = None
    error: str | None = None
    where: str | None = None
    environment: bool = False


def text_of(config: Config) -> str:
    return json.dumps(config, indent=2)


def default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dslint-differential"


class Judge:
    """Asks one kind of worker; answers come from the cache where they are known."""

    def __init__(self, mode: Mode, cache: Path, workers: int = 2) -> None:
        self.mode = mode
        self.workers = workers
        stamp = hashlib.sha256(WORKER.read_bytes()).hexdigest()[:8]
        self._file = cache / f"{mode}-{version('deepspeed')}-{version('torch')}-{stamp}.jsonl"
        self._known: dict[str, Verdict] = {}
        if self._file.exists():
            for line in self._file.read_text().splitlines():
                row = json.loads(line)
                key = row.pop("key")
                self._known[key] = Verdict(**row)

    def ask(self, configs: Sequence[Config]) -> list[Verdict]:
        """A verdict for each config, in their order."""
        keys = [hashlib.sha256(json.dumps(config).encode()).hexdigest() for config in configs]
        new = {key: config for key, config in zip(keys, configs, strict=True) if key not in self._known}
        if new:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                for key, verdict in self._fresh(new):
                    self._known[key] = verdict
                    file.write(json.dumps({"key": key, **asdict(verdict)}) + "\n")
                    file.flush()
        return [self._known[key] for key in keys]

    def _fresh(self, configs: dict[str, Config]) -> Iterable[tuple[str, Verdict]]:
        waiting: queue.SimpleQueue[tuple[str, Config]] = queue.SimpleQueue()
        for item in configs.items():
            waiting.put(item)
        answers: queue.SimpleQueue[tuple[str, Verdict] | BaseException] = queue.SimpleQueue()
        for _ in range(min(self.workers, len(configs))):
            threading.Thread(target=_serve, args=(self.mode, waiting, answers), daemon=True).start()
        for _ in configs:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer


def _serve(mode: Mode, waiting: queue.SimpleQueue[tuple[str, Config]], answers: queue.SimpleQueue[Any]) -> None:
    """Feed one worker until nothing waits; a worker that dies over a config is replaced."""
    worker: subprocess.Popen[str] | None = None
    try:
        while not waiting.empty():
            try:
                key, config = waiting.get_nowait()
            except queue.Empty:
                break
            worker = worker or _start(mode)
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write(json.dumps({"id": key, "config": config}) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
            if line:
                row = json.loads(line)
                answers.put((row.pop("id"), Verdict(**row)))
            else:
                answers.put((key, Verdict(False, "Died", "the judge's process died", None, True)))
                worker.wait()
                worker = None
    except BaseException as error:
        answers.put(error)
    finally:
        if worker is not None:
            worker.communicate()


def _start(mode: Mode) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-P", str(WORKER), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
