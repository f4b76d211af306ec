"""dslint rules --test: a team's own rules, tested by their own examples."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import write

RULE = """- id: MY001
  name: bucket-above-the-ceiling-of-our-cluster
  formats: [deepspeed]
  severity: error
  when: zero_optimization.reduce_bucket_size > 200000000
  at: [zero_optimization.reduce_bucket_size]
  message: "reduce_bucket_size {zero_optimization.reduce_bucket_size}: our nodes take 2e8"
  why: Larger buckets ran out of memory on our nodes.
  source: our handbook
  fixes:
    - {title: write 2e8, set: {zero_optimization.reduce_bucket_size: 200000000}, safety: unsafe}
  bad:
    - config: {zero_optimization: {stage: 2, reduce_bucket_size: 500000000}}
  good:
    - config: {zero_optimization: {stage: 2, reduce_bucket_size: 100000000}}
"""


def test_rules_that_hold(dslint, folder: Path) -> None:
    write(folder / "rules.yaml", RULE)
    done = dslint("rules", "--test", "rules.yaml")
    assert (done.code, done.out) == (0, "1 rule tested: all hold\n")


def test_each_example_that_does_not_hold_is_said(dslint, folder: Path) -> None:
    write(folder / "a.yaml", RULE.replace("500000000", "5"))
    assert "MY001 bucket-above-the-ceiling-of-our-cluster: bad example 1: the rule is silent" in dslint("rules", "--test", "a.yaml").out
    write(folder / "b.yaml", RULE.replace("100000000}}", "900000000}}"))
    assert "good example 1: the rule fires: reduce_bucket_size 900000000" in dslint("rules", "--test", "b.yaml").out
    write(folder / "c.yaml", RULE.replace("set: {zero_optimization.reduce_bucket_size: 200000000}", "set: {gradient_clipping: 1.0}"))
    assert "repair 'write 2e8' does not silence the rule" in dslint("rules", "--test", "c.yaml").out
    write(folder / "d.yaml", RULE.split("  bad:")[0])
    assert dslint("rules", "--test", "d.yaml").code == 1


def test_what_is_no_rule_is_2(dslint, folder: Path) -> None:
    write(folder / "rules.yaml", RULE.replace("when: zero", "when: open(zero"))
    assert dslint("rules", "--test", "rules.yaml").code == 2
    assert dslint("rules", "--test", "missing.yaml").code == 2
