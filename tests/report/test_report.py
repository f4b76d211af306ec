"""Each output compared with a golden file; DSLINT_GOLDEN=write writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from dslint.document import Change, Document, load
from dslint.engine.diagnostics import Diagnostic, Fix, Related, Skipped
from dslint.engine.project import Target
from dslint.engine.run import Report
from dslint.report import concise, text
from dslint.report import json as json_report

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "output.schema.json").read_text())
TEXT = '\ufeff{\r\n  "größe": "é",\r\n  "zero_optimization": {"stage": 2, "reduce_bucket_size": -5}\r\n}\r\n'


def finding(document: Document, severity: str, path: tuple[str, ...], message: str, **more: object) -> Diagnostic:
    return Diagnostic(document, "DS100", "some-rule", severity, path, document.key_span(path), message, **more)  # type: ignore[arg-type]


def reports() -> list[Report]:
    document = load("conf/ds_config.json", TEXT.encode("utf-8"))
    stage, bucket = ("zero_optimization", "stage"), ("zero_optimization", "reduce_bucket_size")
    diagnostics = (
        finding(document, "warning", ("größe",), "nothing reads größe"),
        finding(
            document,
            "error",
            bucket,
            "reduce_bucket_size is -5",
            why="A bucket holds elements,\n  and no fewer than one.",
            source="deepspeed/runtime/zero/config.py: DeepSpeedZeroConfig",
            related=(Related(document, document.key_span(stage), "the stage is written here"),),
            fixes=(
                Fix("write the default", "safe", (Change("set", bucket, 500000000),)),
                Fix("remove it", "unsafe", (Change("delete", bucket),)),
                Fix("cannot be made", "unsafe", (Change("delete", ("missing",)),)),
            ),
        ),
        finding(document, "info", ("train_batch_size",), "no batch size is written"),
    )
    target = {"deepspeed": Target("0.19.8", "requirements.txt")}
    broken = load("broken.json", b"{")
    lost = finding(broken, "error", (), "the text ends too early")
    return [
        Report(
            document, "deepspeed", "native", (), None, target, (Skipped("DS200", "world_size"), Skipped("DS201", "world_size")), diagnostics
        ),
        Report(broken, None, None, (), None, {}, (), (lost,)),
    ]


def compare(name: str, got: str) -> None:
    file = GOLDEN / name
    if os.environ.get("DSLINT_GOLDEN") == "write":
        file.write_bytes(got.encode("utf-8"))
    assert got == file.read_bytes().decode("utf-8")


def test_text() -> None:
    compare("text.txt", text.render(reports(), colour=False) + "\n")


def test_text_in_colour() -> None:
    compare("colour.txt", text.render(reports(), colour=True) + "\n")


def test_concise() -> None:
    compare("concise.txt", concise.render(reports()) + "\n")


def test_json() -> None:
    got = json_report.render(reports())
    jsonschema.validate(json.loads(got), SCHEMA)
    compare("report.json", got + "\n")


def test_offsets_are_bytes_of_the_file_and_edits_can_be_applied() -> None:
    data = TEXT.encode("utf-8")
    diagnostics = json.loads(json_report.render(reports()))["diagnostics"]
    assert data[diagnostics[0]["offset"] : diagnostics[0]["end_offset"]].decode() == '"größe"'
    assert data[diagnostics[1]["offset"] : diagnostics[1]["end_offset"]].decode() == '"reduce_bucket_size"'
    related = diagnostics[1]["related"][0]
    assert data[related["offset"] : related["end_offset"]].decode() == '"stage"'
    for fix, expected in zip(
        diagnostics[1]["fixes"], [TEXT.replace("-5", "500000000"), TEXT.replace(', "reduce_bucket_size": -5', "")], strict=True
    ):
        changed = data
        for edit in reversed(fix["edits"]):
            changed = changed[: edit["start"]] + edit["text"].encode() + changed[edit["end"] :]
        assert changed.decode("utf-8") == expected


def test_a_long_line_is_cut_around_the_finding() -> None:
    wide = '{"a": "' + "x" * 500 + '", "here": 1, "b": "' + "y" * 500 + '"}'
    document = load("wide.json", wide.encode())
    report = Report(document, "deepspeed", None, (), None, {}, (), (finding(document, "error", ("here",), "look"),))
    lines = text.render([report], colour=False).splitlines()
    shown, carets = lines[1], lines[2]
    assert len(shown) < 130
    assert shown[carets.index("^") : carets.rindex("^") + 1] == '"here"'


def test_nothing_of_a_file_steers_the_terminal() -> None:
    document = load("evil\x1b[2J.json", '{"a\u202e": "\x1b]0;title\x07"}'.encode())
    document.text = '{"a": "\x1b[31m"}'
    report = Report(document, "deepspeed", None, (), None, {}, (), (finding(document, "error", ("a",), "value \x1b[0m"),))
    for output in (text.render([report], colour=False), concise.render([report])):
        assert "\x1b" not in output
        assert "\u202e" not in output


@pytest.mark.parametrize(("count", "shown"), [(1, "1 file"), (2, "2 files")])
def test_counts_are_grammar(count: int, shown: str) -> None:
    clean = [Report(load("a.json", b"{}"), "deepspeed", None, (), None, {}, (), ())] * count
    assert text.render(clean, colour=False) == f"{shown} checked: nothing found"
