"""A draft as text: grouped, commented, in a stable order; and the account of it for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dslint.convert.account import Line
from dslint.convert.draft import GRAVITY, Draft

# the subjects of the Plan in the order of a file, with the comment above each
GROUPS = {
    "launch": "launcher",
    "model": "model",
    "load": "loading",
    "adapter": "adapter",
    "train": "run",
    "data": "data",
    "batch": "batch",
    "optimizer": "optimizer",
    "schedule": "schedule",
    "precision": "precision",
    "checkpointing": "activation checkpointing",
    "engine": "sharding",
    "parallel": "parallelism",
    "eval": "evaluation",
    "save": "checkpoints",
    "resume": "resuming",
    "other": "other",
}
WORDS = {"carried": "carried over", "implied": "the target's default", "approximate": "approximate", "lost": "not expressible"}


def yaml_text(tree: Mapping[str, Any], subjects: Mapping[str, str], head: Sequence[str]) -> str:
    """A mapping as YAML, its keys by subject."""
    import yaml

    def dumped(key: str) -> str:
        return yaml.safe_dump({key: tree[key]}, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100)

    parts = ["".join(f"# {line}\n" for line in head)] if head else []
    order = list(GROUPS)
    for subject in sorted(
        {subjects.get(key, "other") for key in tree}, key=lambda subject: order.index(subject) if subject in order else 99
    ):
        keys = [key for key in tree if subjects.get(key, "other") == subject]
        parts.append(f"# {GROUPS.get(subject, 'other')}\n" + "".join(map(dumped, keys)))
    return "\n".join(parts)


def json_text(tree: Mapping[str, Any]) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def head(source: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """The comment on top of a YAML target: where it comes from, and what did not come over as it was."""
    said = [f"Converted by dslint from {', '.join(source)}."]
    for kind in ("approximate", "lost"):
        notes: dict[str, list[str]] = {}
        for line in lines:
            if line.fate.kind == kind:
                notes.setdefault(line.fate.note, []).append(line.shown)
        if notes:
            said.append(f"{WORDS[kind].capitalize()}:")
            said += [f"  {', '.join(keys)}{': ' if note else ''}{note}".replace("\n", " ") for note, keys in notes.items()]
    return said


def table(lines: Sequence[Line]) -> Iterator[str]:
    """The account as a table, the gravest last."""
    width = min(48, max((len(line.shown) for line in lines), default=0))
    for kind in GRAVITY:
        for line in lines:
            if line.fate.kind == kind:
                target = f" → {line.fate.key}" if line.fate.key else ""
                note = f" ({line.fate.note})" if line.fate.note else ""
                yield f"{WORDS[kind]:21} {line.shown:{width}}{target}{note}"
    yield summary(lines)


def summary(lines: Sequence[Line]) -> str:
    counts = {kind: sum(line.fate.kind == kind for line in lines) for kind in GRAVITY}
    return f"{len(lines)} keys: " + ", ".join(f"{counts[kind]} {WORDS[kind]}" for kind in ("carried", "implied", "approximate", "lost"))


def report(source: Sequence[str], target: str, files: Sequence[str], lines: Sequence[Line], draft: Draft) -> dict[str, Any]:
    """The account for programs; the form is described in docs/guides/convert.md."""
    return {
        "version": 1,
        "source": list(source),
        "target": {"format": target, "version": draft.schema.version},
        "files": list(files),
        "keys": [
            {"file": line.file, "path": line.shown, "line": line.line, "fate": line.fate.kind, "key": line.fate.key, "note": line.fate.note}
            for line in lines
        ],
    }
