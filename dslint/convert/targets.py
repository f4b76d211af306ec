"""The formats that can be written, and a run as one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from dslint.convert.draft import Draft, Fate, Wish
from dslint.convert.passing import pass_over
from dslint.convert.run import Run, leaves
from dslint.document import to_python
from dslint.faults import Fault
from dslint.formats import axolotl


class Target(NamedTuple):
    """``file``: how the main file is called in a set; ``root``: the schema block that it starts with; ``defaults``: by name of the Plan, beyond the schema's."""

    framework: str
    file: str
    root: str | None = None
    defaults: Mapping[str, Any] = {}


TARGETS: dict[str, Target] = {
    "deepspeed": Target("deepspeed", "ds_config.json"),
    "accelerate": Target("accelerate", "accelerate.yaml"),
    "fsdp": Target("transformers", "fsdp_config.json", "fsdp_config"),
    "trainer": Target("transformers", "train.yaml"),
    "axolotl": Target("axolotl", "axolotl.yaml", defaults=axolotl.DEFAULTS | {"data.packing": False}),
    "llamafactory": Target("llamafactory", "train.yaml", "train"),
}


# what a training needs beyond the schema's required keys: one of each group
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "axolotl": (("datasets", "pretraining_dataset"),),
    "accelerate": (("num_processes",),),
    "llamafactory": (("model_name_or_path",), ("dataset", "eval_dataset")),
}


def converted(run: Run, target: str, wish: Wish, added: Mapping[str, Any]) -> Draft:
    """The run as a target. ``added``: keys of the target that the command line gives. Raises Fault where it cannot be written, with the reason."""
    same = run.family.roots[0].form.name == target and target != "deepspeed" and wish.flavour is None and wish.fsdp_version is None
    draft = _as_it_is(run, target, wish) if same else _written(run, target, wish)
    for key, value in added.items():
        draft.put(key, value)
    if same:
        return draft
    pass_over(draft, target)
    written = draft.files[""].keys()
    missing = [key for key in draft.block.required if key not in written]
    missing += [choices[0] for choices in NEEDED.get(target, ()) if not written & set(choices)]
    if missing == ["num_processes"]:
        raise Fault("accelerate launch needs to know how many processes it starts: add --world-size N")
    if missing:
        adding = " ".join(f"--add {key}=…" for key in missing)
        raise Fault(f"{title(target)} needs {', '.join(missing)}, which the source does not say: add {adding}")
    return draft


def beside(draft: Draft, target: str, file: str) -> None:
    """Put another target of the same run into a file of the draft; what the main file has no words for is said there."""
    other = _written(draft.run, target, draft.wish._replace(engine=False))
    draft.files[file] = other.files[""]
    for name, fate in other.fates.items():
        if draft.fates.get(name, Fate("lost")).kind == "lost":
            draft.fates[name] = fate._replace(key=f"{file}: {fate.key}" if fate.key else "")


def title(target: str) -> str:
    from dslint.formats import FORMATS

    return "fsdp_config" if target == "fsdp" else FORMATS[target].title


def _as_it_is(run: Run, target: str, wish: Wish) -> Draft:
    """A file of the target's own format: each key stays; a linked DeepSpeed config comes along into a set."""
    root = run.family.roots[0]
    facts = TARGETS[target]
    draft = Draft(run, wish, facts.framework, facts.root, facts.defaults)
    node = root.document.node(root.mount)
    assert node is not None
    draft.files[""] = to_python(node)
    for config in run.family.configs:
        for path in leaves(config):
            draft.kept[config.document.file, path] = Fate("carried", path)
        if config.document is not root.document and wish.several:
            draft.files[os.path.basename(config.document.file)] = to_python(config.resolved.root)
    for statement in root.statements:
        draft.subjects.setdefault(statement.key.split(".")[0].split("[")[0], statement.name.partition(".")[0])
    return draft


def _written(run: Run, target: str, wish: Wish) -> Draft:
    facts = TARGETS[target]
    draft = Draft(run, wish, facts.framework, facts.root, facts.defaults)
    write: Callable[[Draft], None] = import_module(f"dslint.formats.{target}.write").write
    try:
        write(draft)
    except ValueError as error:
        raise Fault(f"no {target} config can be made of this: {error}") from None
    return draft
