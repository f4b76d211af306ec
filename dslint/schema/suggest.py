"""Did you mean: the one name that a misspelt one plainly stands for, or none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain

# what people write at the top level of a DeepSpeed config, from sibling frameworks, older releases and habit
SIBLINGS: dict[str, str] = {
    "bfloat16": "bf16",
    "bp16": "bf16",
    "bfp16": "bf16",
    "bf_16": "bf16",
    "float16": "fp16",
    "fp_16": "fp16",
    "half": "fp16",
    "lr_scheduler": "scheduler",
    "max_grad_norm": "gradient_clipping",
    "clip_grad": "gradient_clipping",
    "grad_clip": "gradient_clipping",
    "gradient_clip_val": "gradient_clipping",
    "gradient_clip": "gradient_clipping",
    "clip_gradient": "gradient_clipping",
    "clip_gradients": "gradient_clipping",
    "per_device_train_batch_size": "train_micro_batch_size_per_gpu",
    "micro_batch_size": "train_micro_batch_size_per_gpu",
    "global_batch_size": "train_batch_size",
    "batch_size": "train_batch_size",
    "accumulate_grad_batches": "gradient_accumulation_steps",
    "grad_accum_steps": "gradient_accumulation_steps",
    "zero": "zero_optimization",
    "zero_config": "zero_optimization",
    "zero_opt": "zero_optimization",
    "zero_optimizer": "zero_optimization",
    "zero1": "zero_optimization",
    "zero2": "zero_optimization",
    "zero3": "zero_optimization",
    "zero_stage": "stage",
    "cpu_offload_params": "offload_param",
    "cpu_offload": "cpu_checkpointing",
    "checkpoint_in_cpu": "cpu_checkpointing",
    "overlap_communication": "overlap_comm",
    "csv": "csv_monitor",
    "csv_logger": "csv_monitor",
    "load_universal_checkpoint": "load_universal",
    "universal_checkpoint": "load_universal",
    "universal": "load_universal",
    "use_pin_memory": "pin_memory",
    "swap_path": "nvme_path",
    "zero3_save_16bit_model": "stage3_gather_16bit_weights_on_model_save",
    "learning_rate": "lr",
    "epsilon": "eps",
    "adam_epsilon": "eps",
    "wd": "weight_decay",
    "num_stages": "stages",
    "num_training_steps": "total_num_steps",
    "total_steps": "total_num_steps",
}
# one spelling for the words that people shorten
LONG = {"param": "parameter", "grad": "gradient", "accum": "accumulation", "ckpt": "checkpoint", "mem": "memory", "optim": "optimizer"}
# words of config keys that are near each other in letters only: no one is another one misspelt
WORDS = frozenset(
    [
        "min", "max", "start", "end", "first", "second", "last", "train", "eval", "test", "read", "write", "in", "on", "out", "no", "num",
        "tp", "mp", "ep", "dp", "pp", "sp", "autotp", "autoep", "type", "dtype", "time", "name", "mode", "model", "step", "stage", "size",
        "rate", "ratio", "param", "params", "path", "batch", "patch", "log", "lr", "io", "int8", "load", "save",
    ]
)  # fmt: skip
MINIMUM_OF_ONE, MINIMUM_OF_TWO = 7, 14
SEPARATORS = re.compile(r"[-\s.]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``name`` plainly stands for; None where none does, or where two are as near."""
    return Known(candidates).near(name)


class Known:
    """Names that are asked for more than once: what does not depend on the misspelt one is worked out once."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        self.squashed: dict[str, str] = {}
        self.by_length: dict[int, list[str]] = {}
        for candidate in self.names:
            self.squashed.setdefault(_squashed(candidate), candidate)
            self.by_length.setdefault(len(candidate), []).append(candidate)

    def near(self, name: str) -> str | None:
        """The one that ``name`` plainly stands for; None where none does, or where two are as near."""
        plain = _plain(name)
        same = self.squashed.get(_squashed(name))
        if same is not None and same != name:
            return same
        if (sibling := SIBLINGS.get(plain)) in self.names and sibling != name:
            return sibling
        known = self.names if name not in self.names else [candidate for candidate in self.names if candidate != name]
        return _by_tokens(plain, known) or self._by_distance(plain, besides=name)

    def _by_distance(self, name: str, besides: str) -> str | None:
        """Within one edit for every four characters, at most three; never for names of fewer than four."""
        limit = min(3, len(name) // 4)
        best, found, tie, letters = limit + 1, None, False, frozenset(name)
        if limit < 1:
            return None
        near = (self.by_length.get(length, ()) for length in range(len(name) - limit, len(name) + limit + 1))
        for candidate in chain.from_iterable(near):
            others = _letters(candidate)
            if len(letters - others) > limit or len(others - letters) > limit or candidate == besides:
                continue
            lowered = candidate.lower()
            if _other_word(name, lowered):
                continue
            distance = edit_distance(name, lowered, min(limit, best))
            if distance < best:
                best, found, tie = distance, candidate, False
            elif distance == best:
                tie = True
        return None if tie else found


def plainly_misspelt(name: str, right: str) -> bool:
    """A slip of one letter or two in a long word, which no one would choose as a name of its own (not a plural, not one word more)."""
    if name.removesuffix("s") == right.removesuffix("s") or name.count("_") != right.count("_"):
        return False
    limit = 2 if len(right) >= MINIMUM_OF_TWO else 1
    return len(right) >= MINIMUM_OF_ONE and edit_distance(name, right, limit) <= limit


def _squashed(name: str) -> str:
    return _plain(name).replace("_", "")


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return SEPARATORS.sub("_", CAMEL.sub("_", name.strip())).lower()


def _other_word(name: str, candidate: str) -> bool:
    """Do they differ by one word for another, as min_loss_scale and max_loss_scale do, or by a number, as beta1 and betas?"""
    if not set(filter(str.isdigit, name)) <= set(candidate):
        return True
    ours, theirs = name.split("_"), candidate.split("_")
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=False) if one.rstrip("s") != other.rstrip("s")]
    return len(ours) == len(theirs) and any(one in WORDS and other in WORDS for one, other in pairs)


def _by_tokens(name: str, known: list[str]) -> str | None:
    """The one candidate with the same words in another order, or that has all of at least two words, which are more than half of its own."""
    words = _words(name)
    if len(words) < 2:
        return None
    same = [candidate for candidate in known if _words(candidate) == words]
    if len(same) == 1:
        return same[0]
    wider = [candidate for candidate in known if words < _words(candidate)]
    ranked = sorted(
        (len(parts), not candidate.startswith(name), candidate)
        for candidate in wider
        if len(parts := candidate.split("_")) < 2 * len(words)
    )
    return ranked[0][2] if ranked and (len(ranked) == 1 or ranked[0][:2] < ranked[1][:2]) else None


@cache
def _letters(name: str) -> frozenset[str]:
    return frozenset(name.lower())


@cache
def _words(name: str) -> frozenset[str]:
    """The words of a name, singular and in full."""
    plain = (word.lower() if len(word) < 4 else word.lower().removesuffix("s") for word in name.split("_"))
    return frozenset(LONG.get(word, word) for word in plain)


def edit_distance(one: str, other: str, limit: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two texts; ``limit + 1`` where there are more.

    The columns of the table are bit vectors (Hyyrö, A bit-vector algorithm for computing Levenshtein and Damerau edit distances, 2003).
    """
    if not one:
        return min(len(other), limit + 1)
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    places: dict[str, int] = {}
    for row, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << row
    distance, up, down, diagonal, before = len(one), every, 0, 0, 0
    for letter in other:
        same = places.get(letter, 0)
        swapped = (~diagonal & same) << 1 & before
        diagonal = ((same & up) + up ^ up | same | down | swapped) & every
        right, left = down | ~(diagonal | up) & every, diagonal & up
        distance += (right & last > 0) - (left & last > 0)
        right, left = right << 1 | 1, left << 1
        up, down, before = (left | ~(diagonal | right)) & every, right & diagonal, same
    return min(distance, limit + 1)
