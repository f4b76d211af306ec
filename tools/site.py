"""The pages of the documentation: the guides as they are written, and one page per rule with the text of ``dslint explain``.

usage: python -m tools.site DIR
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dslint.catalogue import Generic, generic_codes
from dslint.engine.registry import all_rules, rule_text
from dslint.engine.rules import Rule
from dslint.explanation import example_text, explained_any, fix_text

ROOT = Path(__file__).parents[1]
GUIDES = ("index", "start", "settings", "ci", "convert", "migrate", "editors", "custom-rules", "verify")

MARKUP = str.maketrans({**{mark: f"\\{mark}" for mark in "\\`*_[]#"}, **{mark: f"&#{ord(mark)};" for mark in "<>|{}"}})


def main(place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    (place / "rules").mkdir(parents=True)
    for guide in GUIDES:
        text = (ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
        text = text.replace("\nRULES\n", "\n" + (ROOT / "examples" / "rules.yaml").read_text(encoding="utf-8"))
        (place / f"{guide}.md").write_text(text.replace("../convert.md", "meanings.md"), encoding="utf-8")
    shutil.copyfile(ROOT / "docs" / "convert.md", place / "meanings.md")
    entries: list[Rule | Generic] = [*generic_codes(), *all_rules()]
    for entry in entries:
        (place / "rules" / f"{code_of(entry)}.md").write_text(page(entry), encoding="utf-8")
    (place / "rules" / "index.md").write_text(index(entries), encoding="utf-8")


def code_of(entry: Rule | Generic) -> str:
    return entry.id if isinstance(entry, Rule) else entry.code


def page(entry: Rule | Generic) -> str:
    """One rule: what, for which files, why, source, repairs with their safety, wrong and right."""
    lines = [f"# {code_of(entry)} {entry.name}", ""]
    if isinstance(entry, Rule):
        lines += list(_rule(entry))
    else:
        lines += [_plain(entry.meaning), ""]
    lines += ["", "## As `dslint explain` prints it", "", *_block(explained_any(entry), "text"), "", "[All rules](index.md)", ""]
    return "\n".join(lines)


def _rule(rule: Rule) -> Iterator[str]:
    text = rule_text(rule.id)
    yield from (f"`{rule.message}`" if "`" not in rule.message else _plain(rule.message), "")
    yield from ("| | |", "|---|---|", f"| severity | {rule.severity} |", f"| files | {', '.join(rule.formats)} |")
    for name, bounds in rule.versions:
        yield f"| {name} | {' '.join(sign + '.'.join(map(str, version)) for sign, version in bounds).replace('|', ' ')} |"
    if rule.context:
        yield f"| only when read by | {'DeepSpeed itself' if rule.context == 'native' else 'the Hugging Face integration'} |"
    if rule.facts:
        yield f"| needs to know | {', '.join(rule.facts)} |"
    yield from ("", "## Why", "", _plain(" ".join(text.why.split())), "", "## Source", "", _plain(text.source), "")
    if rule.fixes:
        yield from ("## To mend it", "", *(f"- {_plain(fix_text(fix))}" for fix in rule.fixes), "")
    for heading, examples in (("Wrong", text.bad), ("Right", text.good)):
        for example in examples[:1]:
            yield from (f"## {heading}", "", *_block(example_text(example), _language(example)), "")


def _language(example: Mapping[str, Any]) -> str:
    return "json" if "text" not in example else "yaml" if example.get("syntax") == "yaml" else "text"


def _block(text: str, language: str) -> list[str]:
    fence = "`" * 4
    while fence in text:
        fence += "`"
    return [fence + language, text, fence]


def _plain(text: str) -> str:
    """A text of a rule is words, never markup or a link."""
    return text.translate(MARKUP)


def index(entries: list[Rule | Generic]) -> str:
    """A table of every rule; the two boxes above it filter by words and by format."""
    formats = sorted({name for entry in entries if isinstance(entry, Rule) for name in entry.formats})
    rows = []
    for entry in entries:
        code, rule = code_of(entry), entry if isinstance(entry, Rule) else None
        safeties = {fix.safety for fix in rule.fixes} if rule else set()
        mends = "--fix" if "safe" in safeties else "--unsafe-fixes" if safeties else ""
        cells = (f"[{code}]({code}.md)", entry.name, rule.severity if rule else "", ", ".join(rule.formats) if rule else "all", mends)
        rows.append(f"| {' | '.join(cells)} |")
    choices = "".join(f'<option value="{name}">{name}</option>' for name in formats)
    return "\n".join(
        [
            "# Rules",
            "",
            f"{len(entries)} things that dslint can say.",
            "",
            f'<input id="words" placeholder="code or words"> <select id="form"><option value="">every format</option>{choices}</select>',
            "",
            "| code | name | severity | files | repaired by |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"<script>\n{FILTER}</script>",
            "",
        ]
    )


FILTER = """\
const words = document.getElementById("words"), form = document.getElementById("form");
function filter() {
  for (const row of document.querySelectorAll("tbody tr")) {
    const files = row.cells[3].textContent;
    const said = row.textContent.toLowerCase().includes(words.value.toLowerCase());
    row.hidden = !said || (form.value && files !== "all" && !files.split(", ").includes(form.value));
  }
}
words.addEventListener("input", filter); form.addEventListener("change", filter);
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
