"""Files of lines: variables with their places, hosts, and what DeepSpeed's launcher says of the same hostfile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.document import Change, load, to_python
from dslint.document.edits import splice

ENV = "# the cluster\nexport A=1\r\nB = 'x # y'  # a comment\n\nC=\"two\\nlines\"\nD=plain # note\nE=\n"


def test_variables_are_read_as_text() -> None:
    document = load(".env", ENV.encode())
    assert document.syntax == "env"
    assert to_python(document.root) == {"env": {"A": "1", "B": "x # y", "C": "two\nlines", "D": "plain", "E": ""}}  # type: ignore[arg-type]
    assert not document.problems


def test_each_variable_has_its_place() -> None:
    document = load("x.env", ENV.encode())
    assert document.line_column(document.key_span(("env", "D")).start) == (6, 1)
    assert document.text[slice(*document.node(("env", "B")).span)] == "'x # y'"  # type: ignore[union-attr]
    assert document.line_column(document.key_span(("env", "missing")).start) == (1, 1)


def test_a_line_may_export_several() -> None:
    document = load("env", b"export A=1 B=2\nexport C='a b' D=3\n")
    assert to_python(document.root)["env"]["B"] == "2"  # type: ignore[arg-type]
    assert [problem.code for problem in document.problems] == ["PA015"]


def test_of_two_lines_of_one_name_the_last_counts() -> None:
    document = load("env", b"A=1\nB=1\nA=2\nB=1\n")
    assert to_python(document.root) == {"env": {"A": "2", "B": "1"}}  # type: ignore[arg-type]
    assert [(problem.code, problem.path) for problem in document.duplicates] == [("PA005", ("env", "A"))]


@pytest.mark.parametrize(("text", "line"), [("A=1\nulimit -l unlimited\n", 2), ("A='x\n", 1), ("1A=2\n", 1)])
def test_what_is_no_assignment_is_said_with_its_line(text: str, line: int) -> None:
    document = load("env", text.encode())
    [problem] = document.problems
    assert (problem.code, problem.severity, document.line_column(problem.span.start)[0]) == ("PA015", "warning", line)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (Change("set", ("env", "A"), "2"), "A=2\nexport B='x'\n# end\n"),
        (Change("set", ("env", "B"), "two words"), "A=1\nexport B='two words'\n# end\n"),
        (Change("set", ("env", "NEW"), "1"), "A=1\nexport B='x'\nexport NEW=1\n# end\n"),
        (Change("delete", ("env", "A")), "export B='x'\n# end\n"),
        (Change("rename", ("env", "A"), to=("env", "C")), "C=1\nexport B='x'\n# end\n"),
        (Change("rename", ("env", "A"), to=("env", "B")), None),
        (Change("delete", ("env", "missing")), None),
        (Change("move", ("env", "A"), to=("env", "C")), None),
        (Change("set", ("env", "A"), "it's"), None),
    ],
)
def test_repairs_touch_their_line_only(change: Change, after: str | None) -> None:
    assert splice(load("env", b"A=1\nexport B='x'\n# end\n"), [change]) == after


def test_a_first_variable_and_other_line_breaks() -> None:
    assert splice(load("env", b"# nothing"), [Change("set", ("env", "A"), "1")]) == "# nothing\nA=1\n"
    assert splice(load("env", b"A=1\r\nB=2\r\n"), [Change("set", ("env", "C"), "3")]) == "A=1\r\nB=2\r\nC=3\r\n"


@pytest.mark.parametrize(
    ("name", "text", "syntax"),
    [
        ("input.txt", "# rack 1\n\nnode-a slots=8\n", "hostfile"),
        ("hosts", "10.0.0.1  slots=4\n", "hostfile"),
        ("hosts", "node-a slot=4\nnode-b slots=4\n", "hostfile"),
        ("notes", "text: b slots=4\n", "yaml"),
        ("launch", "# x\nNCCL_DEBUG=INFO\n", "env"),
        ("config", "a: 1\n", "yaml"),
        ("config", "# {\n{}", "json"),
        ("config", '{"a": 1}', "json"),
        ("config.yaml", "A=1\n", "yaml"),
    ],
)
def test_how_a_file_is_known(name: str, text: str, syntax: str) -> None:
    assert load(name, text.encode()).syntax == syntax


HOSTFILES = [
    "node-a slots=8\nnode-b slots=4\n",
    "# c\n\n  node-a   slots=8 max_slots=8 # spare\n",
    "node-a slots=8\nnode-a slots=8\n",
    "node-a 8\n",
    "node-a:8\n",
    "node-a slots = 8\n",
    "node-a slots=eight\n",
    "# nobody\n",
    "node-a slots=0\n",
    "slots=8\n",
]


@pytest.mark.parametrize("text", HOSTFILES)
def test_the_launcher_says_the_same_of_a_hostfile(text: str) -> None:
    runner = pytest.importorskip("deepspeed.launcher.runner")
    document = load("hostfile", text.encode())
    try:
        expected = dict(runner._parse_hostfile(text.splitlines(keepends=True)))
    except ValueError:
        assert [problem for problem in document.problems if problem.severity == "error"]
    else:
        assert not document.problems
        assert to_python(document.root) == expected  # type: ignore[arg-type]


@given(st.text(max_size=60), st.sampled_from(["env", "hostfile"]))
def test_any_text_gives_a_tree_or_a_problem(text: str, name: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    document = load(name, data)
    assert document.root is not None or document.problems
