"""The documentation: a page for each rule that says what ``dslint explain`` says, and guides whose examples hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from dslint.catalogue import find, known_codes
from dslint.explanation import explained_any
from dslint.settings import NAMES, parse_settings
from tools import site

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site") / "pages"
    site.main(place)
    return place


def test_each_rule_has_a_page_with_the_text_of_explain(pages: Path) -> None:
    for code, name in known_codes().items():
        text = (pages / "rules" / f"{code}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {code} {name}\n")
        assert explained_any(find(code)) in text


def test_the_index_leads_to_each_page(pages: Path) -> None:
    linked = re.findall(r"\| \[(\w+)\]\((\w+)\.md\)", (pages / "rules" / "index.md").read_text(encoding="utf-8"))
    assert linked == [(code, code) for code in known_codes()]


def test_what_a_rule_says_is_no_markup() -> None:
    assert site._plain("<script>[x](y) *a* | {b}") == "&#60;script&#62;\\[x\\](y) \\*a\\* &#124; &#123;b&#125;"


def test_every_setting_is_told_and_the_example_of_settings_is_read() -> None:
    text = (ROOT / "docs" / "guides" / "settings.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(NAMES)
    example = re.search(r"```yaml\n(ignore.*?)```", text, re.DOTALL)
    assert example is not None
    parse_settings("dslint.yaml", yaml.safe_load(example.group(1)))


def test_the_rules_of_the_guide_hold(dslint) -> None:
    assert dslint("rules", "--test", str(ROOT / "examples" / "rules.yaml")).out == "3 rules tested: all hold\n"
