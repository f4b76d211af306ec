"""The schema is what the tool extracts, and what the installed DeepSpeed says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_a_new_extraction_of_the_installed_release_finds_no_difference() -> None:
    pytest.importorskip("deepspeed")
    done = subprocess.run([sys.executable, ROOT / "tools/extract_deepspeed.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
