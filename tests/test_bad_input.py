"""Whatever a file holds: one finding or one clear sentence, never a traceback, within 2 s of processor time and 500 MB.

The command runs as a user runs it, in a process of its own whose processor time and memory the system limits.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dslint.formats import FORMATS

SECONDS, BYTES = 2, 500 * 1024 * 1024
LIBC = ctypes.CDLL(None)
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
GOOD = b'{"train_batch_size": 8}'


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    if os.geteuid() == 0:  # let permissions hold for root too
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def check(folder: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", "from dslint.cli import main; main()", "check", *arguments],
        cwd=folder,
        input=None if stdin is None else stdin.decode("latin-1"),
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="latin-1",
        timeout=60,
        preexec_fn=limited,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2, 3), done.stderr
    return done


def codes(folder: Path, data: bytes, name: str = "ds_config.json") -> list[str]:
    (folder / name).write_bytes(data)
    done = check(folder, "--format", "json", name)
    assert done.stderr == ""
    return [diagnostic["code"] for diagnostic in json.loads(done.stdout)["diagnostics"] if diagnostic["severity"] == "error"]


ONE_FINDING = {
    "empty": (b"", "PA008"),
    "blank": (b" \r\n\t", "PA008"),
    "latin-1": (b'{"a": "\xe9"}', "PA001"),
    "utf-16": ("\ufeff{}".encode("utf-16-le"), "PA001"),
    "binary": (bytes(range(1, 256)) * 20, "PA001"),
    "NUL": (b'{"train_batch_size": 8\x00}', "PA009"),
    "100 MB": (b'{"a": "' + b"x" * 100_000_000 + b'"}', "PA006"),
    "an integer of 10,000 digits": (b'{"train_batch_size": ' + b"9" * 10_000 + b"}", "PA010"),
    "10,000 levels of lists": (b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "PA007"),
    "10,000 levels of objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "PA007"),
    "never closed": (b'{"zero_optimization": {"stage": 2', "PA002"),
    "only an opening": (b"{", "PA002"),
    "a list": (b"[1, 2]", None),
    "a word": (b'"deepspeed"', None),
}


@pytest.mark.parametrize("kind", ONE_FINDING)
def test_one_finding(tmp_path: Path, kind: str) -> None:
    data, code = ONE_FINDING[kind]
    found = codes(tmp_path, data)
    assert len(found) == 1
    assert code is None or found == [code]


def test_a_byte_order_mark_and_tabs_are_no_fault(tmp_path: Path) -> None:
    assert codes(tmp_path, b'\xef\xbb\xbf{\t"train_batch_size":\t8\t}') == []


def test_keys_written_twice(tmp_path: Path) -> None:
    assert len(codes(tmp_path, b'{"train_batch_size": 8, "train_batch_size": 8}')) == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(tmp_path: Path, number: str) -> None:
    assert len(codes(tmp_path, b'{"train_batch_size": ' + number.encode() + b"}")) == 1


def test_yaml_aliases_that_explode(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / "ds_config.yaml").write_text("\n".join(lines))
    done = check(tmp_path, "--format", "json", "ds_config.yaml")
    assert done.returncode == 1
    assert [diagnostic["code"] for diagnostic in json.loads(done.stdout)["diagnostics"]] == ["PA011"]


def wide(entries: int) -> bytes:
    return json.dumps({f"key_{number}": number for number in range(entries)}).encode()


@pytest.mark.parametrize("output", ["text", "concise", "json"])
def test_a_file_of_findings_ends_in_time(tmp_path: Path, output: str) -> None:
    (tmp_path / "ds_config.json").write_bytes(wide(40_000))
    done = check(tmp_path, "--format", output, "ds_config.json")
    assert done.stdout.count("key_499") >= 1
    assert "39500 more keys of this file are wrong" in done.stdout


def test_a_megabyte_of_numbers_ends_in_time(tmp_path: Path) -> None:
    (tmp_path / "ds_config.json").write_bytes(b'{"train_batch_size": 8, "_note": [' + b"1, " * 150_000 + b"1]}")
    assert check(tmp_path, "ds_config.json").returncode in (0, 1)


def test_a_directory_with_a_file_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    done = check(tmp_path, "x.json")
    assert (done.returncode, done.stderr) == (3, f"dslint: x.json: holds no known config ({', '.join(FORMATS)})\n")
    (tmp_path / "x.json" / "ds_config.json").write_bytes(GOOD)
    assert check(tmp_path, "x.json").returncode == 0


def test_a_missing_file(tmp_path: Path) -> None:
    done = check(tmp_path, "gone.json")
    assert (done.returncode, done.stderr) == (2, "dslint: gone.json: no such file or directory\n")


def test_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to("gone.json")
    done = check(tmp_path, "x.json")
    assert (done.returncode, done.stderr) == (2, "dslint: x.json: a link to gone.json, which does not exist\n")
    assert check(tmp_path, ".").returncode == 3


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to("x.json")
    done = check(tmp_path, "x.json")
    assert (done.returncode, done.stderr) == (2, "dslint: x.json: a link that leads back to itself\n")


def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    done = check(tmp_path, "x.json")
    assert done.returncode == 2
    assert "not a regular file but a pipe" in done.stderr
    assert "not a regular file but a device" in check(tmp_path, "/dev/zero").stderr
    assert check(tmp_path, ".").returncode == 3


def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "ds_config.json").write_bytes(GOOD)
    (tmp_path / "ds_config.json").chmod(0)
    for argument in ("ds_config.json", "."):
        done = check(tmp_path, argument)
        assert done.returncode == 2
        assert "ds_config.json: permission denied" in done.stderr


@pytest.mark.parametrize("name", ["x\n.json", "x\x1b[2J.json", "-x.json", "ü.json", "a b.json"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'{"train_batch_size": 8, "gradient_cliping": 1}')
    done = check(tmp_path, "--format", "concise", "--", name)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    name = os.fsencode(str(tmp_path)) + b"/ds_\xff.json"
    with open(name, "wb") as file:
        file.write(GOOD)
    for output in ("text", "json", "concise"):
        assert check(tmp_path, "--format", output, ".").returncode == 0


def test_standard_input_is_limited_too(tmp_path: Path) -> None:
    done = check(tmp_path, "--format", "json", "--stdin-filename", "ds_config.json", "-", stdin=b'{"a": "' + b"x" * 2_000_000)
    assert [diagnostic["code"] for diagnostic in json.loads(done.stdout)["diagnostics"]] == ["PA006"]


def test_bad_input_is_never_rewritten(tmp_path: Path) -> None:
    for number, (data, _) in enumerate(value for kind, value in ONE_FINDING.items() if kind != "100 MB"):
        file = tmp_path / f"ds_{number}.json"
        file.write_bytes(data)
        check(tmp_path, "--fix", "--unsafe-fixes", file.name)
        assert file.read_bytes() == data
        assert stat.S_ISREG(file.stat().st_mode)
