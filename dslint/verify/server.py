"""The fork server: torch and DeepSpeed are imported once, each job then costs a fork.

Protocol, JSON lines: it first says hello (versions, device, or why it cannot serve), then answers each request with what its
ranks wrote down. It never makes a process group itself: gloo's threads do not survive a fork. A job is a leader in a session
of its own and its ranks; whatever is left of it when the job ends, or its time, is killed. When standard input closes, the
server ends its job and itself.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from dslint.verify import jail

# what deepspeed.initialize and the first steps import late
LATE = (
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "torch.utils.checkpoint",
    "torch.distributed.device_mesh",
    "deepspeed.runtime.zero.stage3",
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "deepspeed.runtime.superoffload.superoffload_stage3",
    "deepspeed.ops.adam",
    "dslint.verify.engines.deepspeed",
    "dslint.verify.engines.trainer",
    "transformers.models.llama.modeling_llama",
)
GRACE = 3.0


def main() -> None:
    """Serve until standard input closes."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    scratch = os.environ["TMPDIR"]
    log = os.open(os.path.join(scratch, "server.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    jail.adopt_orphans()
    try:
        hello = _hello()
        _say(channel, hello)
        for request in _requests():
            _say(channel, serve(request, hello))
    finally:
        jail.end_descendants()
        shutil.rmtree(scratch, ignore_errors=True)


def _say(channel: Any, message: dict[str, Any]) -> None:
    try:
        channel.write(json.dumps(message) + "\n")
        channel.flush()
    except BrokenPipeError:  # the parent has gone; nobody is left to answer
        raise SystemExit(0) from None


def _requests() -> Iterator[dict[str, Any]]:
    """Each line of standard input, read without a buffer of Python's so that ``select`` tells the truth."""
    waiting = b""
    while True:
        while b"\n" in waiting:
            line, waiting = waiting.split(b"\n", 1)
            yield json.loads(line)
        block = os.read(0, 1 << 16)
        if not block:
            return
        waiting += block


def _hello() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for name in ("torch", "deepspeed", "transformers", "accelerate"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    try:
        import torch

        gpus = torch.cuda.device_count()
        if gpus == 0:
            os.environ["DS_ACCELERATOR"] = "cpu"
            for module in ("deepspeed", *LATE):
                try:
                    import_module(module)
                except ModuleNotFoundError:
                    if module not in LATE:
                        raise
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "versions": versions}
    gc.freeze()
    return {"versions": versions, "gpus": gpus, "namespaces": jail.namespaces_work()}


def serve(request: dict[str, Any], hello: dict[str, Any]) -> dict[str, Any]:
    """Run one job and return {"ranks": [what each rank wrote], "timed_out", "log"}."""
    if "offload_optimizer" in str(request["config"].get("zero_optimization")):
        _remember_cpu()
    scratch = tempfile.mkdtemp(prefix="job-")
    reading, writing = os.pipe()
    here = os.getpid()
    leader = os.fork()
    if leader == 0:
        os.close(reading)
        _as_child(lambda: _lead(request, hello, scratch), here)
    os.close(writing)
    ready = select.select([reading, 0], [], [], request["seconds"])[0]
    os.close(reading)
    jail.end_group(leader)
    jail.end_descendants()
    answer = {"timed_out": not ready, "ranks": [_notes(scratch, rank) for rank in range(request["ranks"])], "log": _log(scratch)}
    shutil.rmtree(scratch, ignore_errors=True)
    return answer


@cache
def _remember_cpu() -> None:
    """DeepSpeedCPUAdam asks py-cpuinfo, which takes a second each time, for the name of the processor."""
    try:
        import cpuinfo  # type: ignore[import-untyped,unused-ignore]
    except ModuleNotFoundError:
        return
    known = cpuinfo.get_cpu_info()
    cpuinfo.get_cpu_info = lambda: known


def _as_child(run: Any, parent: int) -> None:
    """What every forked child does: it never returns into the server's code, whatever happens."""
    code = 1
    try:
        jail.die_with(parent)
        run()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _lead(request: dict[str, Any], hello: dict[str, Any], scratch: str) -> None:
    """Set the scene for the ranks, fork them, and wait; once one has failed the others get ``GRACE`` seconds."""
    os.setsid()
    os.chdir(scratch)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(
        HOME=scratch, TMPDIR=scratch, MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo"
    )
    tempfile.tempdir = scratch
    jail.no_network(hello["namespaces"])
    for phase, ranks in request["phases"]:
        if not _phase({**request, "phase": phase, "ranks": ranks}, hello):
            return


def _phase(request: dict[str, Any], hello: dict[str, Any]) -> bool:
    """One phase of a job in ranks of its own; did all of them come to its end?"""
    os.environ.update(WORLD_SIZE=str(request["ranks"]), LOCAL_WORLD_SIZE=str(request["ranks"]))
    here = os.getpid()
    children = {}
    for rank in range(request["ranks"]):
        child = os.fork()
        if child == 0:
            _as_child(lambda rank=rank: _rank(request, hello, rank), here)
        children[child] = rank
    limit = None
    while children:
        process, status = os.waitpid(-1, os.WNOHANG if limit else 0)
        if process in children:
            rank = children.pop(process)
            if status != 0:
                with open(f"rank{rank}.jsonl", "a", encoding="utf-8") as file:
                    file.write(json.dumps({"exit": os.waitstatus_to_exitcode(status)}) + "\n")
                limit = limit or time.monotonic() + GRACE
        elif limit and time.monotonic() > limit:
            return False
        elif limit:
            time.sleep(0.01)
    return limit is None


def _rank(request: dict[str, Any], hello: dict[str, Any], rank: int) -> None:
    """One rank: in this process on a CPU, in a fresh interpreter on a GPU, whose driver does not survive a fork."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hello["gpus"]:
        name = f"{request['phase']}{rank}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(request, file)
        os.execv(sys.executable, [sys.executable, "-c", os.environ["DSLINT_BOOT"] + "rank()", name, str(rank)])
    from dslint.verify import ranks

    ranks.run(request, rank)


def rank() -> None:
    """The entry of a rank that was started as a fresh interpreter."""
    from dslint.verify import ranks

    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    jail.no_network(namespaces=False)
    ranks.run(request, int(sys.argv[2]))


def _notes(scratch: str, rank: int) -> list[dict[str, Any]]:
    try:
        with open(os.path.join(scratch, f"rank{rank}.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except OSError:
        return []


def _log(scratch: str, limit: int = 4000) -> str:
    """The end of what the ranks printed."""
    try:
        with open(os.path.join(scratch, "log"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
