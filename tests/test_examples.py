"""The examples are what they are called: the good ones are silent, the broken one has many kinds of mistakes and is mended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_good_examples_are_silent(dslint, folder: Path) -> None:
    done = dslint("check", "--strict", "--format", "json", "--world-size", "8", str(EXAMPLES / "good"))
    assert done.code == 0
    assert len(done.json["files"]) >= 12
    assert [d for d in done.json["diagnostics"] if d["severity"] != "info"] == []


def test_the_broken_example_is_found_and_mended(dslint, folder: Path) -> None:
    shutil.copy(EXAMPLES / "broken" / "ds_config.json", folder)
    found = dslint("check", "--format", "json", "ds_config.json")
    errors = {d["code"] for d in found.json["diagnostics"] if d["severity"] == "error"}
    assert found.code == 1
    assert len(errors) >= 6
    mended = dslint("check", "--fix", "--unsafe-fixes", "--format", "json", "ds_config.json")
    assert mended.code == 0
    assert [d for d in mended.json["diagnostics"] if d["severity"] != "info"] == []
    json.loads((folder / "ds_config.json").read_text())


def test_each_format_is_known_and_its_mistakes_are_found(dslint, folder: Path) -> None:
    done = dslint("check", "--format", "json", str(EXAMPLES / "formats"))
    assert done.code == 1
    formats = {Path(file["file"]).name: file["format"] for file in done.json["files"]}
    assert formats == {
        "accelerate.yaml": "accelerate",
        "axolotl.yaml": "axolotl",
        "fsdp_config.json": "fsdp",
        "llamafactory.yaml": "llamafactory",
        "train.yaml": "trainer",
        "ds.json": "deepspeed",
    }
    errors = {(Path(d["file"]).name, d["code"]) for d in done.json["diagnostics"] if d["severity"] == "error"}
    assert {
        ("axolotl.yaml", "AX032"),
        ("llamafactory.yaml", "LK002"),
        ("accelerate.yaml", "FS001"),
        ("fsdp_config.json", "FS040"),
    } <= errors
    assert {("train.yaml", "TR014"), ("ds.json", "TR100")} <= errors
