"""The command as a process: its streams, its colours, and what it loads."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TYPO, write

DSLINT = [sys.executable, "-c", "from dslint.cli import main; main()"]


def on_a_terminal(folder: Path, **environment: str) -> str:
    parent, child = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([*DSLINT, "check"], cwd=folder, stdout=child, stderr=child, env={**variables, **environment})
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    process.wait(timeout=60)
    return shown.decode()


def test_colours_on_a_terminal_only(folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    assert "\x1b[31;1merror\x1b[0m" in on_a_terminal(folder)
    assert "\x1b" not in on_a_terminal(folder, NO_COLOR="1")
    piped = subprocess.run([*DSLINT, "check"], cwd=folder, capture_output=True, text=True, check=False)
    assert piped.returncode == 1
    assert "\x1b" not in piped.stdout


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    process = subprocess.Popen([*DSLINT, "check", "--format", "json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert said == b""


def test_closed_streams_and_a_full_disk_are_no_defect(folder: Path) -> None:
    write(folder / "ds_config.json", TYPO)
    command = " ".join(f"'{part}'" for part in DSLINT)

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)

    assert shell(f"{command} check >&-").returncode == 1
    assert shell(f"{command} check >&- 2>&-").returncode == 1
    closed = shell(f"{command} check - <&-")
    assert (closed.returncode, closed.stderr) == (2, "dslint: -: standard input is closed\n")
    if os.path.exists("/dev/full"):
        full = shell(f"{command} check > /dev/full")
        assert (full.returncode, full.stderr) == (2, "dslint: the output cannot be written: No space left on device\n")


def test_a_terminal_with_few_characters_can_show_any_file(folder: Path) -> None:
    write(folder / "ds_\N{RIGHTWARDS ARROW}.json", TYPO)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*DSLINT, "check"], cwd=folder, capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert b"ds_\\u2192.json:" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("output", ["text", "concise", "json"])
def test_nothing_heavy_is_loaded(folder: Path, output: str) -> None:
    write(folder / "ds_config.json", TYPO)
    program = (
        "import sys, json\nfrom dslint.cli import run\n"
        f"run(['check', '--format', {output!r}, 'ds_config.json'])\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stderr)} | set(json.loads(done.stderr))
    heavy = {
        "torch",
        "deepspeed",
        "transformers",
        "accelerate",
        "pydantic",
        "yaml",
        "ruamel",
        "jsonschema",
        "rich",
        "importlib.metadata",
        "tomllib",
    }
    assert not loaded & heavy


def test_the_installed_command_answers(folder: Path) -> None:
    done = subprocess.run([str(Path(sys.executable).with_name("dslint")), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dslint, version ")
