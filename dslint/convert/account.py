"""What became of every key of the source: each has one fate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dslint.convert.draft import GRAVITY, Draft, Fate
from dslint.convert.run import leaves
from dslint.document import Path, format_path, to_python
from dslint.engine.config import Config
from dslint.formats.deepspeed import FILLS

# where the user must put what the target has no key for, by what the key is about
ELSEWHERE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), note)
    for pattern, note in (
        (r"(_|//|#)", "a note, which no program reads"),
        (
            r"(.*data(set)?s?(_|$)|test_datasets|datasets|val_set|.*template|roles|train_on|shuffle|special_tokens|tokens$|.*tokenizer|cutoff|max_samples|"
            r"mix_strategy|interleave|pretraining|preprocess|sample_packing|pad_to|streaming|ignore_pad|mask_history|packing|eval_packing)",
            "data: it belongs into the training script, or the other tool's settings of data",
        ),
        (
            r"(wandb|mlflow|comet|trackio|swanlab|tensorboard|report_to|run_name|project$|.*monitor|logging_|log_|use_(wandb|mlflow))",
            "tracking: it belongs among the trainer's arguments",
        ),
        (r"(hub_|push_to_hub|hf_)", "the hub: it belongs among the trainer's arguments"),
        (
            r"(machine_rank|main_process|rdzv|same_network|gpu_ids|tpu|main_training|command|debug$|downcast|enable_cpu|mpirun|use_cpu)",
            "the launcher's: give it to the launcher",
        ),
    )
)


class Line(NamedTuple):
    """One key of the source with its fate."""

    file: str
    path: Path
    line: int
    fate: Fate

    @property
    def shown(self) -> str:
        return format_path(self.path)


def account(draft: Draft, title: str) -> list[Line]:
    """Each key of the source once. ``title``: how the target is called."""
    return [line for config in draft.run.family.configs for line in _of_config(draft, config, title)]


def _of_config(draft: Draft, config: Config, title: str) -> Iterator[Line]:
    document = config.document
    names: dict[str, list[str]] = {}
    for statement in config.statements:
        if statement.origin in ("written", "override"):
            names.setdefault(statement.key, []).append(statement.name)
    for path in config.resolved.autos:
        if (name := FILLS.get(path)) is not None and config.form.name == "deepspeed":
            names.setdefault(path, []).append(name)
    for statement in draft.run.statements.values():
        if statement.document is document and statement.key not in names:
            names[statement.key] = [statement.name]
    for leaf in leaves(config):
        place = config.resolved.places[leaf]
        fate = draft.kept.get((document.file, leaf)) or _fate(draft, config, leaf, names, title)
        yield Line(document.file, place.path, document.line_column(document.key_span(place.path).start)[0], fate)


def _fate(draft: Draft, config: Config, leaf: str, names: dict[str, list[str]], title: str) -> Fate:
    stated = next((names[path] for path in _upwards(leaf) if path in names), None)
    if stated is not None:
        fates = [draft.fates[name] for name in stated if name in draft.fates]
        if fates:
            return max(fates, key=lambda fate: GRAVITY.index(fate.kind))
        return Fate("lost", "", f"{title} has no word for this value")
    if to_python(config.resolved.places[leaf].node) in (None, False, "", [], {}):
        return Fate("implied", "", "it is not set, or off")
    key = leaf.split(".")[0].split("[")[0]
    info = config.resolved.places[leaf].info
    for pattern, note in ELSEWHERE:
        if pattern.match(key):
            return Fate("implied" if note.startswith("a note") else "lost", "", note)
    if info is None and key not in config.resolved.blocks[""].keys:
        return Fate("lost", "", f"{config.form.title} itself knows no such key")
    return Fate("lost", "", f"{title} has no key for it")


def _upwards(path: str) -> Iterator[str]:
    """A path and its ancestors."""
    while path:
        yield path
        cut = max(path.rfind("."), path.rfind("["))
        path = path[:cut] if cut > 0 else ""
