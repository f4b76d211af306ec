"""Which keys DeepSpeed's own parser reads in each block, and what its constructors take: by running it, release by release.

A mapping that notes every look-up is given to ``DeepSpeedConfig``; the default that the parser passes with it is noted too. The parameters of
optimizers and schedulers are those of their constructors. ``disagreements`` holds a schema against the outcome: it is how hand-read facts
(which release has a key, with which default) are proved.

usage:  python tools/deepspeed_reads.py     one JSON object of the importable release: {"reads": …, "signatures": …}
"""

from __future__ import annotations

import importlib
import importlib.machinery
import inspect
import json
import sys
import types
from collections.abc import Iterator, KeysView
from typing import Any

# every block whose keys are looked up one by one, with the values that open the branches behind which keys are read
PROBE: dict[str, Any] = {
    "train_batch_size": 1,
    "optimizer": {"type": "Adam", "params": {}},
    "scheduler": {"type": "WarmupLR", "params": {}},
    "torch_autocast": {"dtype": "bfloat16", "lower_precision_safe_modules": []},
    "activation_checkpointing": {},
    "aio": {},
    "flops_profiler": {},
    "autotuning": {"model_info": {}},
    "checkpoint": {"parallel_write": {}, "writer": {}},
    "data_types": {},
    "data_efficiency": {
        "data_sampling": {
            "curriculum_learning": {"enabled": True, "curriculum_metrics": {}},
            "dynamic_batching": {"enabled": True, "max_tokens": 1},
        },
        "data_routing": {"random_ltd": {"enabled": True}},
    },
    "timers": {"throughput": {}},
    "expert_parallel": {"enabled": False},
    "elasticity": {},
    "nebula": {},
    "amp": {"enabled": False},
    "eigenvalue": {},
    "progressive_layer_drop": {"enabled": False},
    "curriculum_learning": {"enabled": False},
    "sparse_attention": {},
    "compression_training": {},
    "fp16": {},
    "bf16": {},
}
CONSTRUCTORS: dict[str, tuple[str, ...]] = {
    "scheduler.params.WarmupLR": ("deepspeed.runtime.lr_schedules:WarmupLR",),
    "scheduler.params.WarmupDecayLR": ("deepspeed.runtime.lr_schedules:WarmupDecayLR",),
    "scheduler.params.WarmupCosineLR": ("deepspeed.runtime.lr_schedules:WarmupCosineLR",),
    "scheduler.params.OneCycle": ("deepspeed.runtime.lr_schedules:OneCycle",),
    "scheduler.params.LRRangeTest": ("deepspeed.runtime.lr_schedules:LRRangeTest",),
    "optimizer.params.adam": (
        "deepspeed.ops.adam:FusedAdam",
        "deepspeed.ops.adam:DeepSpeedCPUAdam",
        "torch.optim:Adam",
        "torch.optim:AdamW",
    ),
    "optimizer.params.lamb": ("deepspeed.ops.lamb:FusedLamb",),
    "optimizer.params.lion": ("deepspeed.ops.lion:FusedLion", "deepspeed.ops.lion:DeepSpeedCPULion"),
    "optimizer.params.adagrad": ("deepspeed.ops.adagrad:DeepSpeedCPUAdagrad", "torch.optim:Adagrad"),
    "optimizer.params.sgd": ("torch.optim:SGD",),
    "optimizer.params.rmsprop": ("torch.optim:RMSprop",),
    "optimizer.params.adadelta": ("torch.optim:Adadelta",),
    "optimizer.params.adafactor": ("torch.optim:Adafactor",),
    "optimizer.params.adamax": ("torch.optim:Adamax",),
    "optimizer.params.asgd": ("torch.optim:ASGD",),
    "optimizer.params.nadam": ("torch.optim:NAdam",),
    "optimizer.params.radam": ("torch.optim:RAdam",),
    "optimizer.params.rprop": ("torch.optim:Rprop",),
    "optimizer.params.onebitadam": ("deepspeed.runtime.fp16.onebit.adam:OnebitAdam",),
    "optimizer.params.onebitlamb": ("deepspeed.runtime.fp16.onebit.lamb:OnebitLamb",),
    "optimizer.params.zerooneadam": ("deepspeed.runtime.fp16.onebit.zoadam:ZeroOneAdam",),
}
# what the engine or the caller hands to a constructor beside the user's parameters
GIVEN = frozenset({"self", "optimizer", "params", "model_params", "deepspeed", "kwargs"})
NO_DEFAULT = "(none)"
# what releases before 0.14.4 import from packages that no longer have it
GONE_NAMES = (
    ("torch.distributed.elastic.agent.server.api", "log"),
    ("torch.distributed.elastic.agent.server.api", "_get_socket_with_port"),
    ("numpy", "BUFSIZE"),
)


class Keys(KeysView[str]):
    """``key in mapping.keys()`` is a look-up as well."""

    def __init__(self, mapping: Noting) -> None:
        super().__init__(mapping)
        self.mapping = mapping

    def __contains__(self, key: object) -> bool:
        return key in self.mapping

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self.mapping)


class Noting(dict[str, Any]):
    """A mapping that notes in ``log`` which keys are asked for, by the path of the block, with the default that is asked for."""

    def __init__(self, values: dict[str, Any], path: str, log: dict[str, dict[str, Any]]) -> None:
        self.path, self.log = path, log
        below = {key: f"{path}.{key}" if path else key for key in values}
        super().__init__({key: Noting(value, below[key], log) if isinstance(value, dict) else value for key, value in values.items()})

    def _note(self, key: object, default: Any = NO_DEFAULT) -> None:
        known = self.log.setdefault(self.path, {})
        if isinstance(key, str) and known.get(key, NO_DEFAULT) == NO_DEFAULT:
            known[key] = default if isinstance(default, (bool, int, float, str, type(None))) else NO_DEFAULT

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return dict.__contains__(self, key)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return dict.__getitem__(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key, default)
        return dict.get(self, key, default)

    def keys(self) -> Any:
        return Keys(self)

    def __copy__(self) -> Noting:
        copied = Noting({}, self.path, self.log)
        dict.update(copied, self)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Noting:
        return self.__copy__()


def reads() -> dict[str, dict[str, Any]]:
    """Block path -> key -> default (NO_DEFAULT where the parser asks without one)."""
    config = importlib.import_module("deepspeed.runtime.config")
    gone = getattr(config, "_REMOVED_TOP_LEVEL_CONFIG_KEYS", {})
    log: dict[str, dict[str, Any]] = {}
    probe = Noting({key: value for key, value in PROBE.items() if key not in gone}, "", log)
    config.DeepSpeedConfig(probe)
    if "sparse_attention" not in gone:
        for mode in ("dense", "fixed", "variable", "bigbird", "bslongformer"):
            config.get_sparse_attention(Noting({"sparse_attention": {"mode": mode}}, "", log))
    if "elasticity" not in gone and (module := optional("deepspeed.elasticity.config")):
        values = {"enabled": True, "max_train_batch_size": 4, "micro_batch_sizes": [1]}
        module.ElasticityConfig(Noting(values, "elasticity", log))
    for key in gone:
        log[""].pop(key, None)
    return log


def signatures() -> dict[str, dict[str, dict[str, Any]]]:
    """By-type block -> constructor -> parameter -> default."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for block, places in CONSTRUCTORS.items():
        for place in places:
            module, _, name = place.partition(":")
            constructor = getattr(optional(module), name, None)
            if constructor is None:
                continue
            parameters = inspect.signature(constructor.__init__).parameters.values()
            plain = {each.name: simple(each.default) for each in parameters if each.name not in GIVEN}
            found.setdefault(block, {})[place] = plain
    return found


def simple(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return NO_DEFAULT
    return default if isinstance(default, (bool, int, float, str, type(None))) else repr(default)


def optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def import_release() -> None:
    """Import the parser; releases before 0.14.4 ask on a CPU for two packages, and others for old names, of which parsing a config uses nothing."""
    try:
        importlib.import_module("deepspeed.runtime.config")
    except (ImportError, ValueError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "deepspeed"]:
            del sys.modules[name]
        validators: Any = importlib.import_module("pydantic.v1.class_validators")
        validators._FUNCS.clear()  # else the validators of the first attempt count as duplicates
        for name in ("intel_extension_for_pytorch", "oneccl_bindings_for_pytorch"):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
        for place, name in GONE_NAMES:
            module = importlib.import_module(place)
            setattr(module, name, getattr(module, name, None))
        importlib.import_module("deepspeed.runtime.config")


def measured() -> dict[str, Any]:
    return {"reads": reads(), "signatures": signatures()}


# --- a schema against the outcome ---

# keys that something other than the parser reads (deepspeed.initialize, the engine, apex), and blocks whose rest is handed on unread
READ_ELSEWHERE = {
    "config": {"data_parallel_size", "sequence_parallel_size", "quantize_training", "eigenvalue"},
    "optimizer.params.adam": {"torch_adam"},
}
HANDED_ON = {
    "amp",
    "progressive_layer_drop",
    "curriculum_learning",
    "data_efficiency.data_sampling.curriculum_learning",
    "data_efficiency.data_sampling.dynamic_batching",
    "data_efficiency.data_routing.random_ltd",
}
# what a constructor takes but the engine fills in itself, refuses, or takes for one class only
NOT_FOR_USERS = {
    "optimizer.params.adam": {"adamw_mode", "decoupled_weight_decay"},
    "optimizer.params.lamb": {"max_grad_norm"},
    "compression_training": {"shared_parameters"},
    "config": {"compile"},  # 0.14.0 to 0.14.3 had another one, which went before today's came
}


def disagreements(schema: Any, outcome: dict[str, Any]) -> list[str]:
    """Where a VersionedSchema and the measured release say different things, in words."""
    found: list[str] = []
    for path, keys in outcome["reads"].items():
        if path not in ("optimizer.params", "scheduler.params", "fp16", "bf16"):
            found += _of_block(schema.block(path or "config"), {key: [default] for key, default in keys.items()})
    for name, constructors in outcome["signatures"].items():
        parameters: dict[str, list[Any]] = {}
        for signature in constructors.values():
            for parameter, default in signature.items():
                parameters.setdefault(parameter, []).append(default)
        found += _of_block(schema.block(name), parameters)
        found += [
            f"{name}.{key}: required is {info.required}"
            for key, info in schema.block(name).keys.items()
            if key in parameters and info.required != (NO_DEFAULT in parameters[key])
        ]
    return found


def _of_block(block: Any, measured: dict[str, list[Any]]) -> list[str]:
    name, found = block.name, []
    for key, defaults in measured.items():
        info = block.keys.get(block.aliases.get(key, key))
        if info is None:
            found += [] if key in NOT_FOR_USERS.get(name, ()) else [f"{name}.{key}: read, not in the schema"]
            continue
        plain = [default for default in defaults if default != NO_DEFAULT and not (isinstance(default, str) and default.startswith("("))]
        if plain and info.coerce == "raw" and info.block is None and info.default not in plain:
            found.append(f"{name}.{key}: the default is {plain[0]!r}, the schema says {info.default!r}")
    if name not in HANDED_ON:
        unread = block.keys.keys() - measured.keys() - READ_ELSEWHERE.get(name, set())
        found += [f"{name}.{key}: in the schema, not read" for key in sorted(unread) if not set(block.keys[key].aliases) & measured.keys()]
    return found


if __name__ == "__main__":
    import_release()
    print("\n" + json.dumps(measured()))
