"""Variables of a launch: names that nothing reads, values that mean something else to their reader, and variables that contradict each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from dslint.checks.registry import check
from dslint.document import Change, to_python
from dslint.engine.diagnostics import Fix, Severity
from dslint.engine.view import Finding, View
from dslint.schema.coerce import coerce
from dslint.schema.missing import MISSING
from dslint.schema.suggest import edit_distance, suggest

FAMILIES = frozenset(
    ["NCCL", "CUDA", "TORCH", "PYTORCH", "ACCELERATE", "DEEPSPEED", "DS", "FSDP", "HF", "TRANSFORMERS", "OMP", "MASTER", "GLOO"]
)
# beginnings that people also give to variables of their own scripts
SHARED = ("MASTER_", "HF_", "DS_", "DEEPSPEED_", "FSDP_")
WORDS = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}


def texts(view: View) -> Mapping[str, str]:
    """The variables of the file, as written."""
    written = view.raw("env")
    return {name: str(value) for name, value in written.items()} if isinstance(written, dict) else {}


def known(view: View) -> frozenset[str]:
    return frozenset(view.resolved.schema.block("env").keys)


LONGEST = 4096


def short(text: str) -> str:
    """As much of a value as a message can take."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def unfinished(text: str) -> bool:
    """Does a shell or a template still put something in, or does another assignment follow on the line? No variable is this long, either."""
    return len(text) > LONGEST or re.search(r"\$|\{\{|^<.*>$|\s\w+=", text) is not None


# --- names ---


@check("env-misspelt")
def env_misspelt(view: View) -> Iterator[Finding]:
    """A name that nothing reads, and that is plainly meant to be one that something reads. Others are the user's own."""
    written, names = texts(view), known(view)
    strangers = [name for name in written if name not in names and _of_family(name)]
    for name in strangers[:MAXIMUM_STRANGERS]:
        near = _near(name, names)
        if near is None:
            continue
        path = view.path(f"env.{name}")
        renaming = Change("rename", path, to=(*path[:-1], near))
        fixes = () if near in written else (Fix(f"rename it to {near}", "safe", (renaming,)),)
        severity: Severity = "warning" if near.startswith(SHARED) else "error"
        yield Finding(f"env.{name}", {"name": name, "near": near}, severity=severity, fixes=fixes)


# a file with more names of these families that nothing knows is of another world
MAXIMUM_STRANGERS = 200
LONGEST_FAMILY = max(map(len, FAMILIES)) + 1


def _of_family(name: str) -> bool:
    """Does the first word name a family, or miss one by a letter?"""
    first = name.partition("_")[0].upper()
    if first in FAMILIES or any(len(family) > 3 and first.startswith(family) for family in FAMILIES):
        return True
    return len(first) <= LONGEST_FAMILY and any(
        len(family) > 3 and abs(len(family) - len(first)) < 2 and edit_distance(first, family, 1) <= 1 for family in FAMILIES
    )


def _near(name: str, names: frozenset[str]) -> str | None:
    upper = name.upper()
    if upper in names:
        return upper
    words, letters = sorted(upper.split("_")), set(upper)
    limit = 1 if len(name) < 12 else 2
    alike = [name for name in names if abs(len(name) - len(upper)) <= limit and len(letters - set(name)) <= limit]
    same = [candidate for candidate in alike if len(candidate) == len(upper) and sorted(candidate.split("_")) == words]
    if len(same) == 1:
        return same[0]
    if len(whole := [candidate for candidate in names if _cut_short(upper, candidate)]) == 1:
        return whole[0]
    best: list[tuple[int, str]] = []
    for candidate in alike:
        distance = edit_distance(upper, candidate, limit)
        if distance <= limit and not _other_words(upper, candidate, names):
            best.append((distance, candidate))
    best.sort()
    return best[0][1] if best and (len(best) == 1 or best[0][0] < best[1][0]) else None


def _cut_short(name: str, candidate: str) -> bool:
    """Do their ends alone differ: an end that is missing, or a last word written in full?"""
    if len(name) < 12:
        return False
    missing = candidate.startswith(name) and len(candidate) - len(name) <= 4
    return missing or (
        not name.startswith(SHARED) and name.startswith(candidate) and len(name) - len(candidate) <= 4 and name[len(candidate) :].isalpha()
    )


def _other_words(name: str, candidate: str, names: frozenset[str]) -> bool:
    """Do they differ by one word for another, or by a number? Then no one is the other misspelt."""
    if re.findall(r"\d+", name) != re.findall(r"\d+", candidate):
        return True
    ours, theirs = name.split("_"), candidate.split("_")
    if len(ours) != len(theirs):
        return False
    different = [(one, other) for one, other in zip(ours, theirs, strict=True) if one != other]
    return any(
        (len(one) < 4 and len(other) < 4)
        or (not one.startswith(other) and not other.startswith(one) and any(one in known_name.split("_") for known_name in names))
        for one, other in different
    )


@check("env-twice")
def env_twice(view: View) -> Iterator[Finding]:
    """One of the known variables is set to two values; the rest of a dumped environment is nobody's business."""
    names = known(view)
    for problem in view.document.duplicates:
        name = str(problem.path[-1])
        if name in names:
            line = view.document.line_column(problem.related[0][0].start)[0]
            yield Finding(f"env.{name}", {"name": name, "text": short(texts(view)[name]), "line": line})


@check("deepspeed-env-lines")
def deepspeed_env_lines(view: View) -> Iterator[Finding]:
    """DeepSpeed's launcher splits every line of .deepspeed_env at the first "=", comments and empty lines too, and keeps the rest as it is."""
    if view.document.file.replace("\\", "/").rpartition("/")[2] != ".deepspeed_env" or view.fact("num_nodes") == 1:
        return
    lines = view.document.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if "=" not in line:
            what = "a comment" if line.strip().startswith("#") else "an empty line" if not line.strip() else "no assignment"
            yield Finding("env", {"number": number, "what": what})
            return


# --- values ---


@check("nccl-number")
def nccl_number(view: View) -> Iterator[Finding]:
    """NCCL reads a number with strtoll, which takes a word for 0 and stops at the first letter."""
    keys = view.resolved.schema.block("env").keys
    for name, text in texts(view).items():
        info = keys.get(name)
        if info is None or not (info.coerce == "strtoll" or name == "NCCL_P2P_DISABLE") or not text.strip():
            continue
        if view.get(f"env.{name}") is not MISSING or unfinished(text):
            continue
        match = re.match(r"\s*[+-]?[0-9]+", text)
        counts = match.group().strip() if match else "0"
        plain = WORDS.get(text.strip().lower())
        change = () if plain is None else (Fix(f"write {plain}", "safe", (Change("set", view.path(f"env.{name}"), plain),)),)
        yield Finding(f"env.{name}", {"name": name, "text": short(text), "counts": short(counts)}, fixes=change)


# whose variable -> what becomes of a word that it does not know
CONSEQUENCES: Mapping[str, str] = {
    "TORCH_NCCL_": 'torch stops with "Invalid value for environment variable"',
    "TORCH_DISTRIBUTED_DEBUG": "torch stops with an error",
    "NCCL_": "NCCL ignores it",
    "ACCELERATE_": "Accelerate refuses it",
    "CUDA_": "CUDA ignores it",
}
SPOKEN_FOR = (
    "NCCL_P2P_DISABLE",
    "ACCELERATE_USE_DEEPSPEED",
    "ACCELERATE_USE_FSDP",
    "ACCELERATE_USE_MEGATRON_LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG",
)


@check("env-choice")
def env_choice(view: View) -> Iterator[Finding]:
    """A word that is none of the variable's choices."""
    keys = view.resolved.schema.block("env").keys
    for name, text in texts(view).items():
        info = keys.get(name)
        if info is None or info.enum is None or name in SPOKEN_FOR or not text.strip() or unfinished(text):
            continue
        if coerce(info, text).ok or (text.isdigit() and "0" in info.enum and name.endswith("_LEVEL")):
            continue
        near = suggest(text, info.enum)
        values = {
            "name": name,
            "text": short(text),
            "choices": ", ".join(map(str, info.enum)),
            "hint": f", did you mean {near}?" if near else "",
        }
        consequence = next(words for start, words in CONSEQUENCES.items() if name.startswith(start))
        fixes = (Fix(f"write {near}", "unsafe", (Change("set", view.path(f"env.{name}"), near),)),) if near else ()
        yield Finding(f"env.{name}", {**values, "consequence": consequence}, severity="warning" if info.tolerant else None, fixes=fixes)


ALLOCATORS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
# option -> what its value is; read in c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h of torch 2.13
OPTIONS: Mapping[str, str] = {
    "backend": "backend",
    "expandable_segments": "bool",
    "garbage_collection_threshold": "fraction",
    "graph_capture_record_stream_reuse": "bool",
    "large_segment_size_mb": "number",
    "max_non_split_rounding_mb": "split",
    "max_split_size_mb": "split",
    "per_process_memory_fraction": "any",
    "pinned_free_catch_all": "bool",
    "pinned_max_cached_size_mb": "number",
    "pinned_max_round_threshold_mb": "number",
    "pinned_num_register_threads": "power",
    "pinned_reserve_segment_size_mb": "number",
    "pinned_use_background_threads": "bool",
    "pinned_use_cuda_host_register": "bool",
    "pinned_use_hip_host_register": "bool",
    "release_lock_on_cudamalloc": "bool",
    "release_lock_on_hipmalloc": "bool",
    "roundup_power2_divisions": "divisions",
    "throw_on_cudamalloc_oom": "bool",
}
SPLIT_LEAST = 20


@check("allocator-settings")
def allocator_settings(view: View) -> Iterator[Finding]:
    """What torch's own parser of the caching allocator's settings refuses, when the first tensor is put on a GPU."""
    for name in ALLOCATORS:
        text = texts(view).get(name, "")
        if text and not unfinished(text) and (trouble := allocator_trouble(text)) is not None:
            mended = _mended(text)
            change = Change("set", view.path(f"env.{name}"), mended)
            fixes = (Fix(f"write {mended}", "safe", (change,)),) if mended != text and allocator_trouble(mended) is None else ()
            yield Finding(f"env.{name}", {"name": name, "trouble": trouble}, fixes=fixes)


def allocator_trouble(text: str) -> str | None:
    """Why torch refuses the settings, or None."""
    for option in _options(text):
        name, colon, value = option.partition(":")
        if not colon:
            known_name = re.split(r"[=;]", name)[0]
            hint = f": write {known_name}:VALUE" if known_name in OPTIONS else ""
            return f"{short(name)!r} has no value{hint}"
        if name not in OPTIONS:
            near = [
                known_name for known_name in OPTIONS if abs(len(name) - len(known_name)) < 4 and edit_distance(name, known_name, 3) <= 3
            ]
            return f"there is no option {short(name)}" + (f", did you mean {near[0]}?" if len(near) == 1 else "")
        if (trouble := _value_trouble(name, value)) is not None:
            return f"{name} is {short(value)}: {trouble}"
    return None


def _options(text: str) -> list[str]:
    """``name:value`` of each option; commas in brackets are of the value."""
    parts, depth = [""], 0
    for piece in re.split(r"([,\[\]])", re.sub(r"\s+", "", text)):
        depth += (piece == "[") - (piece == "]")
        if piece == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts[:-1] if parts[-1] == "" else parts


def _value_trouble(name: str, value: str) -> str | None:
    kind = OPTIONS[name]
    if ":" in value and not value.startswith("["):
        return "options stand between commas"
    if kind == "bool" and value not in ("True", "False"):
        return "write True or False, with the capital letter"
    if kind == "backend" and value not in ("native", "cudaMallocAsync", "hipMallocAsync"):
        return "write native or cudaMallocAsync"
    if kind in ("number", "split", "power") and not re.match(r"\d", value):
        return "write a whole number"
    if kind == "split" and int(re.match(r"\d{1,9}", value).group()) < SPLIT_LEAST:  # type: ignore[union-attr]
        return f"torch takes {SPLIT_LEAST} or more"
    if kind == "fraction" and not (re.fullmatch(r"[0-9.]+(e-?\d+)?", value) and value.count(".") < 2 and 0 < float(value) < 1):
        return "write a fraction between 0 and 1"
    return None


def _mended(text: str) -> str:
    """What is plainly meant: a colon for an equals sign, a comma for a semicolon, True for true."""
    plain = re.sub(r"=", ":", re.sub(r";", ",", text))
    return re.sub(r":(true|false)\b", lambda match: f":{match.group(1).capitalize()}", plain, flags=re.IGNORECASE)


@check("nccl-list")
def nccl_list(view: View) -> Iterator[Finding]:
    """NCCL_ALGO and NCCL_PROTO: a list with a word that NCCL does not know fails every communicator."""
    for name, words in (("NCCL_ALGO", ALGORITHMS), ("NCCL_PROTO", PROTOCOLS)):
        text = texts(view).get(name, "")
        if unfinished(text):
            continue
        elements = [word.strip() for part in text.split(";") for word in part.rpartition(":")[2].lstrip("^").split(",") if word.strip()]
        unknown = [word for word in elements if word.lower() not in {one.lower() for one in words}]
        if unknown:
            yield Finding(f"env.{name}", {"name": name, "word": short(unknown[0]), "words": ", ".join(words)})


ALGORITHMS = ("Tree", "Ring", "CollNet", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")


# --- GPUs and hosts ---


@check("visible-devices")
def visible_devices(view: View) -> Iterator[Finding]:
    """Fewer GPUs are visible than processes are started on the host. DeepSpeed's launcher ignores the variable when it is told a number."""
    text = texts(view).get("CUDA_VISIBLE_DEVICES")
    if text is None or unfinished(text):
        return
    devices, twice = devices_of(text)
    if twice is not None:
        yield Finding(
            "env.CUDA_VISIBLE_DEVICES", message=f"CUDA_VISIBLE_DEVICES names GPU {short(twice)} twice: CUDA then sees no device at all"
        )
        return
    started, plan = _processes_of_a_host(view)
    launcher = view.project.facts.get("launcher")
    if started is None or started <= devices or launcher == "deepspeed":
        return
    shown = f"{devices} GPU{'s' * (devices != 1)}" if devices else "no GPU"
    severity: Severity = "error" if launcher is not None or plan else "warning"  # DeepSpeed's launcher may be meant
    yield Finding("env.CUDA_VISIBLE_DEVICES", {"shown": shown, "text": short(text), "started": started}, severity=severity, plan=plan)


def devices_of(text: str) -> tuple[int, str | None]:
    """How many GPUs CUDA_VISIBLE_DEVICES shows, and one that it names twice: then there is none. The list ends at what names no device."""
    prefix = text[:4] if text.startswith(("GPU-", "MIG-")) else ""
    seen: set[str] = set()
    for part in text.split(","):
        match = re.match(r"[+]?(\d{1,9})", part.strip())
        name = part if prefix else match.group(1) if match else ""
        if not name.startswith(prefix) or not name:
            break
        name = name if prefix else str(int(name))
        if name in seen:
            return 0, name
        seen.add(name)
    return len(seen), None


def _processes_of_a_host(view: View) -> tuple[int | None, tuple[str, ...]]:
    """How many processes start on each host, as the variables say, else the launcher's config; and the names of the Plan it rests on."""
    facts = view.project.facts
    for name in ("gpus_per_node", "num_gpus"):
        if isinstance(known_number := facts.get(name), int):
            return known_number, ()
    processes, machines = view.plan.get("launch.processes"), view.plan.get("launch.machines")
    if not isinstance(processes, int) or _picks_devices(view):
        view.fact("gpus_per_node")
        return None, ()
    return -(-processes // machines) if isinstance(machines, int) and machines > 0 else processes, ("launch.processes",)


CARDS_WITHOUT_P2P = "RTX 40"
DRIVER_WITH_CHECK = (550, 40, 7)


def _picks_devices(view: View) -> bool:
    """Does the launcher's config itself say which GPUs are used, or that none is, or start DeepSpeed's launcher? Then the variable does not count."""
    machines = view.plan.get("launch.machines")
    if view.plan.get("engine.kind") == "deepspeed" and isinstance(machines, int) and machines > 1:
        return True
    statement = view.plan.statement("launch.processes")
    document = None if statement is None else statement.document
    said = None if document is None or document.root is None else to_python(document.root)
    return isinstance(said, dict) and (said.get("gpu_ids") not in (None, "all") or said.get("use_cpu") is True)


@check("p2p-on-rtx-40")
def p2p_on_rtx_40(view: View) -> Iterator[Finding]:
    """Accelerate refuses to start several RTX 40 cards on an old driver, unless P2P and InfiniBand are off or its own launcher sets them so."""
    gpu = view.project.facts.get("gpu_name")
    plain = re.sub(r"[\s_-]+", " ", re.sub(r"(?i)rtx(?=\d)", "RTX ", str(gpu))).upper()
    if CARDS_WITHOUT_P2P not in plain or view.project.context == "native":
        return
    driver, launcher = view.fact("driver_version"), view.fact("launcher")
    gpus = view.project.facts.get("num_gpus") or view.fact("gpus_per_node")
    if MISSING in (driver, launcher, gpus) or launcher == "accelerate":
        return
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", driver))
    if not isinstance(gpus, int) or gpus < 2 or not numbers or numbers >= DRIVER_WITH_CHECK:
        return
    missing = [name for name in ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE") if name not in texts(view)]
    if not missing:
        return
    changes = tuple(Change("set", ("env", name), "1") for name in missing)
    yield Finding(
        "env.GPU_NAME" if view.written("env.GPU_NAME") else f"env.{missing[0]}",
        {"gpu": gpu, "driver": driver, "missing": " and ".join(f"{name}=1" for name in missing)},
        fixes=(Fix(f"set {' and '.join(missing)}", "safe", changes),),
    )


NVLINKED = r"(?i)\b(V100-SXM|A100-SXM|A800-SXM|H100 80GB HBM3|H200|GB200|B200|H100-SXM|H800-SXM|H20)"


@check("p2p-off-on-nvlink")
def p2p_off_on_nvlink(view: View) -> Iterator[Finding]:
    """NVLink is there and may not be used."""
    gpu = view.fact("gpu_name")
    if isinstance(gpu, str) and re.search(NVLINKED, gpu) and texts(view).get("NCCL_P2P_DISABLE", "").strip() == "1":
        yield Finding("env.NCCL_P2P_DISABLE", {"gpu": gpu})


LOOPBACK = r"(?i)localhost|127(\.\d+){3}|::1"


@check("loopback-between-nodes")
def loopback_between_nodes(view: View) -> Iterator[Finding]:
    """Several nodes, and an address or interface that never leaves one."""
    nodes = view.fact("num_nodes")
    if not isinstance(nodes, int) or nodes < 2:
        return
    written = texts(view)
    if re.fullmatch(LOOPBACK, written.get("MASTER_ADDR", "").strip()):
        yield Finding("env.MASTER_ADDR", {"name": "MASTER_ADDR", "value": written["MASTER_ADDR"], "nodes": nodes, "what": "address"})
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        interfaces = written.get(name, "").strip().lstrip("=")
        if interfaces == "lo":
            yield Finding(f"env.{name}", {"name": name, "value": interfaces, "nodes": nodes, "what": "interface"})


ADDRESS = r"\d{1,3}(\.\d{1,3}){3}"


@check("interface-names")
def interface_names(view: View) -> Iterator[Finding]:
    """NCCL matches names of interfaces by their beginning, Gloo takes them as they are; an address is the name of none."""
    written = texts(view)
    for name, gloo in (("NCCL_SOCKET_IFNAME", False), ("NCCL_OOB_NET_IFNAME", False), ("GLOO_SOCKET_IFNAME", True)):
        text = written.get(name, "").strip()
        if not text or unfinished(text):
            continue
        plain = text if gloo else text.lstrip("=")
        for interface in plain.split(","):
            if re.fullmatch(ADDRESS, interface.strip()):
                who = 'Gloo stops with "Unable to find address for"' if gloo else 'NCCL stops with "no socket interface found"'
                yield Finding(f"env.{name}", {"trouble": f"{name} is the address {interface.strip()}: {who}; write the interface's name"})
            elif gloo and interface.strip().startswith(("^", "=")):
                yield Finding(f"env.{name}", {"trouble": f"{name}={short(text)}: ^ and = are NCCL's; Gloo takes whole names only"})
            else:
                continue
            break


@check("topology-file")
def topology_file(view: View) -> Iterator[Finding]:
    """A relative path that is not there, as seen from here and from the file's folder. Absolute ones are of the machine of the run."""
    for name, effect in (("NCCL_TOPO_FILE", "NCCL goes on without it, silently"), ("NCCL_GRAPH_FILE", "NCCL stops with a system error")):
        text = texts(view).get(name, "").strip()
        if not text or unfinished(text) or text.startswith(("/", "~")) or "\0" in text:
            continue
        folders = (os.getcwd(), os.path.dirname(os.path.abspath(view.document.file)))
        if not any(os.path.exists(os.path.join(folder, text)) for folder in folders):
            yield Finding(f"env.{name}", {"name": name, "text": short(text), "effect": effect})


@check("launch-numbers")
def launch_numbers(view: View) -> Iterator[Finding]:
    """WORLD_SIZE is not the product of nodes and GPUs of each."""
    written = view.project.facts.values
    world, nodes = written.get("world_size"), written.get("num_nodes")
    each = written.get("gpus_per_node", written.get("num_gpus"))
    if (
        isinstance(world, int)
        and isinstance(nodes, int)
        and isinstance(each, int)
        and world != nodes * each
        and view.written("env.WORLD_SIZE")
    ):
        yield Finding("env.WORLD_SIZE", {"world": world, "nodes": nodes, "each": each, "product": nodes * each})


# --- the hostfile ---


@check("hostfile-slots")
def hostfile_slots(view: View) -> Iterator[Finding]:
    """More processes are meant than the hosts have slots."""
    hosts = view.resolved.values or {name: view.raw(name) for name in view.keys("")}
    slots = [count for count in hosts.values() if isinstance(count, int)]
    nodes, each, world = view.fact("num_nodes"), view.fact("gpus_per_node"), view.fact("world_size")
    if nodes is MISSING:
        nodes = view.plan.get("launch.machines")
    first = next(iter(hosts), "")
    if isinstance(nodes, int) and nodes > len(hosts):
        yield Finding(
            first,
            message=f"{nodes} nodes are meant, the hostfile has {len(hosts)}: DeepSpeed starts on those only",
            plan=("launch.machines",),
        )
    elif isinstance(world, int) and not isinstance(each, int) and world > sum(slots):
        yield Finding(first, message=f"world size {world} is meant, the hosts have {sum(slots)} slots together")
    if isinstance(each, int):
        for name, count in hosts.items():
            if isinstance(count, int) and count < each:
                yield Finding(
                    name, message=f"{name} has {count} slots, and {each} GPUs a node are meant: DeepSpeed starts {count} ranks there"
                )
