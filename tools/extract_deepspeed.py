"""Make schemas/deepspeed.json from DeepSpeed's own releases.

Two sources are merged: the pydantic models of each release, imported from its unpacked sdist in a process of its own, and
``tools/deepspeed_hand_read.yaml`` for what no model says. Each key ends with ``since`` (the first release that has it), ``removed`` (the first
that has it no longer) and ``changes`` (facts that differ from a release on). What was read by hand is then held against each release's own
parser and constructors (tools/deepspeed_reads.py); nothing is written while they disagree.

The sources come from the package index: ``DS_BUILD_OPS=0 pip download --no-deps --no-binary :all: --no-build-isolation deepspeed==V``,
unpacked with tar. torch and both pydantic generations' names must be importable (0.14 still uses pydantic.v1).

usage:  python tools/extract_deepspeed.py --sources DIR [DIR ...]     write the schema from unpacked sdists deepspeed-V
        python tools/extract_deepspeed.py --check                     compare the installed release with the schema
"""

from __future__ import annotations

import argparse
import enum
import importlib
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "deepspeed.json"
HAND_READ = Path(__file__).with_name("deepspeed_hand_read.yaml")
READS = str(Path(__file__).with_name("deepspeed_reads.py"))

# block -> where its model lives, by release
MODELS: dict[str, list[str]] = {
    "zero_optimization": ["deepspeed.runtime.zero.config:DeepSpeedZeroConfig"],
    "fp16": ["deepspeed.runtime.precision_config:DeepSpeedFP16Config"],
    "bf16": ["deepspeed.runtime.precision_config:DeepSpeedBF16Config"],
    "compile": ["deepspeed.compile.config:CompileConfig", "deepspeed.runtime.compiler:CompileConfig"],
    "hybrid_engine": ["deepspeed.runtime.config:HybridEngineConfig"],
    "tensor_parallel": ["deepspeed.runtime.tensor_parallel.config:TPTrainingConfig"],
    "tensorboard": ["deepspeed.monitor.config:TensorBoardConfig"],
    "wandb": ["deepspeed.monitor.config:WandbConfig"],
    "csv_monitor": ["deepspeed.monitor.config:CSVConfig"],
    "comet": ["deepspeed.monitor.config:CometConfig"],
    "comms_logger": ["deepspeed.comm.config:CommsLoggerConfig"],
    "timers.throughput": ["deepspeed.utils.config:DeepSpeedThroughputTimerConfig"],
    "weight_quantization": ["deepspeed.inference.config:WeightQuantConfig"],
}
# keys of pydantic blocks whose "auto" the HF integration fills (transformers/integrations/deepspeed.py, accelerate's DeepSpeedPlugin)
HF_FILLS = {
    "zero_optimization": {
        "stage", "reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "stage3_gather_16bit_weights_on_model_save"
    },
    "zero_optimization.offload_optimizer": {"device", "nvme_path"},
    "zero_optimization.offload_param": {"device", "nvme_path"},
    "fp16": {"enabled"},
    "bf16": {"enabled"},
}  # fmt: skip
# keys to which DeepSpeed itself gives "auto" a meaning (runtime/zenflow/zenflow_config.py; its values reach the model as they are)
ENGINE_AUTO = {"zero_optimization.zenflow": {"select_strategy", "select_interval", "update_interval"}}
# before there were models for them (precision_config came with 0.17.1), fp16 and bf16 were dictionaries with these keys that ignored others
DICT_BLOCKS = {
    "fp16": {
        "enabled", "auto_cast", "loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "consecutive_hysteresis", "min_loss_scale",
        "fp16_master_weights_and_grads"
    },
    "bf16": {"enabled", "immediate_grad_update"},
}  # fmt: skip


def dump() -> dict[str, Any]:
    """The blocks of the importable release, by name."""
    blocks: dict[str, Any] = {}
    for name, places in MODELS.items():
        for place in places:
            module, _, attribute = place.partition(":")
            try:
                model = getattr(importlib.import_module(module), attribute)
            except (ImportError, AttributeError):
                continue
            add_model(blocks, name, model)
            break
    return blocks


def add_model(blocks: dict[str, Any], name: str, model: Any) -> None:
    keys: dict[str, Any] = {}
    fields = fields_of(name, model)
    for field, (key, facts) in fields.items():
        facts["source"] = f"{model.__module__.replace('.', '/')}.py: {model.__name__}.{field}"
        if "_model" in facts:
            child = f"{name}.{key}"
            add_model(blocks, child, facts.pop("_model"))
            facts["block"] = child
        if key in HF_FILLS.get(name, ()):
            facts["auto"] = "hf"
        if key in ENGINE_AUTO.get(name, ()):
            facts["auto"] = "engine"
        facts["native_auto"] = "dropped"
        if (instead := (facts.get("deprecated") or {}).get("replacement")) is not None:
            parent, _, last = instead.rpartition(".")
            facts["deprecated"]["replacement"] = f"{parent}.{fields[last][0]}" if last in fields else instead
        keys[key] = facts
    blocks[name] = {"unknown": "refused" if refuses_unknown(model) else "ignored", "keys": keys}


def refuses_unknown(model: Any) -> bool:
    if hasattr(model, "model_config"):
        return bool(model.model_config.get("extra") == "forbid")
    return str(getattr(model.Config, "extra", "")).endswith("forbid")


def fields_of(block: str, model: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """Field name -> (the key as documented, its facts), for pydantic 2 models and for those of its v1 names."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    if hasattr(model, "model_fields"):
        for name, field in model.model_fields.items():
            facts = typed(field.annotation, "pydantic")
            add_default(facts, None if field.default_factory else field.default)
            for mark in field.metadata:
                add_bounds(facts, mark)
            add_deprecation(facts, block, field.json_schema_extra or {})
            found[name] = named(name, field.alias, facts)
        return found
    for name, field in model.__fields__.items():
        annotation = model.__annotations__.get(name) or typing.get_type_hints(model).get(name, field.outer_type_)
        if isinstance(annotation, str):
            annotation = typing.Optional[field.outer_type_] if field.allow_none else field.outer_type_  # noqa: UP045
        facts = typed(annotation, "pydantic1")
        if field.allow_none and "null" not in facts["type"]:
            facts["type"].append("null")
        add_default(facts, field.default)
        add_bounds(facts, field.field_info)
        add_deprecation(facts, block, field.field_info.extra)
        found[name] = named(name, field.alias, facts)
    return found


def named(name: str, alias: str | None, facts: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if alias and alias != name:
        facts["aliases"] = [name]
        return alias, facts
    return name, facts


def typed(annotation: Any, coercion: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": [], "coerce": coercion}
    parts = (
        typing.get_args(annotation)
        if typing.get_origin(annotation) is typing.Union or type(annotation).__name__ == "UnionType"
        else (annotation,)
    )
    for part in parts:
        add_type(facts, part)
    facts["type"] = list(dict.fromkeys(facts["type"]))
    return facts


def add_type(facts: dict[str, Any], part: Any) -> None:
    plain = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        Path: "string",
        type(None): "null",
        list: "array",
        tuple: "array",
        dict: "object",
    }
    origin = typing.get_origin(part)
    if part in plain or origin in plain:
        facts["type"].append(plain[part if part in plain else origin])
        inner = typing.get_args(part)
        if origin is list and inner:
            items = typed(inner[0], facts["coerce"])
            facts["items"] = items
    elif origin is typing.Literal:
        facts["enum"] = list(typing.get_args(part))
        facts["type"].append("string")
    elif isinstance(part, type) and issubclass(part, enum.Enum):
        facts["enum"] = [member.value for member in part if not isinstance(member.value, type)]
        facts["type"].append("integer" if isinstance(facts["enum"][0], int) else "string")
    elif hasattr(part, "model_fields") or hasattr(part, "__fields__"):
        facts["type"].append("object")
        facts["_model"] = part
    else:
        facts["type"].append("string" if getattr(part, "__name__", "") == "dtype" else "object")


def add_default(facts: dict[str, Any], default: Any) -> None:
    if isinstance(default, enum.Enum):
        default = default.value
    if isinstance(default, bool):
        facts["default"] = default
    elif isinstance(default, int):
        facts["default"] = int(default)
    elif isinstance(default, (float, str)):
        facts["default"] = default


def add_bounds(facts: dict[str, Any], mark: Any) -> None:
    for short, name in (("ge", "minimum"), ("gt", "exclusive_minimum"), ("le", "maximum"), ("lt", "exclusive_maximum")):
        if getattr(mark, short, None) is not None:
            facts[name] = getattr(mark, short)


def add_deprecation(facts: dict[str, Any], block: str, extra: dict[str, Any]) -> None:
    if extra.get("deprecated"):
        instead = extra.get("new_param", "")
        note = "" if extra.get("set_new_param", True) else "its value is not carried over"
        replacement = f"{block}.{instead}" if instead and " " not in instead else None
        facts["deprecated"] = {"replacement": replacement, "note": note if replacement or not instead else f"see {instead}"}


# --- merging the releases ---


def merge(releases: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One set of blocks from those of each release (ascending)."""
    versions = list(releases)
    blocks: dict[str, Any] = {}
    for name in sorted({block for release in releases.values() for block in release}):
        unknown = [(version, release[name]["unknown"]) for version, release in releases.items() if name in release]
        keys = {key for release in releases.values() for key in release.get(name, {}).get("keys", {})}
        merged = {
            key: merge_key([release.get(name, {}).get("keys", {}).get(key) for release in releases.values()], versions)
            for key in sorted(keys)
        }
        blocks[name] = {"unknown": unknown[0][1], "keys": merged}
        if name in DICT_BLOCKS and unknown[0][0] != versions[0]:
            blocks[name] |= {"unknown": "ignored", "unknown_changes": [{"since": unknown[0][0], "unknown": unknown[0][1]}]}
            blocks[name]["keys"] = {
                key: before_models(facts, unknown[0][0]) if key in DICT_BLOCKS[name] else facts for key, facts in merged.items()
            }
    return blocks


def before_models(facts: dict[str, Any], modelled: str) -> dict[str, Any]:
    """A key that was read as it is written until its block got a model: any truth value passed, and whole numbers were not asked for."""
    number = "number" if facts["type"] == ["integer"] else facts["type"][0]
    early = {"coerce": "raw", "type": [number], "native_auto": "tolerated" if number == "boolean" else "fails"}
    early |= {"tolerant": True} if number == "boolean" else {}
    later = {"since": modelled, **{fact: facts.get(fact) for fact in early}}
    rest = {fact: value for fact, value in facts.items() if fact not in ("since", "changes")}
    return rest | early | {"changes": [later, *facts.get("changes", ())]}


def merge_key(states: list[dict[str, Any] | None], versions: list[str]) -> dict[str, Any]:
    """The facts of a key from its state in each release (None: not there)."""
    present = [number for number, state in enumerate(states) if state is not None]
    base = dict(states[present[0]] or {})
    current, changes = dict(base), []
    for number in present[1:]:
        state = states[number] or {}
        if state != current:
            change: dict[str, Any] = {"since": versions[number]}
            change |= {fact: state.get(fact) for fact in sorted(state.keys() | current.keys()) if state.get(fact) != current.get(fact)}
            changes.append(change)
            current = dict(state)
    if present[0] > 0:
        base["since"] = versions[present[0]]
    if present[-1] < len(versions) - 1:
        base["removed"] = versions[present[-1] + 1]
    if changes:
        base["changes"] = changes
    return base


def with_hand_read(blocks: dict[str, Any]) -> dict[str, Any]:
    """The models' blocks and the hand-read ones together; a hand-read fact about a model's key is laid over it."""
    import yaml

    for name, block in yaml.safe_load(HAND_READ.read_text(encoding="utf-8")).items():
        keys = {
            key: {"coerce": "raw", "native_auto": "tolerated" if facts.get("tolerant") else "fails", "source": block.get("source", "")}
            | facts
            for key, facts in block.get("keys", {}).items()
        }
        if name not in blocks:
            blocks[name] = {"unknown": block["unknown"], "keys": keys}
            continue
        for key, facts in block["keys"].items():
            known = blocks[name]["keys"].get(key, {"coerce": "pydantic"})
            changes = sorted([*known.get("changes", ()), *facts.get("changes", ())], key=lambda change: version_key(change["since"]))
            blocks[name]["keys"][key] = known | facts | ({"changes": changes} if changes else {})
        for field in ("unknown", "unknown_changes"):
            if field in block:
                blocks[name][field] = block[field]
    return dict(sorted(blocks.items()))


def run_dump(source: Path | None) -> dict[str, Any]:
    """The models of a release: from an unpacked sdist, or (None) the installed one."""
    return run_tool(source, __file__, "--dump")


def run_tool(source: Path | None, *command: str) -> dict[str, Any]:
    """What a tool prints about a release, in a process of its own."""
    env = {**os.environ, "DS_ACCELERATOR": "cpu", "DS_IGNORE_CUDA_DETECTION": "1", "OMP_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)
    if source is not None:
        env["PYTHONPATH"] = str(source)
    done = subprocess.run(
        [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), *command],
        env=env,
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{source or 'installed'}: {done.stderr[-2000:]}")
    dumped: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return dumped


def version_key(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))


def extract(sources: list[Path]) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    from dslint.schema.lookup import VersionedSchema
    from tools.deepspeed_reads import disagreements

    releases: dict[str, dict[str, Any]] = {}
    outcomes: dict[str, dict[str, Any]] = {}
    for source in sorted(sources, key=lambda path: version_key(path.name)):
        version = source.name.removeprefix("deepspeed-")
        releases[version] = run_dump(source)
        outcomes[version] = run_tool(source, READS)
        print(f"{version}: {sum(len(block['keys']) for block in releases[version].values())} keys", file=sys.stderr)
    blocks = with_hand_read(merge(releases))
    wrong = [
        f"{version}: {words}"
        for version, outcome in outcomes.items()
        for words in disagreements(VersionedSchema("deepspeed", version, "config", True, blocks), outcome)
    ]
    if wrong:
        raise SystemExit("\n".join(wrong))
    return {"framework": "deepspeed", "versions": list(releases), "root": "config", "autos": True, "blocks": blocks}


def check() -> list[str]:
    """Where the installed release and the schema at its version differ, in words; empty when they agree."""
    sys.path.insert(0, str(ROOT))
    from importlib.metadata import version as installed_version

    from dslint.schema.lookup import NAMES, Schema, VersionedSchema
    from tools.deepspeed_reads import disagreements

    version = installed_version("deepspeed")
    schema = Schema.load("deepspeed").at(version)
    blocks = with_hand_read(merge({version: run_dump(None)}))
    fresh = VersionedSchema("deepspeed", version, "config", True, blocks)
    compared = NAMES - {"since", "removed"}
    differences = disagreements(schema, run_tool(None, READS))
    for name in blocks:
        now, then = fresh.block(name), schema.block(name)
        differences += [f"{name}: unknown keys are {now.unknown}, the schema says {then.unknown}"] if now.unknown != then.unknown else []
        differences += [f"{name}: {key} is not in the schema" for key in now.keys.keys() - then.keys.keys()]
        differences += [f"{name}: {key} is in the schema only" for key in then.keys.keys() - now.keys.keys()]
        differences += [
            f"{name}.{key}: {fact} is {ours!r}, the schema says {theirs!r}"
            for key in now.keys.keys() & then.keys.keys()
            for fact in compared
            if (ours := getattr(now.keys[key], fact)) != (theirs := getattr(then.keys[key], fact))
        ]
    return differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="+", type=Path, metavar="DIR", help="unpacked sdists, named deepspeed-V")
    parser.add_argument("--check", action="store_true", help="compare the installed release with the schema")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dump:
        sys.path.insert(0, str(ROOT))
        from tools.deepspeed_reads import import_release

        import_release()
        print("\n" + json.dumps(dump()))
        return 0
    if options.check:
        differences = check()
        print("\n".join(differences) or "the installed release and the schema agree")
        return bool(differences)
    if not options.sources:
        parser.error("give --sources or --check")
    SCHEMA.write_text(json.dumps(extract(options.sources), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
