"""What is said about the launch: a dotenv file of variables, and the flags of the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from dslint.document import Document, load, to_python
from dslint.document.load import read
from dslint.document.overlay import Override
from dslint.engine.facts import VARIABLES, Facts, Value
from dslint.engine.project import Target
from dslint.faults import Fault
from dslint.formats.base import Context
from dslint.nearest import did_you_mean
from dslint.targets import FRAMEWORKS, checked_version

CONTEXTS: Mapping[str, Context] = {"native": "native", "standalone": "native", "dict": "native", "hf": "hf"}
EMPTY, NO_ASSIGNMENT = "PA008", "PA015"


class Launch(NamedTuple):
    """Facts, target versions and context, as far as they are said. ``document``: the env file that says them."""

    facts: Facts = Facts()
    targets: Mapping[str, Target] = MappingProxyType({})
    context: Context | None = None
    document: Document | None = None


NOTHING_SAID = Launch()


def read_env_file(file: str) -> Launch:
    """The launch that a dotenv file describes. Raises Fault with file and line."""
    try:
        data = read(file)
    except OSError as error:
        raise Fault(f"--env-file {file}: {error.strerror or error}") from None
    document = load(file, data, "env")
    if document.root is None and document.problems[0].code != EMPTY:
        raise Fault(f"--env-file {file}: {document.problems[0].message}")
    lines = {name: (number, value) for number, name, value in variables(document)}
    targets: dict[str, Target] = {}
    context: Context | None = None
    for name, (number, value) in lines.items():
        framework = FRAMEWORKS.get(name.removesuffix("_VERSION").lower().replace("_", "")) if name.endswith("_VERSION") else None
        if framework and value:
            targets[framework] = Target(checked_version(value, f"{file}:{number}: {name}"), file)
        elif name == "DSLINT_CONTEXT" and value:
            if value.lower() not in CONTEXTS:
                raise Fault(f"{file}:{number}: DSLINT_CONTEXT={value}: write native or hf{did_you_mean(value, CONTEXTS)}")
            context = CONTEXTS[value.lower()]
    facts = Facts({}, {name: value for name, (_, value) in lines.items()})
    for name in filter(lines.__contains__, VARIABLES):
        number, value = lines[name]
        try:
            facts = facts.merged(Facts.from_env({name: value}))
        except ValueError as error:
            raise Fault(f"{file}:{number}: {error}") from None
    return Launch(with_known_gpu(facts), targets, context, document)


def facts_of_document(document: Document) -> Facts:
    """The facts of an env file that is checked itself; a value that is none of them tells nothing (the check says what is wrong with it)."""
    written = _variables(document)
    facts = Facts({}, written)
    for name in filter(written.__contains__, VARIABLES):
        with suppress(ValueError):
            facts = facts.merged(Facts.from_env({name: written[name]}))
    return with_known_gpu(facts)


def with_known_gpu(facts: Facts) -> Facts:
    """The facts, with what the GPU's name tells put under them."""
    name = facts.values.get("gpu_name")
    if not isinstance(name, str):
        return facts
    from dslint.hardware import known_of

    return Facts(known_of(name)).merged(facts)


def parse_env(text: str, file: str) -> Iterable[tuple[int, str, str]]:
    """Line number, name and value of each ``NAME=value``. Raises Fault."""
    return variables(load(file, text.encode(), "env"))


def variables(document: Document) -> list[tuple[int, str, str]]:
    """Line number, name and value of each variable of an env file. Raises Fault for what is none."""
    for problem in document.problems:
        if problem.code == NO_ASSIGNMENT:
            raise Fault(f"{document.file}:{document.line_column(problem.span.start)[0]}: {problem.message}")
    return [(document.line_column(document.key_span(("env", name)).start)[0], name, value) for name, value in _variables(document).items()]


def _variables(document: Document) -> dict[str, str]:
    node = document.node(("env",))
    return {name: str(value) for name, value in to_python(node).items()} if node is not None else {}


def facts_of_flags(gpu: str | None, world_size: int | None, host_ram: str | None, nvme: str | None = None) -> Facts:
    """The facts of --gpu, --world-size, --host-ram and --nvme, as far as they are given. Raises Fault for what is no number above zero."""
    values: dict[str, Value] = {}
    if gpu is not None:
        from dslint.hardware import facts_of

        values = facts_of(gpu)
    for flag, name, size in (("--host-ram", "host_ram_gb", host_ram), ("--nvme", "nvme_gb", nvme)):
        if size is not None:
            from dslint.hardware import size_gb

            values[name] = size_gb(size, flag)
    if world_size is not None:
        if world_size <= 0:
            raise Fault(f"--world-size {world_size}: expected a number above 0")
        values["world_size"] = world_size
    return Facts(values)


WORDS = {"true": True, "false": False, "null": None, "none": None}


def parse_overrides(texts: Iterable[str]) -> tuple[Override, ...]:
    """``learning_rate=1e-5``, ``--learning_rate=1e-5``, ``fsdp_config.fsdp_version=2``. Raises Fault."""
    overrides = []
    for text in texts:
        key, equals, value = text.removeprefix("--").partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w-]*(\.[\w-]+)*", key.strip()):
            raise Fault(f"--set {text}: write KEY=VALUE, for example --set learning_rate=1e-5")
        overrides.append(Override(tuple(key.strip().split(".")), _plain_value(value.strip())))
    return tuple(overrides)


def _plain_value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
