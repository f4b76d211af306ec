"""The schema is what the tool extracts, and what the installed DeepSpeed says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_a_new_extraction_of_the_installed_release_finds_no_difference() -> None:
    pytest.importorskip("deepspeed")
    done = subprocess.run([sys.executable, ROOT / "tools/extract_deepspeed.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_llamafactory_says_what_its_releases_say() -> None:
    folder = os.environ.get("DSLINT_RELEASES")
    if not folder or not any(Path(folder).glob("llamafactory-*")):
        pytest.skip("the releases are not unpacked here (DSLINT_RELEASES)")
    tool = ROOT / "tools/extract_llamafactory.py"
    done = subprocess.run([sys.executable, tool, folder, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_accelerates_launcher_has_the_keys_of_the_schema() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "extract_accelerate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
