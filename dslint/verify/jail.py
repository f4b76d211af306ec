"""What keeps a verification to itself: no network, no process that outlives it, nothing written outside its directory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import struct
import time
from collections.abc import Mapping

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

# variables of a launch, of proxies and of the frameworks: none of the user's reaches the ranks
DROPPED = ("ACCELERATE_", "FSDP_", "DS_", "DEEPSPEED_", "OMPI_", "PMI_", "SLURM_", "NCCL_", "GLOO_", "TORCHELASTIC_", "WANDB_", "COMET_")
DROPPED_NAMES = frozenset(
    ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CROSS_RANK", "CROSS_SIZE", "PYTHONSTARTUP"]
)


def environment(outer: Mapping[str, str], scratch: str) -> dict[str, str]:
    """The environment of the server: the outer one without launch variables and proxies, every cache in ``scratch``."""
    kept = {
        name: value
        for name, value in outer.items()
        if not name.startswith(DROPPED) and name not in DROPPED_NAMES and not name.lower().endswith("_proxy")
    }
    caches = {name: os.path.join(scratch, "cache") for name in ("XDG_CACHE_HOME", "HF_HOME", "MPLCONFIGDIR", "TRITON_HOME")}
    return {
        **kept,
        **caches,
        "TMPDIR": scratch,
        "TRITON_CACHE_DIR": os.path.join(scratch, "cache", "triton"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, "cache", "inductor"),
        "TORCH_EXTENSIONS_DIR": os.path.join(scratch, "cache", "extensions"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }


def _prctl(option: int, value: int) -> None:
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is not None:
        prctl(option, value, 0, 0, 0)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when ``parent``, which forked it, ends (Linux)."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies (Linux), so that ``end_descendants`` sees it."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _parents() -> dict[int, int]:
    """Process id -> parent's id of every process, from /proc; empty where there is none."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[-1].split()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(name)] = int(fields[1])
    return parents


def descendants(root: int) -> list[int]:
    """The processes below ``root``, nearest first."""
    parents = _parents()
    found, frontier = [], {root}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        found += sorted(frontier)
    return found


def end_group(group: int) -> None:
    """Kill a process group; it may be gone already, or not be one yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_descendants(seconds: float = 10.0) -> None:
    """Kill whatever is below this process and wait until it is gone."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        for process in descendants(os.getpid()):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        import fcntl

        answer = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", answer)[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def own_network() -> None:
    """Move this process into a network of its own that has the loopback interface only. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare"):
        raise OSError("no namespaces on this system")
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    _loopback_up()


def namespaces_work() -> bool:
    """Can a child of this process have a network of its own with a loopback that carries?"""
    child = os.fork()
    if child == 0:
        try:
            own_network()
            with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=1):
                os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def only_loopback() -> None:
    """Where namespaces are not permitted: refuse connections of Python's sockets to anything but this host."""

    class Guarded(socket.socket):
        def connect(self, address: object) -> None:
            self._check(address)
            super().connect(address)  # type: ignore[arg-type]

        def connect_ex(self, address: object) -> int:
            self._check(address)
            return super().connect_ex(address)  # type: ignore[arg-type]

        def _check(self, address: object) -> None:
            if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
                if not (address[0] in ("localhost", "::1") or str(address[0]).startswith("127.")):
                    raise PermissionError(f"dslint: a verification has no network (connection to {address[0]})")

    socket.socket = Guarded  # type: ignore[misc]


def no_network(namespaces: bool) -> None:
    if namespaces:
        own_network()
    else:
        only_loopback()
