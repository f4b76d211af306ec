"""What the schema alone can say of a key, in words: the SC diagnostics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from dslint.document import Change, Mapping, Node, Scalar, to_python
from dslint.engine.diagnostics import Diagnostic, Fix, Severity
from dslint.engine.versions import parse_version
from dslint.engine.view import View
from dslint.schema.coerce import FALSE, coerce
from dslint.schema.lookup import KeyInfo
from dslint.schema.resolve import Issue, joined
from dslint.schema.suggest import plainly_misspelt, suggest
from dslint.schema.where import belongs

# code -> (name, what it means), for `dslint explain`
CODES: dict[str, tuple[str, str]] = {
    "SC001": ("misspelt-key", "The key is not one the engine reads here, and it is near one that is."),
    "SC002": ("misplaced-key", "The key exists, but in another block; here the engine refuses or ignores it."),
    "SC003": ("refused-key", "The engine refuses a file with an unknown key in this block."),
    "SC004": ("ignored-key", "The engine reads no such key in this block and ignores it."),
    "SC005": ("wrong-type", "The value has a type that the engine cannot work with."),
    "SC006": ("out-of-bounds", "The value is outside of what the engine accepts."),
    "SC007": ("unknown-choice", "The value is none of those that the engine knows."),
    "SC008": ("removed-key", "The key was removed before the target version."),
    "SC009": ("deprecated-key", "The key still works in the target version, under an older name or with a warning."),
    "SC010": ("future-key", "The key came with a later version than the target."),
    "SC011": ("auto-without-meaning", 'Nothing fills in "auto" at this key.'),
    "SC013": ("more-findings", "A file with this many wrong keys is no config of this framework; the rest is not listed."),
    "SC012": ("required-key", "The engine cannot do without this key."),
}
NAME_CODES = frozenset({"SC001", "SC002", "SC003", "SC004", "SC009", "SC011"})
MAXIMUM_ISSUES = 500
COMMENT_MARKS = ("_", "//", "#")


def schema_diagnostics(view: View) -> Iterator[Diagnostic]:
    """The findings of a config that its schema makes without a rule."""
    excuses = view.config.form.excuses
    issues = [issue for issue in view.resolved.issues if issue.kind not in ("type", "enum") or not excuses(view.resolved, issue.canonical)]
    for issue in issues[:MAXIMUM_ISSUES]:
        yield from SPEAKERS[issue.kind](view, issue)
    if len(issues) > MAXIMUM_ISSUES:
        yield from _say(
            view,
            issues[MAXIMUM_ISSUES],
            "SC013",
            "error",
            f"{len(issues) - MAXIMUM_ISSUES} more keys of this file are wrong and not listed",
        )


def _say(
    view: View, issue: Issue, code: str, severity: Severity, message: str, *, why: str = "", fixes: tuple[Fix, ...] = ()
) -> Iterator[Diagnostic]:
    span = view.document.key_span(issue.path)
    source = issue.info.source if issue.info else ""
    yield Diagnostic(view.document, code, CODES[code][0], severity, issue.path, span, message, why or CODES[code][1], source, (), fixes)


def _unknown(view: View, issue: Issue) -> Iterator[Diagnostic]:
    name = str(issue.path[-1])
    refused = issue.block.unknown in ("refused", "scripted")
    consequence = f"{view.title} refuses the file" if refused else f"{view.title} ignores it"
    block = issue.canonical.removesuffix(joined("", name)).removesuffix(".")
    where = f"in {block}" if block else "at the top level"
    remove = Fix(f"remove {name}", "unsafe", (Change("delete", issue.path),))
    shown = name if name and name == name.strip() else _json(name)
    if (name.startswith(COMMENT_MARKS) or name == "$schema") and not refused:
        return
    if (known := issue.block.gone.get(name)) is not None:
        yield from _gone(view, issue, known)
        return
    if "." in name and (info := view.resolved.schema.key(name)) is not None and not block:
        yield from _dotted(view, issue, info, remove)
        return
    near = view.resolved.schema.near(issue.block, name)
    if near is not None and issue.block.unknown == "scripted" and not plainly_misspelt(name, near):
        near = None
    if near is not None:
        taken = view.written(joined(block, near))
        taken = taken or not _fits(view, issue.block.keys[near], issue.node)
        renaming = Fix(f"rename it to {near}", "safe", (Change("rename", issue.path, to=(*issue.path[:-1], near)),))
        yield from _say(
            view,
            issue,
            "SC001",
            "error",
            f"unknown key {shown} {where}: did you mean {near}? {consequence}",
            fixes=(remove if taken else renaming,),
        )
        return
    if issue.block.unknown == "scripted":
        return
    homes = belongs(view.resolved.schema, name, issue.canonical, None if issue.node is None else to_python(issue.node))
    if homes:
        home = homes[0]
        fixes: tuple[Fix, ...] = (remove,)
        if len(homes) == 1 and home.takes is not None and _fits(view, home.takes, issue.node) and not view.written(home.path):
            fixes = (Fix(f"move it to {home.path}", "unsafe", (Change("move", issue.path, to=view.path(home.path)),)), remove)
        yield from _say(
            view,
            issue,
            "SC002",
            "error",
            f"{name} does not belong {where}: it is read at {' or '.join(home.path for home in homes)}; {consequence}",
            fixes=fixes,
        )
        return
    if refused:
        yield from _say(view, issue, "SC003", "error", f"unknown key {shown} {where}: {consequence}", fixes=(remove,))
    else:
        yield from _say(view, issue, "SC004", "warning", f"unknown key {shown} {where}: {consequence}", fixes=(remove,))


def _dotted(view: View, issue: Issue, info: KeyInfo, remove: Fix) -> Iterator[Diagnostic]:
    """A path written as one key."""
    name = str(issue.path[-1])
    fixes: tuple[Fix, ...] = (remove,)
    if not view.written(name) and _fits(view, info, issue.node):
        fixes = (Fix("write it as blocks", "unsafe", (Change("move", issue.path, to=view.path(name)),)), remove)
    message = f"{name} is one key with dots in its name, and {view.title} reads no such key: write it as a block in a block"
    yield from _say(view, issue, "SC002", "error", message, fixes=fixes)


def _fits(view: View, info: KeyInfo, node: Node | None) -> bool:
    """Could this value stand at that key? Of a block, are its keys known there?"""
    if node is None or (info.auto is not None and isinstance(node, Scalar) and node.value == "auto"):
        return True
    if isinstance(node, Mapping) and info.block is not None:
        block = view.resolved.schema.block(info.block)
        return all(entry.name in block.keys or entry.name.startswith(COMMENT_MARKS) for entry in node.entries)
    return coerce(info, to_python(node)).ok


def _gone(view: View, issue: Issue, known: KeyInfo) -> Iterator[Diagnostic]:
    """A key of another version of the framework."""
    framework, version = view.resolved.schema.framework, view.resolved.schema.version
    name = str(issue.path[-1])
    refused = issue.block.unknown in ("refused", "scripted") if known.removed_effect is None else known.removed_effect == "refused"
    consequence = "refuses the file" if refused else "ignores it"
    remove = Fix(f"remove {name}", "unsafe", (Change("delete", issue.path),))
    if known.since is not None and parse_version(known.since) > view.version:
        yield from _say(
            view, issue, "SC010", "error", f"{name} came with {framework} {known.since}; {version} {consequence}", fixes=(remove,)
        )
        return
    message = f"{name} was removed in {framework} {known.removed}; {version} {consequence}"
    fixes: tuple[Fix, ...] = (remove,)
    if known.renamed_to is not None:
        message += f": use {known.renamed_to}"
        info = view.resolved.schema.key(known.renamed_to)
        if not view.written(known.renamed_to) and (info is None or _fits(view, info, issue.node)):
            fixes = (Fix(f"move it to {known.renamed_to}", "unsafe", (Change("move", issue.path, to=view.path(known.renamed_to)),)), remove)
    yield from _say(view, issue, "SC008", "error" if refused else "warning", message, fixes=fixes)


def _wrong_value(view: View, issue: Issue) -> Iterator[Diagnostic]:
    code = {"type": "SC005", "bound": "SC006", "enum": "SC007"}[issue.kind]
    name, value = str(issue.path[-1]), _shown(issue.node)
    assert issue.info is not None
    fixes: tuple[Fix, ...] = ()
    suggestion = ""
    if issue.kind == "enum" and isinstance(issue.node, Scalar) and isinstance(issue.node.value, str):
        near = suggest(issue.node.value, [choice for choice in issue.info.enum or () if isinstance(choice, str)])
        if near is not None:
            suggestion = f"; did you mean {near}?"
            fixes = (Fix(f"write {near}", "unsafe", (Change("set", issue.path, near),)),)
    elif (
        issue.info.auto == "hf" and view.context != "native" and isinstance(issue.node, Scalar) and str(issue.node.value).lower() == "auto"
    ):
        suggestion = '; did you mean "auto", in small letters?'
        fixes = (Fix('write "auto"', "unsafe", (Change("set", issue.path, "auto"),)),)
    elif (plain := _plain(issue.node, issue.info)) is not None:
        fixes = (Fix(f"write {json.dumps(plain)}", "safe", (Change("set", issue.path, plain),)),)
    severity: Severity = "warning" if _tolerated(issue, issue.info) else "error"
    yield from _say(view, issue, code, severity, f"{name} is {value}: {issue.detail}{suggestion}", fixes=fixes)


def _tolerated(issue: Issue, info: KeyInfo) -> bool:
    """Does the engine run with this value? Not with a word such as "false" where anything that stands there counts as true.

    Where a number is used as it is written, Python takes true and false as 1 and 0.
    """
    value = to_python(issue.node) if issue.node is not None else None
    if isinstance(value, bool):
        return info.tolerant or (info.coerce == "raw" and not {"integer", "number"}.isdisjoint(info.type))
    contrary = "boolean" in info.type and isinstance(value, str) and value.strip().lower() in FALSE
    return info.tolerant and not contrary and not (info.enum is not None and isinstance(value, (list, dict)))


def _plain(node: Node | None, info: KeyInfo) -> int | float | bool | None:
    """The number or boolean that a quoted value plainly means, where the key takes one."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return None
    text = node.value.strip().lower()
    if "boolean" in info.type and text in ("true", "false"):
        return text == "true"
    with suppress(ValueError, OverflowError):
        number: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
        if "integer" in info.type and number == int(number):
            number = int(number)
        finite = abs(number) < float("inf")
        return number if finite and {"integer", "number"} & set(info.type) and coerce(info, number).ok else None
    return None


def _auto(view: View, issue: Issue) -> Iterator[Diagnostic]:
    info, name = issue.info, str(issue.path[-1])
    assert info is not None
    if info.auto == "hf" and view.context != "native":
        return
    filler = "only the Hugging Face integration fills in" if info.auto == "hf" else "nothing fills in"
    default = f"and the default is used ({_json(info.default)})" if info.default is not None else "and the key counts as unset"
    effect = {
        "dropped": f"{view.title} drops it {default}",
        "refused": f"{view.title} refuses the file",
        "fails": "the run fails on the word",
        "tolerated": "the word counts as true",
    }
    severity: Severity = "error"
    if info.native_auto == "tolerated":
        severity = "warning"
    elif info.native_auto == "dropped":
        # where nobody ever fills it in, the default is as good a meaning as any
        severity = "info" if view.context != "native" else "error" if info.auto == "hf" else "warning"
    fixes: tuple[Fix, ...] = ()
    if info.native_auto == "dropped":
        fixes = (Fix(f"remove {name}", "safe", (Change("delete", issue.path),)),)
    message = f'{filler} "auto" for {name}: {effect.get(info.native_auto or "", "it has no meaning here")}'
    yield from _say(view, issue, "SC011", severity, message, fixes=fixes)


def _deprecated(view: View, issue: Issue) -> Iterator[Diagnostic]:
    name = str(issue.path[-1])
    assert issue.info is not None
    deprecated = issue.info.deprecated
    assert deprecated is not None
    instead = f": use {deprecated.replacement}" if deprecated.replacement else ""
    note = f" ({deprecated.note})" if deprecated.note else ""
    yield from _say(view, issue, "SC009", "warning", f"{name} is deprecated{instead}{note}")


def _required(view: View, issue: Issue) -> Iterator[Diagnostic]:
    yield from _say(view, issue, "SC012", "error", f"{issue.canonical} is required and not written")


SPEAKERS: dict[str, Callable[[View, Issue], Iterator[Diagnostic]]] = {
    "unknown": _unknown,
    "type": _wrong_value,
    "bound": _wrong_value,
    "enum": _wrong_value,
    "auto": _auto,
    "deprecated": _deprecated,
    "required": _required,
}


def _shown(node: Node | None) -> str:
    text = _json(None if node is None else to_python(node))
    return text if len(text) <= 60 else text[:57] + "…"


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
