"""A stranger's rules cannot execute code, loop, eat memory or crash dslint: each of these is refused in a sentence, or harmless."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dslint.document import load
from dslint.engine.parse_rules import RuleError
from dslint.engine.project import Project
from dslint.engine.registry import load_user_rules
from dslint.engine.run import check

RULE: dict[str, Any] = {
    "id": "MY001",
    "name": "mine",
    "formats": ["deepspeed"],
    "severity": "error",
    "when": "zero_optimization.stage == 2",
    "at": ["zero_optimization.stage"],
    "message": "m",
    "why": "w",
    "source": "s",
}
CONFIG = b'{"zero_optimization": {"stage": 2}, "train_batch_size": 1000000000}'


def loaded(folder: Path, **fields: Any) -> Any:
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump([{**RULE, **fields}]))
    return load_user_rules([str(file)])


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "A(v=__import__('os').abort()): pass\ndef B"},
        {"id": "MY001, when=print"},
        {"id": "MY001\n"},
        {"id": 5},
        {"id": "DS003"},
        {"name": "not kebab"},
        {"name": ["x"]},
        {"message": 5},
        {"message": {"a": 1}},
        {"formats": {"deepspeed": 1}},
        {"at": [1]},
        {"each": 5},
        {"versions": []},
        {"versions": {"deepspeed": "new"}},
        {"check": "batch-product", "when": None},
        {"when": "__import__('os').system('true')"},
        {"when": "zero_optimization.__class__ == 1 and open('x')"},
        {"when": "[x for x in (1, 2)]"},
        {"when": "(lambda: 1)()"},
        {"when": "2 ** 999999999 == 1"},
        {"when": "x == " + "9" * 3000},
        {"when": "(" * 900 + "x" + ")" * 900},
        {"when": "-" * 1900 + "x"},
        {"when": "x" + "[0]" * 600},
        {"fixes": ["x"]},
        {"fixes": [{"title": 1, "safety": "safe"}]},
        {"fixes": [{"title": "t", "safety": "safe", "set": [1]}]},
        {"fixes": [{"title": "t", "safety": "safe", "rename": {"a": 1}}]},
        {"fixes": [{"title": "t", "safety": "safe", "set": {"a": "= __import__('os')"}}]},
        {"bad": [5]},
    ],
)
def test_refused_in_a_sentence(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(RuleError):
        loaded(tmp_path, **fields)


@pytest.mark.parametrize(
    "when",
    [
        "'x' * 99999999999 == 'y'",
        "len((1,) * 99999999999) == 1",
        "len('%99999999999d' % 5) > 1",
        "len('x' * train_batch_size * train_batch_size) > 1",
        "raw(train_batch_size) * 'xxxxxxxxxxxxxxx' * 999999 == 1",
    ],
)
def test_no_condition_eats_memory_or_time(tmp_path: Path, when: str) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    rules = loaded(tmp_path, when=when)
    report = check(load("ds_config.json", CONFIG), Project({}), extra_rules=rules)
    assert report is not None
    assert all(diagnostic.code != "MY001" for diagnostic in report.diagnostics)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert time.process_time() - start < 2


def test_a_repair_may_write_a_whole_block(tmp_path: Path) -> None:
    rules = loaded(tmp_path, fixes=[{"title": "t", "safety": "unsafe", "set": {"zero_optimization": {"stage": 1}}}])
    report = check(load("ds_config.json", CONFIG), Project({}), extra_rules=rules)
    assert report is not None
    assert [len(diagnostic.fixes) for diagnostic in report.diagnostics if diagnostic.code == "MY001"] == [1]


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (tmp_path / "rules.yaml").write_text("\n".join(lines))
    with pytest.raises(RuleError):
        load_user_rules([str(tmp_path / "rules.yaml")])


def test_a_tag_makes_no_object(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(f"- !!python/object/apply:os.mkdir ['{tmp_path}/made']\n")
    with pytest.raises(RuleError):
        load_user_rules([str(tmp_path / "rules.yaml")])
    assert not (tmp_path / "made").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rules.yaml")
    with pytest.raises(RuleError, match="not a regular file"):
        load_user_rules([str(tmp_path / "rules.yaml")])


def test_a_message_is_filled_and_not_formatted(tmp_path: Path) -> None:
    rules = loaded(tmp_path, message="{zero_optimization.stage.__class__} {0} {v} {zero_optimization.stage!r}")
    report = check(load("ds_config.json", CONFIG), Project({}), extra_rules=rules)
    assert report is not None
    assert "class" not in next(d.message for d in report.diagnostics if d.code == "MY001")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc.[]*", max_size=5), inner, max_size=3),
    max_leaves=6,
)


@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from([*RULE, "each", "versions", "fixes", "context", "bad", "good"]), value=anything)
def test_any_value_of_any_field_is_taken_or_refused(tmp_path: Path, field: str, value: Any) -> None:
    try:
        rules = loaded(tmp_path, **{field: value})
    except RuleError:
        return
    assert check(load("ds_config.json", CONFIG), Project({}), extra_rules=rules) is not None
