"""explain, rules and schema."""

from __future__ import annotations

import json

import jsonschema
import pytest

from dslint.catalogue import generic_codes, known_codes
from dslint.engine.registry import all_rules
from tests.conftest import GOOD


def test_every_code_and_every_name_is_explained(dslint) -> None:
    for code, name in known_codes().items():
        for word in (code, code.lower(), name):
            done = dslint("explain", word)
            assert done.code == 0
            assert done.out.startswith(f"{code} {name}")


def test_codes_and_names_are_said_once() -> None:
    codes = [generic.code for generic in generic_codes()] + [rule.id for rule in all_rules()]
    names = [generic.name for generic in generic_codes()] + [rule.name for rule in all_rules()]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)


def test_a_rule_is_explained_with_source_repairs_and_examples(dslint) -> None:
    rule = next(rule for rule in all_rules() if rule.fixes and rule.formats == ("deepspeed",))
    done = dslint("explain", rule.id)
    assert "Source: deepspeed/" in done.out
    assert rule.fixes[0].title in done.out
    assert "Wrong:" in done.out


@pytest.mark.parametrize("word", ["", "DS", "nothing-like-it", "missplet-key"])
def test_what_is_no_code_is_2(dslint, word: str) -> None:
    done = dslint("explain", word)
    assert done.code == 2
    assert "`dslint rules` lists them" in done.err


def test_rules_as_a_table_and_as_json(dslint) -> None:
    table = dslint("rules").out
    listed = json.loads(dslint("rules", "--format", "json").out)["rules"]
    assert [rule["code"] for rule in listed] == list(known_codes())
    for rule in listed:
        assert f"\n{rule['code']}  " in f"\n{table}"


@pytest.mark.parametrize("word", ["deepspeed", "deepspeed==0.16.4", "DeepSpeed==0.14"])
def test_a_schema_accepts_a_good_config_and_refuses_a_misspelt_one(dslint, word: str) -> None:
    done = dslint("schema", word)
    assert done.code == 0
    schema = done.json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(GOOD, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**GOOD, "zero_optimization": {"stge": 2}}, schema)


@pytest.mark.parametrize(
    ("word", "said"), [("depspeed", "did you mean deepspeed?"), ("deepspeed==new", "is no version"), ("torch", "there are accelerate")]
)
def test_a_schema_that_is_not_there_is_2(dslint, word: str, said: str) -> None:
    done = dslint("schema", word)
    assert done.code == 2
    assert said in done.err
