"""Every raise, assert and warning of a framework that a config could reach, read from the source by AST.

    python tools/list_raises.py [PACKAGE] [--framework NAME] [--format json|yaml|ids] [--unmapped]

PACKAGE is the folder ``deepspeed/`` (or that of another framework) of an unpacked release; by default that of the installed one (found,
never imported).

Each line of the list has an id ``file::qualname::kind::words``: the file below the package, the function (``Class.method``;
``<module>`` outside of any), ``raise`` with its exception (``raise ValueError``), ``assert`` or ``warn``, and the constant words
of its message, of its condition or of its expression where there is no message, joined by dashes and cut at 60 characters.
What would be the same id twice gets ``#2``, ``#3`` … in the order of the lines. Line numbers are no part of an id.

docs/coverage/FRAMEWORK.yaml (and FRAMEWORK-PART.yaml) map each id to what dslint says of it. They are lists of
groups: ``ids`` (a list), and one of ``rules: [DS001]``, ``schema: true`` (the generic SC findings say it) or ``reason: …``
(why a config alone does not trigger it); ``note`` is free. An id written as ``file::qualname::*`` or ``file::*`` stands for all
of that function or file that no exact id names (the longest such pattern wins). deepspeed-zero.yaml holds the files of
ZERO_FILES below, deepspeed.yaml the rest. tests/coverage/test_raises.py fails on what is unmapped, stale, or mapped twice.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

ZERO_FILES = (
    "runtime/zero/*.py",
    "runtime/zero/muon/*.py",
    "runtime/zenflow/*.py",
    "runtime/superoffload/*.py",
    "runtime/swap_tensor/*.py",
    "runtime/bf16_optimizer.py",
    "runtime/base_optimizer.py",
    "runtime/fp16/*.py",
    "runtime/lr_schedules.py",
    "runtime/pipe/*.py",
    "runtime/tensor_parallel/*.py",
    "moe/*.py",
    "module_inject/auto_ep*.py",
    "module_inject/auto_tp.py",
    "module_inject/autotp_config.py",
    "module_inject/tp_plan_converter.py",
    "ops/adam/*.py",
    "ops/adagrad/*.py",
    "ops/lamb/*.py",
    "ops/lion/*.py",
    "ops/muon/*.py",
)
OTHER_FILES = (
    "__init__.py",
    "runtime/config.py",
    "runtime/config_utils.py",
    "runtime/precision_config.py",
    "runtime/engine.py",
    "runtime/hybrid_engine.py",
    "runtime/compiler.py",
    "runtime/dataloader.py",
    "runtime/keep_in_fp32.py",
    "runtime/torch_autocast.py",
    "runtime/utils.py",
    "runtime/activation_checkpointing/*.py",
    "runtime/checkpoint_engine/*.py",
    "runtime/model_checkpointing/*.py",
    "runtime/data_pipeline/*.py",
    "runtime/data_pipeline/data_routing/*.py",
    "runtime/data_pipeline/data_sampling/data_sampler.py",
    "runtime/sequence_parallel/*.py",
    "autotuning/config.py",
    "comm/comm.py",
    "comm/config.py",
    "comm/torch.py",
    "compile/backend.py",
    "compile/config.py",
    "compile/init_*.py",
    "datastates/*.py",
    "inference/config.py",
    "io/base_io_buffer.py",
    "io/fast_file_writer.py",
    "launcher/launch.py",
    "launcher/multinode_runner.py",
    "launcher/runner.py",
    "monitor/*.py",
    "profiling/*.py",
    "profiling/flops_profiler/*.py",
    "utils/comms_logging.py",
    "utils/config.py",
    "utils/groups.py",
    "utils/timer.py",
    "utils/z3_leaf_module.py",
)
LLAMAFACTORY_FILES = (
    "launcher.py",
    "hparams/*.py",
    "extras/misc.py",
    "data/*.py",
    "data/processor/*.py",
    "model/*.py",
    "model/model_utils/*.py",
    "train/*.py",
    "train/*/*.py",
    "chat/*.py",
)
FILES: dict[str, tuple[str, ...]] = {"deepspeed": (*OTHER_FILES, *ZERO_FILES), "llamafactory": LLAMAFACTORY_FILES}
WARNERS = ("warning", "warn", "error", "critical", "warning_once", "warn_once", "warning_rank0", "warning_rank0_once", "error_rank0")
WARNER_OWNERS = ("logger", "warnings", "logging", "log")
LONGEST_WORDS = 60


@dataclass(frozen=True, slots=True)
class Raise:
    """One place that refuses or warns. ``message``: as far as it is constant; ``condition``: of an assert, or of the nearest ``if`` around."""

    id: str
    file: str
    line: int
    kind: str
    message: str
    condition: str


def installed_package(framework: str = "deepspeed") -> Path:
    """The folder of the installed framework. Raises FileNotFoundError where there is none."""
    spec = find_spec(framework)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{framework} is not installed here; give the folder of an unpacked release")
    return Path(spec.origin).parent


def list_raises(package: Path, patterns: Iterable[str] = FILES["deepspeed"]) -> list[Raise]:
    """All of a package, by file and line. Raises SyntaxError on a file that this Python cannot read."""
    found: list[Raise] = []
    files = {file.relative_to(package).as_posix() for pattern in patterns for file in package.glob(pattern)}
    for name in sorted(files):
        tree = ast.parse((package / name).read_text(encoding="utf-8"), name)
        seen: dict[str, int] = {}
        for node, qualname, condition in sorted(_places(tree, (), ""), key=lambda place: place[0].lineno):
            kind, message, condition = _described(node, condition)
            ident = f"{name}::{qualname or '<module>'}::{kind}::{_words(message or condition or ast.unparse(node))}"
            seen[ident] = seen.get(ident, 0) + 1
            if seen[ident] > 1:
                ident += f"#{seen[ident]}"
            found.append(Raise(ident, name, node.lineno, kind, message, condition))
    return found


def _places(node: ast.AST, names: tuple[str, ...], condition: str) -> Iterator[tuple[ast.stmt | ast.Call, str, str]]:
    """The statements and calls that refuse or warn, each with its function and the nearest condition around it."""
    for field, value in ast.iter_fields(node):
        around = condition
        if isinstance(node, ast.If) and field in ("body", "orelse"):
            around = ast.unparse(node.test) if field == "body" else f"not ({ast.unparse(node.test)})"
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, (ast.Raise, ast.Assert)) or (isinstance(child, ast.Call) and _warns(child)):
                yield child, ".".join(names), around
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            yield from _places(child, (*names, child.name) if named else names, "" if named else around)


def _warns(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in ("warning_once", "warn_once", "warn")
    return (
        isinstance(function, ast.Attribute)
        and function.attr in WARNERS
        and isinstance(function.value, ast.Name)
        and function.value.id in WARNER_OWNERS
    )


def _described(node: ast.stmt | ast.Call, condition: str) -> tuple[str, str, str]:
    """Kind, constant part of the message, and condition of a place."""
    if isinstance(node, ast.Assert):
        return "assert", _constant_text(node.msg) if node.msg else "", ast.unparse(node.test)
    if isinstance(node, ast.Raise):
        if node.exc is None:
            return "raise", "", condition
        call = node.exc
        name = ast.unparse(call.func if isinstance(call, ast.Call) else call)
        return f"raise {name}", _constant_text(call) if isinstance(call, ast.Call) else "", condition
    return "warn", _constant_text(node), condition


def _constant_text(node: ast.AST) -> str:
    """The strings within an expression, in order."""
    texts = [child for child in ast.walk(node) if isinstance(child, ast.Constant) and isinstance(child.value, str)]
    return " ".join(str(text.value).strip() for text in sorted(texts, key=lambda text: (text.lineno, text.col_offset))).strip()


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")[:LONGEST_WORDS].rstrip("-.")


def load_mapping(files: Iterable[Path]) -> list[dict[str, object]]:
    """The groups of the coverage files. Raises OSError, yaml.YAMLError."""
    import yaml

    return [group for file in files if file.exists() for group in yaml.safe_load(file.read_text(encoding="utf-8")) or []]


def mapped_to(ident: str, groups: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """The groups that speak of an id: those that name it, else those with the longest pattern over it."""
    best: list[dict[str, object]] = []
    length = 0
    for group in groups:
        for pattern in group["ids"]:  # type: ignore[attr-defined]
            exact = pattern == ident
            if not exact and not (pattern.endswith("::*") and fnmatchcase(ident, pattern.replace("[", "[[]"))):
                continue
            rank = len(ident) + 1000 if exact else len(pattern)
            if rank > length:
                best, length = [], rank
            if rank == length:
                best.append(group)
    return best


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("package", nargs="?", type=Path)
    options.add_argument("--framework", choices=sorted(FILES), default="deepspeed")
    options.add_argument("--format", choices=("json", "yaml", "ids"), default="json")
    options.add_argument("--unmapped", action="store_true", help="only what docs/coverage does not speak of")
    chosen = options.parse_args()
    found = list_raises(chosen.package or installed_package(chosen.framework), FILES[chosen.framework])
    if chosen.unmapped:
        groups = load_mapping(sorted((Path(__file__).parent.parent / "docs" / "coverage").glob(f"{chosen.framework}*.yaml")))
        found = [place for place in found if not mapped_to(place.id, groups)]
    if chosen.format == "ids":
        print("\n".join(place.id for place in found))
    elif chosen.format == "yaml":
        import yaml

        print(yaml.safe_dump([asdict(place) for place in found], sort_keys=False, allow_unicode=True, width=140), end="")
    else:
        print(json.dumps([asdict(place) for place in found], indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
