"""What is counted in a run against a framework's own parser."""

from __future__ import annotations

from tools.differential.judges import Verdict
from tools.differential.parsers import Case, Figures, Mutant


def test_figures() -> None:
    odd = Mutant(1, "quoted", "bf16", "", {}, odd=True)
    plain = Mutant(1, "deleted", "bf16", "", {})
    error = (("error", "SC005", "bf16", "wrong"),)
    cases = [
        Case(plain, Verdict(False), error),
        Case(plain, Verdict(False), ()),
        Case(plain, Verdict(True), ()),
        Case(plain, Verdict(True), error),
        Case(odd, Verdict(True), error),
        Case(odd, Verdict(True), ()),
        Case(plain, Verdict(False, environment=True), ()),
    ]
    assert Figures.of(cases) == Figures(2, 1, 2, 1, 2, 1, 1)


def test_what_comes_after_the_parser_is_no_alarm() -> None:
    case = Case(Mutant(1, "deleted", "bf16", "", {}), Verdict(True), (("error", "LF003", "bf16", "wrong"),), frozenset(["LF003"]))
    assert not case.alarms


def test_told_is_said_at_the_place_or_below() -> None:
    odd = Mutant(1, "quoted", "fsdp_config", "", {}, odd=True)
    said = (("warning", "SC001", "fsdp_config.x", ""),)
    assert Case(odd, Verdict(True), said).told
    assert not Case(odd, Verdict(True), (("warning", "SC001", "fsdp_config_file", ""),)).told
