"""dslint beside LLaMA-Factory's own parser: self-made configs with one mistake each.

    python -m tools.differential.llamafactory --python ENVIRONMENT/bin/python --count 2000 --report docs/measurements/differential-llamafactory.md

ENVIRONMENT holds llamafactory 0.9.5 with transformers 5.6.0. The parser fills dataclasses without looking at their types, so that a value of
the wrong type, or a word that is none of the choices, is often *swallowed*: it is kept as it is and dies in training. Of those, dslint
should say something; of the rest the two should agree.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from tools.differential.judges import Config
from tools.differential.parsers import Framework, Mutant, main

TARGETS = {"llamafactory": "0.9.5", "transformers": "5.6.0", "deepspeed": "0.19.8"}
WORLD_SIZE = 8
T, F = True, False

#: key -> values that LLaMA-Factory works with; read by hand from its arguments and examples, independent of dslint's schema
ALWAYS: dict[str, list[Any]] = {
    "model_name_or_path": ["Qwen/Qwen2.5-0.5B", "models/mine"],
    "do_train": [T],
    "dataset": ["identity", "identity,alpaca_en_demo"],
    "template": ["qwen", "llama3"],
    "output_dir": ["saves/run"],
}
SOMETIMES: dict[str, list[Any]] = {
    "trust_remote_code": [T],
    "flash_attn": ["auto", "sdpa", "fa2", "disabled"],
    "cutoff_len": [1024, 2048],
    "max_samples": [1000],
    "preprocessing_num_workers": [8, 16],
    "dataloader_num_workers": [0, 4],
    "overwrite_cache": [T],
    "logging_steps": [5, 10],
    "save_steps": [100, 500],
    "save_strategy": ["steps", "epoch"],
    "save_total_limit": [2],
    "plot_loss": [T],
    "overwrite_output_dir": [T],
    "report_to": ["none"],
    "per_device_train_batch_size": [1, 2, 4],
    "gradient_accumulation_steps": [1, 2, 8],
    "learning_rate": [1e-5, 2e-4],
    "num_train_epochs": [1.0, 3.0],
    "lr_scheduler_type": ["cosine", "linear", "constant_with_warmup"],
    "warmup_steps": [10, 100],
    "weight_decay": [0.0, 0.01],
    "max_grad_norm": [1.0, 0.3],
    "optim": ["adamw_torch", "paged_adamw_8bit"],
    "seed": [42],
    "ddp_timeout": [180000000],
    "save_only_model": [T, F],
    "neftune_noise_alpha": [5.0],
    "enable_liger_kernel": [F],
    "use_unsloth_gc": [F],
    "disable_gradient_checkpointing": [F],
    "upcast_layernorm": [T, F],
    "resume_from_checkpoint": [None],
    "include_num_input_tokens_seen": [T],
    "use_fast_tokenizer": [T],
    "mix_strategy": ["concat", "interleave_under"],
    "packing": [F],
    "rope_scaling": ["linear"],
    "run_name": ["a-run"],
    "dataloader_pin_memory": [T, F],
    "torch_compile": [F],
    "ignore_pad_token_for_loss": [T],
    "freeze_vision_tower": [T],
    "image_max_pixels": [262144],
    "video_max_pixels": [16384],
}
LORA: dict[str, list[Any]] = {
    "lora_rank": [8, 64],
    "lora_alpha": [16],
    "lora_dropout": [0.0, 0.05],
    "lora_target": ["all", "q_proj,v_proj"],
    "use_rslora": [T, F],
    "use_dora": [T, F],
    "loraplus_lr_ratio": [16.0],
    "additional_target": ["embed_tokens"],
}
FREEZE: dict[str, list[Any]] = {"freeze_trainable_layers": [2, 8], "freeze_trainable_modules": ["all"]}
EVALUATION: dict[str, list[Any]] = {
    "val_size": [0.1, 100],
    "per_device_eval_batch_size": [1, 2],
    "eval_strategy": ["steps", "epoch"],
    "eval_steps": [100, 500],
}
STAGES: dict[str, dict[str, list[Any]]] = {
    "sft": {"train_on_prompt": [F], "neat_packing": [F], "compute_accuracy": [T]},
    "pt": {},
    "rm": {},
    "dpo": {"pref_beta": [0.1], "pref_loss": ["sigmoid", "orpo", "simpo"], "pref_ftx": [0.0, 0.5]},
    "kto": {"pref_beta": [0.1], "kto_chosen_weight": [1.0]},
}
#: what may be added to any base: single keys that other keys, stages and engines do not always go with
ADDED: list[tuple[str, Any]] = [
    ("quantization_bit", 4), ("quantization_bit", 8), ("quantization_bit", 3), ("adapter_name_or_path", "saves/a"),
    ("adapter_name_or_path", "saves/a,saves/b"), ("create_new_adapter", T), ("resize_vocab", T), ("use_galore", T), ("use_badam", T),
    ("use_apollo", T), ("pissa_init", T), ("use_llama_pro", T), ("use_dora", T), ("use_rslora", T), ("loraplus_lr_ratio", 16.0),
    ("neat_packing", T), ("predict_with_generate", T), ("train_on_prompt", T), ("mask_history", T), ("streaming", T), ("max_steps", 100),
    ("eval_dataset", "identity"), ("val_size", 0.1), ("val_size", 0), ("do_eval", T), ("do_predict", T), ("eval_strategy", "steps"),
    ("load_best_model_at_end", T), ("save_strategy", "epoch"), ("save_steps", 300), ("eval_steps", 200), ("fp16", T), ("bf16", T),
    ("pure_bf16", T), ("fp8", T), ("infer_backend", "vllm"), ("quantization_device_map", "auto"), ("interleave_probs", "0.5,0.5"),
    ("lr_scheduler_type", "reduce_lr_on_plateau"), ("dataloader_prefetch_factor", 2), ("compute_accuracy", T),
    ("dpo_label_smoothing", 0.1), ("reward_model", "r"), ("export_quantization_bit", 4), ("image_max_pixels", 256), ("logging_steps", 0),
    ("torch_empty_cache_steps", 0), ("warmup_ratio", 0.1), ("use_unsloth", F), ("ref_model_quantization_bit", 16), ("badam_mode", "ratio"),
    ("galore_layerwise", T), ("max_samples", 10), ("bf16_full_eval", T), ("split_special_tokens", T), ("fsdp", "full_shard"),
    ("deepspeed", "z2.json"), ("deepspeed", "z3.json"), ("deepspeed", "z0.json"), ("use_kt", F), ("packing", T), ("tf32", T),
    ("finetuning_type", "oft"), ("finetuning_type", "full"), ("stage", "ppo"), ("stage", "dpo"), ("stage", "rm"), ("reward_model_type", "full"),
    ("pref_loss", "ipo"), ("video_max_pixels", 100), ("ref_model", "r"), ("eval_on_each_dataset", T), ("tokenized_path", "t"),
    ("use_muon", T), ("use_asft_loss", T), ("greater_is_better", F), ("metric_for_best_model", "eval_loss"), ("eval_delay", 1),
    ("gradient_checkpointing", T), ("fp16_full_eval", T), ("lr_scheduler_type", "cosine_with_min_lr"), ("save_strategy", "best"),
    ("save_steps", 0.5), ("eval_steps", 0.25), ("dataset", None), ("model_name_or_path", None), ("template", None),
]  # fmt: skip
#: keys of other tools, releases and commands
FOREIGN: list[tuple[str, Any]] = [
    ("evaluation_strategy", "steps"), ("load_in_4bit", T), ("max_seq_length", 2048), ("target_modules", "all"), ("dpo_beta", 0.1),
    ("visual_inputs", T), ("image_resolution", 512), ("group_by_length", T), ("no_cuda", F), ("save_safetensors", T),
    ("per_gpu_train_batch_size", 4), ("tensor_model_parallel_size", 2), ("micro_batch_size", 2), ("num_epochs", 3), ("lr", 1e-4),
    ("sequence_len", 2048), ("sample_packing", T), ("base_model", "m"), ("lora_r", 8), ("r", 8), ("bnb_4bit_quant_type", "nf4"),
    ("fsdp_transformer_layer_cls_to_wrap", "Qwen2DecoderLayer"), ("train_mm_proj_only", F), ("reserved_label_len", 1), ("task", "mmlu"),
    ("n_shot", 5), ("kt_maxlen", 4096), ("ray_run_name", "r"), ("use_cpu_offload", T), ("gradient_clipping", 1.0), ("zero_stage", 2),
    ("train_batch_size", 32), ("epochs", 3), ("checkpoint_dir", "c"), ("num_layer_trainable", 2), ("cache_path", "c"),
    ("attn_implementation", "sdpa"), ("torch_dtype", "bfloat16"), ("model_max_length", 2048), ("push_to_hub_organization", "o"),
]  # fmt: skip
WRONG: list[Any] = ["a word", 7, 0.5, T, F, None, [1], {"a": 1}, ""]
CHOICES = ("stage", "finetuning_type", "flash_attn", "lr_scheduler_type", "optim", "save_strategy", "eval_strategy", "mix_strategy", "pref_loss", "rope_scaling", "report_to")  # fmt: skip


# what the parser lets through and the loading of the model or the data, or the trainer, then refuses or drops (docs/coverage/llamafactory.yaml)
LATER = frozenset(
    ["LF003", "LF010", "LF033", "LF034", "LF048", "LF049", "LF067", "LF068", "LF075", "LF077", "LF078", "LF079", "LF080", "LF081", "LF082",
     "LF085", "LF087", "LF090", "LF098", "LF126", "LF129", "LF136", "LF149", "LF154", "LF155", "TR013", "TR014", "TR015", "LF161", "LF162",
     "LF007", "LF058", "LF170", "LF175"]
)  # fmt: skip
# a negative number means off, all, the first ones, or is refused by rules of its own
NEGATIVE = ("max_grad_norm", "max_steps", "save_total_limit", "freeze_trainable_layers", "warmup_steps")


def base(number: int) -> Config:
    rng = random.Random(f"llamafactory {number}")
    stage = rng.choice(["sft", "sft", "sft", *STAGES])
    method = rng.choice(["lora", "lora", "full", "freeze"])
    config: Config = {key: rng.choice(values) for key, values in ALWAYS.items()} | {"stage": stage, "finetuning_type": method}
    for keys, share in ((SOMETIMES, 0.35), (STAGES[stage], 0.5), ({"lora": LORA, "freeze": FREEZE}.get(method, {}), 0.4)):
        config |= {key: rng.choice(values) for key, values in keys.items() if rng.random() < share}
    if rng.random() < 0.4:
        config |= {key: rng.choice(values) for key, values in EVALUATION.items()}
    config[rng.choice(["bf16", "fp16"])] = T
    if rng.random() < 0.4:
        config["deepspeed"] = rng.choice(["z0.json", "z2.json", "z3.json"])
    items = list(config.items())
    rng.shuffle(items)
    return dict(items)


def mutants(seed: int, count: int) -> list[Mutant]:
    rng = random.Random(f"llamafactory mutants {seed}")
    makers = (_misspelt, _foreign, _deleted, _quoted, _wrong, _choice, _negative, _added, _added, _added)
    found: list[Mutant] = []
    while len(found) < count:
        number = rng.randrange(10_000)
        mutant = rng.choice(makers)(rng, number, base(number))
        if mutant is not None:
            found.append(mutant)
    return found


def _misspelt(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key = rng.choice([key for key in config if len(key) > 5])
    place = rng.randrange(1, len(key) - 1)
    wrong = rng.choice([key[:place] + key[place + 1 :], key[:place] + key[place + 1] + key[place] + key[place + 2 :], key + "s"])
    if wrong == key or wrong in config:
        return None
    return Mutant(number, "misspelt", wrong, f"{key} → {wrong}", {wrong if name == key else name: value for name, value in config.items()})


def _foreign(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key, value = rng.choice(FOREIGN)
    return Mutant(number, "foreign key", key, f"+ {key}: {value}", {**config, key: value})


def _deleted(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key = rng.choice(list(config))
    return Mutant(number, "deleted", key, f"- {key}", {name: value for name, value in config.items() if name != key})


def _quoted(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key = rng.choice([key for key, value in config.items() if isinstance(value, (bool, int, float))])
    value = json.dumps(config[key])
    return Mutant(number, "quoted", key, f"{key}: {value!r}", {**config, key: value}, odd=True)


def _wrong(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key, value = rng.choice(list(config)), rng.choice(WRONG)
    old = config[key]
    same = type(old) is type(value) or (isinstance(old, float) and isinstance(value, int)) or old is None or value is None
    off = key == "deepspeed" and not value
    if same or off or (isinstance(old, (int, float)) and isinstance(value, (int, float))):
        return None
    return Mutant(number, "wrong type", key, f"{key}: {value!r}", {**config, key: value}, odd=True)


def _choice(rng: random.Random, number: int, config: Config) -> Mutant | None:
    key = rng.choice([key for key in config if key in CHOICES])
    value = rng.choice([str(config[key]).upper(), f"{config[key]}x", "nothing", f"my_{config[key]}"])
    return Mutant(number, "choice", key, f"{key}: {value!r}", {**config, key: value}, odd=key != "report_to")


def _negative(rng: random.Random, number: int, config: Config) -> Mutant | None:
    numbers = [key for key, value in config.items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    keys = [key for key in numbers if key not in NEGATIVE]
    if not keys:
        return None
    key = rng.choice(keys)
    return Mutant(number, "bound", key, f"{key}: -1", {**config, key: type(config[key])(-1)}, odd=True)


def _added(rng: random.Random, number: int, config: Config) -> Mutant | None:
    some = rng.sample(ADDED, rng.choice([1, 1, 2, 3]))
    return Mutant(number, "real key added", some[0][0], ", ".join(f"+ {key}: {value}" for key, value in some), {**config, **dict(some)})


def text_of(config: Config) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())


ZERO = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
LLAMAFACTORY = Framework(
    name="LLaMA-Factory",
    tool="llamafactory",
    release=TARGETS["llamafactory"],
    worker=Path(__file__).with_name("llamafactory_worker.py"),
    input_format="llamafactory",
    file="config.yaml",
    targets=TARGETS,
    facts={"world_size": WORLD_SIZE},
    mutants=mutants,
    text_of=text_of,
    later=LATER,
    linked={f"z{stage}.json": json.dumps({**ZERO, "zero_optimization": {"stage": stage}}) for stage in (0, 2, 3)},
    about=(
        "# dslint beside LLaMA-Factory's parser",
        "",
        "Self-made configs with one mistake each, judged by LLaMA-Factory 0.9.5 itself (OmegaConf, then `get_train_args`, on a pretended world of 8",
        "ranks; transformers 5.6.0). Made by `python -m tools.differential.llamafactory`.",
        "",
        "- *refused*: the parser refuses and dslint reports an error. *accepted*: the parser accepts and dslint reports none, save what the",
        "  loading of the model or the trainer then refuses (LATER in the tool, each with its line in docs/coverage/llamafactory.yaml).",
        "- *said*: the parser fills dataclasses without looking at their types. Of the values of a wrong type, the unknown choices and the negative",
        "  numbers that it keeps as they are, those of which dslint says something.",
        "- *environment*: a package is missing on the machine; not counted.",
    ),
)


if __name__ == "__main__":
    sys.exit(main(LLAMAFACTORY))
