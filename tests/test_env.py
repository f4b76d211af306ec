"""Variables of the launch and hostfiles as a user meets them, and torch's own word on its settings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dslint.checks.env import OPTIONS, allocator_trouble, devices_of
from tests.conftest import GOOD, write

ROOT = Path(__file__).parent.parent


def test_what_is_wrong_with_the_env_file_lies_in_the_env_file(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", GOOD)
    write(folder / "launch.env", "WORLD_SIZE=8\nNCCL_IB_DISABLE=true\n")
    done = dslint("check", "--format", "json", "--env-file", "launch.env", "ds_config.json")
    output = json.loads(done.out)
    assert [(file["file"], file["format"]) for file in output["files"]] == [("ds_config.json", "deepspeed"), ("launch.env", "env")]
    [finding] = [diagnostic for diagnostic in output["diagnostics"] if diagnostic["severity"] == "error"]
    assert (finding["file"], finding["path"], finding["line"]) == ("launch.env", "env.NCCL_IB_DISABLE", 2)
    assert done.code == 1


def test_an_env_file_is_checked_by_its_own_name_once(dslint, folder: Path) -> None:
    write(folder / ".env", "NCCL_DEBUGG=INFO\n")
    for arguments in (["check", ".env"], ["check", ".env", "--env-file", ".env"], ["check", "."]):
        assert dslint(*arguments).out.count("did you mean NCCL_DEBUG?") == 1


def test_facts_of_a_named_env_file_count_for_it(dslint, folder: Path) -> None:
    write(folder / "x.env", "CUDA_VISIBLE_DEVICES=0\nNUM_GPUS=2\nLAUNCHER=torchrun\nWORLD_SIZE=many\n")
    done = dslint("check", "x.env")
    assert "EN023" in done.out
    assert 'WORLD_SIZE is "many"' in done.out


def test_the_launchers_config_counts_for_the_variables(dslint, folder: Path) -> None:
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 8\n"
    write(folder / "accelerate.yaml", config)
    write(folder / "launch.env", "CUDA_VISIBLE_DEVICES=0,1\n")
    done = dslint("check", "--format", "json", "--env-file", "launch.env", "accelerate.yaml")
    [finding] = [diagnostic for diagnostic in done.json["diagnostics"] if diagnostic["file"] == "launch.env"]
    assert (finding["code"], "4 processes" in finding["message"]) == ("EN023", True)
    assert [(related["file"], related["line"]) for related in finding["related"]] == [("accelerate.yaml", 4)]
    write(folder / "accelerate.yaml", config + "gpu_ids: 4,5,6,7\n")
    assert "EN023" not in dslint("check", "--env-file", "launch.env", "accelerate.yaml").out


def test_repairs_are_made_in_it(dslint, folder: Path) -> None:
    write(folder / "x.env", "export NCCL_IB_DISABEL=1  # no InfiniBand\nPYTORCH_ALLOC_CONF=expandable_segments:true\n")
    assert dslint("check", "--fix", "x.env").code == 0
    assert (folder / "x.env").read_text() == "export NCCL_IB_DISABLE=1  # no InfiniBand\nPYTORCH_ALLOC_CONF=expandable_segments:True\n"


def test_secrets_beside_a_finding_are_not_shown(dslint, folder: Path) -> None:
    write(folder / ".env", "HF_TOKEN=hf_secret\nNCCL_DEBUG=x\nWANDB_API_KEY=secret\n")
    for output in ("text", "concise", "json"):
        assert "secret" not in dslint("check", "--format", output, ".env").out


def test_other_peoples_env_files_are_nobodys_business(dslint, folder: Path) -> None:
    write(folder / "ds_config.json", GOOD)
    write(folder / ".env", "DATABASE_URL=postgres://x\nDEBUG=true\nSECRET=1\n")
    done = dslint("check", "--format", "json", ".")
    assert [file["file"] for file in json.loads(done.out)["files"]] == ["ds_config.json"]


@pytest.mark.parametrize(
    "text", ["node-a:8\nnode-b:8\n", "index,ip\njob-28,10.95.230.149\n", "#!/bin/bash\ngetent hosts\n", "127.0.0.1 localhost\n"]
)
def test_hostfiles_of_other_tools_are_nobodys_business(dslint, folder: Path, text: str) -> None:
    write(folder / "hostfile", text)
    assert dslint("check", ".").code == 3


def test_show_of_variables_alone_has_nothing_to_show(dslint, folder: Path) -> None:
    write(folder / "x.env", "NCCL_DEBUG=INFO\n")
    done = dslint("show", "x.env")
    assert (done.code, done.out) == (0, "these files say nothing of the run\n")


def test_rules_that_want_facts_of_other_gpus_are_not_named(dslint, folder: Path) -> None:
    write(folder / "x.env", "GPU_NAME=NVIDIA A100-SXM4-80GB\nNCCL_IB_DISABLE=1\n")
    assert "want of facts" not in dslint("check", "x.env").out
    write(folder / "x.env", "GPU_NAME=NVIDIA GeForce RTX 4090\nNUM_GPUS=2\n")
    assert "driver_version (1 rule), launcher (1 rule)" in dslint("check", "x.env").out


def test_a_hostfile(dslint, folder: Path) -> None:
    write(folder / "hostfile", "node-a slots=8\nnode-b 8\nnode-a slots=8\n")
    done = dslint("check", "hostfile")
    assert re.findall(r"hostfile:(\d+):\d+: error: .* \[(\w+)", done.out) == [("2", "PA016"), ("3", "PA017")]
    assert done.code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.env", "".join(f"NCCL_DEBUGX{number}=1\n" for number in range(40_000))),
        ("x.env", "".join(f"V{number}=1\n" for number in range(40_000)) + "NCCL_DEBUG=INFO\n"),
        ("x.env", "no assignment\n" * 60_000),
        ("x.env", "PYTORCH_ALLOC_CONF=" + "x," * 400_000),
        ("x.env", "CUDA_VISIBLE_DEVICES=" + "0," * 400_000),
        ("hostfile", "node slots=8\n" * 60_000),
    ],
)
def test_large_files_end_in_time(dslint, folder: Path, name: str, text: str) -> None:
    write(folder / name, text)
    before = time.process_time()
    done = dslint("check", "--format", "json", name)
    assert time.process_time() - before < 3
    assert len(done.out) < 100_000


DEVICES = [
    "0,1",
    "0, 1 ,2",
    "",
    "-1",
    "0,-1,1",
    "0,0",
    "00,0",
    "0,x,1",
    "1gpu2,2ampere",
    "GPU-a,GPU-b",
    "GPU-a,GPU-a",
    "GPU-a,0",
    "MIG-1",
    "all",
    "0,1,",
    "+3",
]


@pytest.mark.parametrize("text", DEVICES)
def test_torch_counts_the_same_visible_devices(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = pytest.importorskip("torch.cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
    assert devices_of(text)[0] == len(cuda._parse_visible_devices())


SETTINGS = [
    "expandable_segments:True",
    "expandable_segments:true",
    "expandable_segments:1",
    "expandable_segments",
    "expandable_segments=True",
    "max_split_size_mb:512",
    "max_split_size_mb:19",
    "max_split_size_mb:x",
    "max_split_size_mb:128;expandable_segments:True",
    "max_split_size_mb:128,",
    "max_non_split_rounding_mb:10",
    "garbage_collection_threshold:0.8",
    "garbage_collection_threshold:1.5",
    "garbage_collection_threshold:0",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "roundup_power2_divisions:4",
    " max_split_size_mb : 128 , expandable_segments : False ",
    "pinned_use_background_threads:True",
    "pinned_use_background_threads:yes",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_torch_says_the_same_of_the_allocators_settings(text: str) -> None:
    torch = pytest.importorskip("torch")
    take = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
    if take is None:
        pytest.skip("this torch has no parser without a GPU")
    try:
        take(text)
        refused = False
    except (ValueError, RuntimeError):
        refused = True
    finally:
        take("")
    assert (allocator_trouble(text) is not None) == refused


def test_every_option_of_the_installed_torch_is_known() -> None:
    torch = pytest.importorskip("torch")
    header = (Path(torch.__file__).parent / "include/c10/cuda/CUDAAllocatorConfig.h").read_text()
    block = header[header.index("getKeys()") :]
    names = re.findall(r'"([a-z_0-9]+)"', re.sub(r'"\s*\n?\s*"', "", block))
    assert {name for name in names if name not in ("cud",)} <= OPTIONS.keys()


def test_the_names_of_the_installed_packages_are_known() -> None:
    pytest.importorskip("accelerate")
    done = subprocess.run([sys.executable, ROOT / "tools/extract_env.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
