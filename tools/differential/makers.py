"""One mistake in a config with blocks: what the runs for Accelerate and for the Trainer's fsdp_config are made of."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.differential.judges import Config
from tools.differential.parsers import Mutant

WRONG: list[Any] = ["a word", 7, 0.5, True, False, None, [1], {"a": 1}, ""]
MISSING = object()
# mistakes that a parser may keep without looking at them
ODD = ("misspelt", "foreign key", "quoted", "wrong type", "choice", "bound")


@dataclass(frozen=True, slots=True)
class Makers:
    """What is made wrong. Keys are dotted paths; ``added`` and ``foreign`` are keys that may be put into any base.

    ``choices``: keys that take one of some words. ``meant``: whether a value of another
    type says the same at this key, so that nothing is odd about it.
    """

    name: str
    base: Callable[[int], Config]
    added: list[tuple[str, Any]]
    foreign: list[tuple[str, Any]]
    choices: frozenset[str]
    meant: Callable[[str, Any], bool]

    def mutants(self, seed: int, count: int) -> list[Mutant]:
        rng = random.Random(f"{self.name} mutants {seed}")
        makers = (self._misspelt, self._foreign, self._deleted, self._quoted, self._wrong, self._choice, self._negative)
        found: list[Mutant] = []
        while len(found) < count:
            number = rng.randrange(10_000)
            config = self.base(number)
            if rng.random() < 0.3:
                found.append(self._added(rng, number, config))
                continue
            if (mutant := rng.choice(makers)(rng, number, config)) is not None:
                found.append(mutant)
        return found

    def _mutant(self, number: int, kind: str, key: str, what: str, config: Config, value: Any = MISSING) -> Mutant:
        odd = kind in ODD and (value is MISSING or not self.meant(key, value))
        return Mutant(number, kind, key, what, config, odd)

    def _misspelt(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        key = rng.choice([key for key in leaves(config) if len(key.rpartition(".")[2]) > 5])
        block, _, name = key.rpartition(".")
        place = rng.randrange(1, len(name) - 1)
        wrong = rng.choice([name[:place] + name[place + 1 :], name[:place] + name[place + 1] + name[place] + name[place + 2 :], name + "s"])
        path = f"{block}.{wrong}" if block else wrong
        if wrong == name or get(config, path) is not MISSING:
            return None
        return self._mutant(number, "misspelt", path, f"{key} → {wrong}", put(put(config, key, MISSING), path, get(config, key)))

    def _foreign(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        key, value = rng.choice(self.foreign)
        if get(config, key) is not MISSING or ("." in key and get(config, key.rpartition(".")[0]) is MISSING):
            return None
        return self._mutant(number, "foreign key", key, f"+ {key}: {value}", put(config, key, value))

    def _deleted(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        key = rng.choice([*leaves(config), *config])
        return self._mutant(number, "deleted", key, f"- {key}", put(config, key, MISSING))

    def _quoted(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        keys = [key for key in leaves(config) if isinstance(get(config, key), (bool, int, float))]
        if not keys:
            return None
        key = rng.choice(keys)
        value = json.dumps(get(config, key))
        return self._mutant(number, "quoted", key, f"{key}: {value!r}", put(config, key, value), value)

    def _wrong(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        key, value = rng.choice([*leaves(config), *config]), rng.choice(WRONG)
        old = get(config, key)
        same = type(old) is type(value) or (isinstance(old, float) and isinstance(value, int)) or old is None or value is None
        if same or (isinstance(old, (int, float)) and isinstance(value, (int, float))):
            return None
        return self._mutant(number, "wrong type", key, f"{key}: {value!r}", put(config, key, value), value)

    def _choice(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        keys = [key for key in leaves(config) if key in self.choices]
        if not keys:
            return None
        key = rng.choice(keys)
        old = get(config, key)
        value = rng.choice([str(old).upper(), str(old).lower(), f"{old}x", "nothing", f"my_{old}"])
        return None if value == old else self._mutant(number, "choice", key, f"{key}: {value!r}", put(config, key, value), value)

    def _negative(self, rng: random.Random, number: int, config: Config) -> Mutant | None:
        keys = [key for key in leaves(config) if isinstance(get(config, key), (int, float)) and not isinstance(get(config, key), bool)]
        if not keys:
            return None
        key, value = rng.choice(keys), rng.choice([-1, 0, -2])
        return None if value == get(config, key) else self._mutant(number, "bound", key, f"{key}: {value}", put(config, key, value), value)

    def _added(self, rng: random.Random, number: int, config: Config) -> Mutant:
        some = rng.sample(self.added, rng.choice([1, 1, 2, 3]))
        for key, value in some:
            config = put(config, key, value)
        return self._mutant(number, "real key added", some[0][0], ", ".join(f"+ {key}: {value}" for key, value in some), config)


def chosen(rng: random.Random, values: dict[str, list[Any]], share: float) -> Config:
    """Each key with one of its values, in that share of the cases."""
    return {key: rng.choice(some) for key, some in values.items() if rng.random() < share}


def leaves(config: Config, below: str = "") -> Iterator[str]:
    """The dotted paths of what is no block."""
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{below}{name}.")
        else:
            yield below + name


def get(config: Config, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def put(config: Config, key: str, value: Any) -> Config:
    """A copy with another value at a path; MISSING removes it. A block that is not there is made, one that is something else gives way."""
    whole = copy.deepcopy(config)
    block: Any = whole
    *outer, last = key.split(".")
    for name in outer:
        if not isinstance(block.get(name), dict):
            block[name] = {}
        block = block[name]
    if value is MISSING:
        block.pop(last, None)
    else:
        block[last] = value
    return whole
