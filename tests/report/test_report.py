"""Each output compared with a golden file; DSLINT_GOLDEN=write writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from dslint.catalogue import known_codes
from dslint.document import Change, Document, load
from dslint.engine.diagnostics import Diagnostic, Fix, Related, Skipped
from dslint.engine.project import Target
from dslint.engine.run import Report
from dslint.report import concise, github, gitlab, junit, sarif, statistics, text
from dslint.report import json as json_report
from dslint.report.fingerprint import fingerprints

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "output.schema.json").read_text())
# as GitLab's documentation gives it: what a report must have
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}, "end": {"type": "integer", "minimum": 1}},
                        "additionalProperties": False,
                    },
                },
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    },
}
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


def test_sarif() -> None:
    got = sarif.render(reports())
    jsonschema.validate(json.loads(got), json.loads((Path(__file__).parent / "sarif.schema.json").read_text()))
    compare("report.sarif", got + "\n")


def test_sarif_of_every_built_in_rule_is_valid_and_points_into_its_list() -> None:
    document = load("a folder/50%#1.json", b'{"a": 1}')
    found = tuple(finding(document, "error", ("a",), "x")._replace(code=code, name=name) for code, name in known_codes().items())
    log = json.loads(sarif.render([Report(document, "deepspeed", None, (), None, {}, (), found)]))
    jsonschema.validate(log, json.loads((Path(__file__).parent / "sarif.schema.json").read_text()))
    rules, results = log["runs"][0]["tool"]["driver"]["rules"], log["runs"][0]["results"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    assert log["runs"][0]["artifacts"] == [{"location": {"uri": "a%20folder/50%25%231.json"}}]


def test_github() -> None:
    compare("github.txt", github.render(reports()) + "\n")


def test_a_message_of_github_cannot_give_commands() -> None:
    document = load("a,b:c%.json", b'{"a": 1}')
    report = Report(document, "deepspeed", None, (), None, {}, (), (finding(document, "error", ("a",), "one\n::set-output name=x::100%"),))
    (line,) = github.render([report]).splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.json,line=1,")
    assert line.endswith("100%25")


def test_gitlab() -> None:
    got = gitlab.render(reports())
    jsonschema.validate(json.loads(got), CODE_QUALITY)
    assert len({issue["fingerprint"] for issue in json.loads(got)}) == len(json.loads(got))
    compare("gitlab.json", got + "\n")


@pytest.mark.parametrize("strict", [False, True])
def test_junit(strict: bool) -> None:
    got = junit.render(reports(), strict=strict)
    suites = ElementTree.fromstring(got)
    cases = [case for suite in suites for case in suite]
    assert [element.tag for element in (suites, *suites)] == ["testsuites", "testsuite", "testsuite"]
    assert {case.tag for case in cases} == {"testcase"}
    failures = [case for case in cases if case.find("failure") is not None]
    assert (suites.get("tests"), suites.get("failures")) == (str(len(cases)), str(len(failures)))
    assert len(failures) == 3 if strict else 2
    if not strict:
        compare("junit.xml", got + "\n")


def test_junit_is_xml_whatever_a_message_holds() -> None:
    document = load("a.json", b'{"a": 1}')
    message = "<&>\"'\x00\x1b \ud800 \uffff \U0001f600"
    report = Report(document, "deepspeed", None, (), None, {}, (), (finding(document, "error", ("a",), message),))
    failure = ElementTree.fromstring(junit.render([report], strict=False)).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "<&>\"'\ufffd\ufffd \ufffd \ufffd \U0001f600"


def test_statistics() -> None:
    compare("statistics.txt", statistics.render(reports()) + "\n")


def test_a_fingerprint_outlives_edits_elsewhere() -> None:
    def of(text: str) -> list[str]:
        document = load("a.yaml", text.encode())
        found = [finding(document, "error", ("datasets", index, "type"), f"at {index}") for index in range(text.count("type"))]
        return [fingerprint for _, fingerprint in fingerprints(found)]

    before = of("datasets:\n- type: x\n")
    assert of("# moved\nseed: 1\ndatasets:\n  - type: y\n") == before
    assert of("datasets:\n- type: x\n- type: x\n")[:1] == before
    assert len(set(of("datasets:\n- type: x\n- type: x\n"))) == 2


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
