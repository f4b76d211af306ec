"""What is said about the launch, and which word counts when several are said."""

from __future__ import annotations

from pathlib import Path

import pytest

from dslint.faults import Fault
from dslint.hardware import facts_of, known_of
from dslint.launch import parse_env, read_env_file
from tests.conftest import GOOD, write


def launch_of(folder: Path, text: str):
    write(folder / "env", text)
    return read_env_file("env")


def test_facts_versions_context_and_the_rest(folder: Path) -> None:
    launch = launch_of(
        folder,
        """# the cluster
export WORLD_SIZE=16
GPU_NAME="NVIDIA A100-SXM4-80GB"   # eight a node
HOST_RAM_GB='512'
DEEPSPEED_VERSION=0.16.4
LLAMA_FACTORY_VERSION=0.9.5
DSLINT_CONTEXT=standalone
NCCL_P2P_DISABLE=1
URL=http://a/#b
EMPTY=
""",
    )
    assert launch.facts.values == {
        "world_size": 16,
        "gpu_name": "NVIDIA A100-SXM4-80GB",
        "host_ram_gb": 512.0,
        "cuda_capability": 8.0,
        "gpu_memory_gb": 80.0,
    }
    assert {name: target.version for name, target in launch.targets.items()} == {"deepspeed": "0.16.4", "llamafactory": "0.9.5"}
    assert launch.context == "native"
    assert launch.facts.env["NCCL_P2P_DISABLE"] == "1"
    assert launch.facts.env["URL"] == "http://a/#b"
    assert launch.facts.env["EMPTY"] == ""


def test_what_is_written_stands_above_what_the_name_tells(folder: Path) -> None:
    facts = launch_of(folder, "GPU_NAME=A100-80GB\nGPU_MEM_GB=40\n").facts
    assert facts.get("gpu_memory_gb") == 40.0


@pytest.mark.parametrize(
    ("word", "context"), [("native", "native"), ("standalone", "native"), ("dict", "native"), ("hf", "hf"), ("HF", "hf")]
)
def test_contexts(folder: Path, word: str, context: str) -> None:
    assert launch_of(folder, f"DSLINT_CONTEXT={word}").context == context


def test_quotes_and_escapes() -> None:
    text = 'A="x\\n\\"y\\" # z"\nB=\'a \\n b\' # c\nC=a#b\nD = spaced out # d\n'
    assert {name: value for _, name, value in parse_env(text, "env")} == {"A": 'x\n"y" # z', "B": "a \\n b", "C": "a#b", "D": "spaced out"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A=1\nnonsense here\n", "env:2: 'nonsense here' is no assignment; write NAME=value"),
        ("1A=2", "env:1: '1A=2' is no assignment"),
        ('A="open', 'env:1: the quote " is not closed'),
        ("\nWORLD_SIZE=eight", "env:2: WORLD_SIZE must be a whole number, not 'eight'"),
        ("DSLINT_CONTEXT=natve", "env:1: DSLINT_CONTEXT=natve: write native or hf (did you mean native?)"),
        ("DEEPSPEED_VERSION=latest", "env:1: DEEPSPEED_VERSION: 'latest' is no version"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(folder: Path, text: str, said: str) -> None:
    with pytest.raises(Fault) as fault:
        launch_of(folder, text)
    assert said in str(fault.value)


def test_an_env_file_that_is_no_text(folder: Path) -> None:
    (folder / "env").write_bytes(b"A=\xff")
    with pytest.raises(Fault, match="not UTF-8"):
        read_env_file("env")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("80", {"gpu_memory_gb": 80.0}),
        ("80GB", {"gpu_memory_gb": 80.0}),
        ("A100-80GB", {"gpu_name": "A100-80GB", "gpu_memory_gb": 80.0, "cuda_capability": 8.0}),
        ("a100", {"gpu_name": "a100", "cuda_capability": 8.0}),
        ("h200", {"gpu_name": "h200", "gpu_memory_gb": 141.0, "cuda_capability": 9.0}),
        ("rtx 4090", {"gpu_name": "rtx 4090", "gpu_memory_gb": 24.0, "cuda_capability": 8.9}),
        ("MI300X", {"gpu_name": "MI300X", "gpu_memory_gb": 192.0}),
    ],
)
def test_gpus(text: str, facts: dict[str, object]) -> None:
    assert facts_of(text) == facts


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA GeForce RTX 2080 Ti", 7.5),
        ("Tesla V100-SXM2-32GB", 7.0),
        ("Tesla T4", 7.5),
        ("NVIDIA L40S", 8.9),
        ("NVIDIA H100 80GB HBM3", 9.0),
    ],
)
def test_names_as_the_driver_writes_them(name: str, capability: float) -> None:
    assert known_of(name)["cuda_capability"] == capability


def test_a_name_that_is_not_known_tells_nothing() -> None:
    assert known_of("Some Accelerator 9000") == {}


def target_of(done) -> tuple[str, str]:
    target = done.json["files"][0]["targets"]["deepspeed"]
    return target["version"], target["from"]


def test_targets_from_the_nearest_word(dslint, folder: Path) -> None:
    write(folder / ".git" / "HEAD", "")
    write(folder / "conf" / "ds_config.json", GOOD)
    write(folder / "requirements.txt", "torch>=2\ndeepspeed[ops]==0.14.5  # pinned\n")
    check = ("check", "--format", "json", "conf/ds_config.json")
    assert target_of(dslint(*check)) == ("0.14.5", "requirements.txt")
    write(folder / "conf" / "uv.lock", '[[package]]\nname = "deepspeed"\nversion = "0.15.4"\nsource = "x"\n')
    assert target_of(dslint(*check)) == ("0.15.4", "conf/uv.lock")
    write(folder / "dslint.yaml", 'targets: {deepspeed: "0.16.9"}\n')
    assert target_of(dslint(*check)) == ("0.16.9", "dslint.yaml")
    write(folder / "env", "DEEPSPEED_VERSION=0.17.6\n")
    assert target_of(dslint(*check, "--env-file", "env")) == ("0.17.6", "env")
    assert target_of(dslint(*check, "--env-file", "env", "--target", "deepspeed==0.18.9")) == ("0.18.9", "--target")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("poetry.lock", '[[package]]\nname = "deepspeed"\nversion = "0.15.4"\n'),
        ("environment.yml", "dependencies:\n  - python=3.11\n  - pip:\n      - deepspeed==0.15.4\n"),
        ("environment.yml", "dependencies:\n  - deepspeed=0.15.4=py311_0\n"),
        ("pyproject.toml", '[project]\ndependencies = [\n  "deepspeed==0.15.4",\n]\n'),
    ],
)
def test_lock_files(dslint, folder: Path, name: str, text: str) -> None:
    write(folder / "ds_config.json", GOOD)
    write(folder / name, text)
    assert target_of(dslint("check", "--format", "json")) == ("0.15.4", name)


def test_a_range_is_no_version_and_outside_of_a_repository_only_the_same_folder_counts(dslint, folder: Path) -> None:
    write(folder / "conf" / "ds_config.json", GOOD)
    write(folder / "requirements.txt", "deepspeed==0.14.5\n")
    write(folder / "conf" / "requirements.txt", "deepspeed>=0.15\n")
    assert target_of(dslint("check", "--format", "json", "conf"))[0] not in ("0.14.5", "0.15")
