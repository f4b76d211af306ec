"""Rules from YAML: read, checked field by field, and turned into Python source.

The source is what the wheel ships and what an editable checkout caches. Nothing of a rule's text is executed as it stands:
conditions go through ``conditions.compile_condition``, everything else is written as a literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dslint.document import Document, to_python
from dslint.engine.conditions import Compiled, ConditionError, compile_condition, compile_value
from dslint.engine.versions import parse_range

FIELDS = {
    "id",
    "name",
    "formats",
    "versions",
    "context",
    "severity",
    "when",
    "check",
    "only_with",
    "each",
    "at",
    "message",
    "why",
    "source",
    "fixes",
    "bad",
    "good",
}
# what stands in the compiled source as it is: nothing but letters and digits may
IDENT = re.compile(r"[A-Z]{2,8}[0-9]{3,4}")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TEXT_FIELDS = ("id", "name", "severity", "message", "why", "when", "check", "context")
LIST_FIELDS = ("formats", "at", "each", "source", "only_with")
FIX_FIELDS = {"title", "safety", "set", "delete", "rename", "move", "reason"}
EXAMPLE_FIELDS = {"file", "config", "text", "facts", "targets", "context", "plan", "syntax", "companions"}


class RuleError(ValueError):
    """A rule that cannot be read; the message names the file, the rule and what to change."""


RULES_HEADER = """# Made from rules/ by dslint.engine.parse_rules. Do not edit.
from dslint.engine.functions import HELPERS
from dslint.engine.rules import FixTemplate, Rule
globals().update(HELPERS)
"""
TEXTS_HEADER = """# Made from rules/ by dslint.engine.parse_rules. Do not edit.
from dslint.engine.rules import RuleText
"""


def to_source(documents: Iterable[Document], *, builtin: bool) -> tuple[str, str]:
    """The rules of YAML documents as the source of two modules: the rules, and their texts. ``builtin`` rules may name a check of the registry, a user's may not.

    Raises RuleError.
    """
    rules: list[str] = []
    texts: list[str] = []
    seen: dict[str, str] = {}
    for document in documents:
        if document.root is None or document.problems:
            problem = document.problems[0] if document.problems else None
            line = document.line_column(problem.span.start)[0] if problem else 1
            raise RuleError(f"{document.file}:{line}: {problem.message if problem else 'no rules here'}")
        loaded = to_python(document.root)
        if not isinstance(loaded, list):
            raise RuleError(f"{document.file}: a file of rules is a list; start each rule with '- id:'")
        for number, raw in enumerate(loaded):
            where = f"{document.file}: rule {raw.get('id', number + 1) if isinstance(raw, dict) else number + 1}"
            _check_shape(raw, where, builtin)
            for key in (raw["id"], raw["name"]):
                if key in seen:
                    raise RuleError(f"{where}: {key} is already used in {seen[key]}")
                seen[key] = document.file
            rules.append(_rule_source(raw, where))
            texts.append(f"    {raw['id']!r}: {_text_source(raw)},\n")
    functions, calls = zip(*(rule.split("\x00") for rule in rules), strict=True) if rules else ((), ())
    body = "".join(functions) + "RULES = (\n" + "".join(calls) + ")\n"
    return RULES_HEADER + body, TEXTS_HEADER + "TEXTS = {\n" + "".join(texts) + "}\n"


def _check_shape(raw: Any, where: str, builtin: bool) -> None:
    if not isinstance(raw, dict):
        raise RuleError(f"{where}: a rule is a mapping")
    if unknown := sorted(map(str, raw.keys() - FIELDS)):
        raise RuleError(f"{where}: unknown field {unknown[0]!r}; the fields are {', '.join(sorted(FIELDS))}")
    if missing := sorted({"id", "name", "formats", "severity", "message", "why", "source"} - raw.keys()):
        raise RuleError(f"{where}: field {missing[0]!r} is missing")
    if ("when" in raw) == ("check" in raw):
        raise RuleError(f"{where}: give one of 'when' and 'check'")
    if "check" in raw and not builtin:
        raise RuleError(f"{where}: 'check' runs Python of dslint itself and is for built-in rules only; write a 'when'")
    if "only_with" in raw and "check" not in raw:
        raise RuleError(f"{where}: 'only_with' spares a check; of a 'when' it is worked out")
    for name in TEXT_FIELDS:
        value = raw.get(name, "")
        if not isinstance(value, str) and (name, value) != ("context", None) and not (name == "when" and isinstance(value, bool)):
            raise RuleError(f"{where}: {name!r} is a text, not {value!r:.60}")
    for name in LIST_FIELDS:
        if not all(isinstance(item, str) for item in _listed(raw.get(name))):
            raise RuleError(f"{where}: {name!r} is a text or a list of texts")
    if not _listed(raw["formats"]):
        raise RuleError(f"{where}: 'formats' names at least one")
    if not IDENT.fullmatch(raw["id"]):
        raise RuleError(f"{where}: an id is capital letters and a number, such as MY001")
    if not NAME.fullmatch(raw["name"]):
        raise RuleError(f"{where}: a name is in kebab-case, such as no-stage-two")
    if not isinstance(raw.get("versions"), (dict, type(None))):
        raise RuleError(f"{where}: 'versions' is a mapping such as {{deepspeed: '>=0.14'}}")
    if raw["severity"] not in ("error", "warning", "info"):
        raise RuleError(f"{where}: severity is error, warning or info, not {raw['severity']!r}")
    if raw.get("context") not in (None, "native", "hf"):
        raise RuleError(f"{where}: context is native or hf, not {raw['context']!r}")
    if "at" not in raw and "each" not in raw:
        raise RuleError(f"{where}: 'at' says where the finding lies")
    for kind in ("bad", "good"):
        for example in _listed(raw.get(kind)):
            if not isinstance(example, (str, Mapping)):
                raise RuleError(f"{where}: a {kind} example is a text, or config: {{…}}")
            if isinstance(example, Mapping) and not all(
                isinstance(example.get(name) or {}, Mapping) for name in ("facts", "targets", "plan", "companions")
            ):
                raise RuleError(f"{where}: facts, targets, plan and companions of a {kind} example are mappings")
            if isinstance(example, Mapping) and (unknown := sorted(map(str, example.keys() - EXAMPLE_FIELDS))):
                raise RuleError(f"{where}: unknown field {unknown[0]!r} in a {kind} example; write config: {{…}} or text: …")


def _rule_source(raw: Mapping[str, Any], where: str) -> str:
    ident = raw["id"]
    functions = ""
    facts: tuple[str, ...] = ()
    needs: tuple[tuple[str, bool], ...] = ()
    plan: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    fields = [
        f"{ident!r}",
        f"{raw['name']!r}",
        f"{tuple(_listed(raw['formats']))!r}",
        f"{raw['severity']!r}",
        f"{raw['message'].strip()!r}",
    ]
    try:
        if "when" in raw:
            compiled = compile_condition(str(raw["when"]))
            functions += _function(f"when_{ident}", compiled)
            facts, needs = compiled.facts, tuple((need.path, need.written) for need in compiled.needs)
            plan = tuple(path.removeprefix("plan.") for path in compiled.paths if path.startswith("plan."))
            paths = () if compiled.outside else compiled.paths
            fields.append(f"when=when_{ident}")
        fixes, fix_functions = _fixes(ident, _listed(raw.get("fixes")), where)
        versions = tuple((name, parse_range(str(text))) for name, text in (raw.get("versions") or {}).items())
    except (ConditionError, ValueError, RecursionError) as error:
        raise RuleError(f"{where}: {error}") from None
    functions += fix_functions
    each = tuple(tuple(split_pattern(pattern)) for pattern in _listed(raw.get("each")))
    at = tuple(_listed(raw.get("at"))) or ("it",)
    fields += [f"at={at!r}", f"versions={versions!r}", f"context={raw.get('context')!r}", f"check={raw.get('check')!r}"]
    fields += [
        f"each={each!r}",
        f"facts={facts!r}",
        f"needs={needs!r}",
        f"paths={paths!r}",
        f"plan={plan!r}",
        f"only_with={tuple(_listed(raw.get('only_with')))!r}",
        f"fixes=({fixes})",
    ]
    return f"{functions}\x00    Rule({', '.join(fields)}),\n"


def _function(name: str, compiled: Compiled) -> str:
    return f"def {name}(v, g, it):\n    return {compiled.code}\n"


def _fixes(ident: str, raws: list[Any], where: str) -> tuple[str, str]:
    """The FixTemplate tuple's source, and that of the functions of computed values."""
    sources, functions = "", ""
    for number, raw in enumerate(raws):
        if not isinstance(raw, dict) or raw.keys() - FIX_FIELDS:
            raise RuleError(f"{where}: a fix has {', '.join(sorted(FIX_FIELDS))}")
        if not isinstance(raw.get("title"), str):
            raise RuleError(f"{where}: a fix has a title")
        if not all(_paths_to(raw.get(kind), kind) for kind in ("set", "rename", "move")):
            raise RuleError(f"{where}: 'set', 'rename' and 'move' of a fix are mappings from paths")
        if not all(isinstance(path, str) for path in _listed(raw.get("delete"))):
            raise RuleError(f"{where}: 'delete' of a fix is a list of paths")
        if raw.get("safety") not in ("safe", "unsafe"):
            raise RuleError(f"{where}: a fix says safety: safe or unsafe")
        pairs = ""
        for index, (path, value) in enumerate((raw.get("set") or {}).items()):
            source = repr(value)
            if isinstance(value, str) and value.startswith("= "):
                source = f"value_{ident}_{number}_{index}"
                functions += _function(source, compile_value(value[2:]))
            pairs += f"({path!r}, {source}), "
        rest = [f"delete={tuple(_listed(raw.get('delete')))!r}"]
        rest += [f"{kind}={tuple((raw.get(kind) or {}).items())!r}" for kind in ("rename", "move")]
        sources += f"FixTemplate({raw['title']!r}, {raw['safety']!r}, ({pairs}), {', '.join(rest)}), "
    return sources, functions


def _paths_to(value: Any, kind: str) -> bool:
    return value is None or (
        isinstance(value, dict) and all(isinstance(path, str) and (kind == "set" or isinstance(to, str)) for path, to in value.items())
    )


def _text_source(raw: Mapping[str, Any]) -> str:
    why, source = str(raw["why"]).strip(), raw["source"]
    source = "; ".join(source) if isinstance(source, list) else str(source)
    examples = [tuple(_example(example) for example in _listed(raw.get(kind))) for kind in ("bad", "good")]
    return f"RuleText({why!r}, {source!r}, {examples[0]!r}, {examples[1]!r})"


def _example(raw: Any) -> dict[str, Any]:
    return {"text": raw} if isinstance(raw, str) else dict(raw)


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def split_pattern(pattern: str) -> tuple[str, str]:
    """The prefix of the paths in a block, and the pattern of the last name where it is one: ``a.b_*`` is ``("a.", "b_*")``, ``a.b`` is ``("a.b", "")``."""
    parent, dot, last = pattern.rpartition(".")
    return (parent + dot, last) if any(mark in last for mark in "*?[") else (pattern, "")
