"""The flags that say what the launch is, the same for every command that reads configs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dslint.document.load import MAXIMUM_BYTES
from dslint.formats import FORMATS
from dslint.launch import NOTHING_SAID, Launch, facts_of_flags, parse_overrides, read_env_file
from dslint.selection import parse_codes
from dslint.settings import settings_for
from dslint.targets import parse_targets
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.baseline import Baseline

Command = TypeVar("Command", bound=Callable[..., Any])
LAUNCH_OPTIONS = (
    click.option("--target", multiple=True, metavar="NAME==VERSION", help="A framework's version (repeatable)."),
    click.option("--context", type=click.Choice(["native", "hf"]), help="Who reads the file: DeepSpeed itself, or the HF integration."),
    click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A value of the launch, above the files' (repeatable)."),
    click.option("--env-file", metavar="FILE", help="Variables of the launch (dotenv): WORLD_SIZE, GPU_NAME, DEEPSPEED_VERSION …"),
    click.option("--world-size", type=int, metavar="N", help="Ranks of the run."),
    click.option("--gpu", metavar="[Nx]NAME|GB", help="The GPU, such as A100-80GB, or its memory in GB; 8xH100 is eight on one host."),
    click.option("--host-ram", metavar="SIZE", help="Memory of each host, such as 512GiB; a number alone is GB."),
    click.option("--nvme", metavar="SIZE", help="NVMe of each host that states can be offloaded to."),
    click.option("--input-format", type=click.Choice(list(FORMATS)), help="What the files are, instead of looking."),
    click.option("--max-bytes", type=click.IntRange(min=1), default=MAXIMUM_BYTES, show_default=True, help="Largest file that is read."),
)


def launch_options(command: Command) -> Command:
    """Add the flags to a command; ``workspace_of`` reads them."""
    for option in reversed(LAUNCH_OPTIONS):
        command = option(command)
    return command


def workspace_of(flags: dict[str, Any]) -> Workspace:
    """What the files are checked against, from the launch's flags and, where the command has them, ``select`` and ``ignore``. Raises Fault."""
    select, ignore = flags.get("select", ()), flags.get("ignore", ())
    extra = settings_for(os.getcwd()).extra_rules if select or ignore else ()
    return Workspace(
        Launch(
            facts_of_flags(flags["gpu"], flags["world_size"], flags["host_ram"], flags["nvme"]),
            parse_targets(flags["target"]),
            flags["context"],
        ),
        read_env_file(flags["env_file"]) if flags["env_file"] else NOTHING_SAID,
        parse_codes(select, "--select", extra),
        parse_codes(ignore, "--ignore", extra),
        flags["input_format"],
        flags["max_bytes"],
        parse_overrides(flags["overrides"]),
        _baseline(flags.get("baseline")),
    )


def _baseline(name: str | None) -> Baseline | None:
    if name is None:
        return None
    from dslint.baseline import read

    return read(name)
