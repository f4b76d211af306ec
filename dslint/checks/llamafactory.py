"""LLaMA-Factory: how its file is read, and which names it knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dslint.checks.registry import check
from dslint.document import Change, Mapping, Scalar
from dslint.engine.diagnostics import Fix, Severity
from dslint.engine.versions import Version, parse_version
from dslint.engine.view import Finding, View
from dslint.formats.llamafactory import names_of
from dslint.schema.coerce import FALSE, TRUE
from dslint.schema.lookup import KeyInfo, Schema
from dslint.schema.missing import MISSING
from dslint.schema.suggest import edit_distance, suggest

# release -> the oldest and the newest transformers that it allows (its METADATA and extras/misc.py: check_dependencies)
ALLOWED = (
    ("0.9.5", "4.55.0", "5.6.0"),
    ("0.9.4", "4.51.0", "4.57.1"),
    ("0.9.3", "4.45.0", "4.52.4"),
    ("0.9.2", "4.41.2", "4.49.0"),
    ("0.9.1", "4.41.2", "4.46.1"),
    ("0", "4.41.2", "4.45.0"),
)


class Transformers(NamedTuple):
    """``known``: somebody said so; else the newest that the release of LLaMA-Factory allows."""

    version: str
    known: bool

    @property
    def number(self) -> Version:
        return parse_version(self.version)


def transformers_of(view: View) -> Transformers:
    """The transformers beside LLaMA-Factory. One that is installed here and that it cannot work with is another environment's."""
    oldest, newest = next((old, new) for first, old, new in ALLOWED if parse_version(first) <= view.version)
    target = view.project.targets.get("transformers")
    if target is None:
        return Transformers(newest, False)
    fits = parse_version(oldest) <= parse_version(target.version) <= parse_version(newest)
    return Transformers(target.version, True) if fits or target.origin != "installed" else Transformers(newest, False)


def version_text(view: View) -> str:
    return view.config.target.version


@check("lf-json-file")
def json_file(view: View) -> Iterator[Finding]:
    if view.document.syntax == "json":
        yield Finding("model_name_or_path", {"version": version_text(view)})


@check("lf-duplicate-key")
def duplicate_key(view: View) -> Iterator[Finding]:
    refused = view.version >= parse_version("0.9.4")
    for problem in view.document.duplicates:
        lines = [str(view.document.line_column(span.start)[0]) for span in (problem.related[0][0], problem.span)]
        effect = "OmegaConf refuses the file" if refused else "the last one counts, silently"
        values = {"key": str(problem.path[-1]), "lines": " and ".join(lines), "effect": effect}
        yield Finding(".".join(map(str, problem.path)), values, severity="error" if refused else "warning")


@check("lf-variable")
def variable(view: View) -> Iterator[Finding]:
    for path, place in list(view.resolved.places.items()):
        if "." not in path and isinstance(place.node, Scalar) and isinstance(place.node.value, str) and "${" in place.node.value:
            yield Finding(path, {"key": path, "value": place.node.value})


def arguments_of_transformers() -> dict[str, KeyInfo]:
    """The training arguments that some transformers has and another has not; ``since`` and ``removed`` are transformers' versions."""
    block = Schema.load("llamafactory").at("0").block("training_arguments")
    return {**block.keys, **block.gone}


@check("lf-transformers-key")
def transformers_key(view: View) -> Iterator[Finding]:
    if view.resolved.blocks[""].name != "train":
        return
    table = arguments_of_transformers()
    used = transformers_of(view)
    for path, place in list(view.resolved.places.items()):
        varying = table.get(path)
        if varying is None or place.info is None or not place.info.source.startswith("transformers/"):
            continue
        if varying.removed is not None and used.number >= parse_version(varying.removed):
            story = f"was removed from the training arguments before transformers {used.version}"
        elif varying.since is not None and used.number < parse_version(varying.since):
            story = f"came with transformers {varying.since}, after {used.version}"
        else:
            continue
        if not used.known:
            story += f" (the newest that LLaMA-Factory {version_text(view)} allows)"
        instead = _instead(view, path, varying.renamed_to)
        values = {"key": path, "story": story, "instead": f": use {instead.title}" if instead else ""}
        remove = Fix(f"remove {path}", "unsafe", (Change("delete", view.path(path)),))
        severity: Severity = "error" if used.known else "warning"
        yield Finding(path, values, severity=severity, fixes=(instead, remove) if instead else (remove,))


def _instead(view: View, key: str, renamed_to: str | None) -> Fix | None:
    """How the same is said by the argument that took the key's place."""
    if renamed_to is None or view.written(renamed_to):
        return None
    path = view.path(key)
    if key == "group_by_length":
        if view.raw(key) is not True:
            return None
        return Fix("train_sampling_strategy: group_by_length", "safe", (Change("delete", path), Change("set", (renamed_to,), key)))
    return Fix(renamed_to, "safe", (Change("rename", path, to=(renamed_to,)),))


@check("lf-training-key")
def training_key(view: View) -> Iterator[Finding]:
    if view.resolved.blocks[""].name != "infer":
        return
    training = view.resolved.schema.block("train")
    export = view.written("export_dir")
    values = {"what": "an export config" if export else "a config for inference", "command": "export" if export else "chat"}
    for path, place in list(view.resolved.places.items()):
        if place.info is None and path in training.keys:
            yield Finding(path, {"key": path, **values}, fixes=(Fix(f"remove {path}", "unsafe", (Change("delete", place.path),)),))


class Foreign(NamedTuple):
    """``key``: what LLaMA-Factory calls it; ``value``: what stands there then, None where the value stays."""

    tool: str
    key: str
    value: object = None


FOREIGN: dict[str, Foreign] = {
    "load_in_4bit": Foreign("transformers", "quantization_bit", 4),
    "load_in_8bit": Foreign("transformers", "quantization_bit", 8),
    "attn_implementation": Foreign("transformers", "flash_attn"),
    "use_flash_attention": Foreign("other trainers", "flash_attn", "fa2"),
    "use_flash_attention_2": Foreign("transformers", "flash_attn", "fa2"),
    "flash_attention": Foreign("Axolotl", "flash_attn", "fa2"),
    "model_max_length": Foreign("transformers", "cutoff_len"),
    "max_seq_length": Foreign("TRL", "cutoff_len"),
    "max_seq_len": Foreign("other trainers", "cutoff_len"),
    "max_source_length": Foreign("older releases", "cutoff_len"),
    "lora_r": Foreign("TRL and Axolotl", "lora_rank"),
    "target_modules": Foreign("peft", "lora_target"),
    "lora_target_modules": Foreign("TRL and Axolotl", "lora_target"),
    "lora_modules_to_save": Foreign("Axolotl", "additional_target"),
    "modules_to_save": Foreign("peft", "additional_target"),
    "gradient_accumulation": Foreign("other trainers", "gradient_accumulation_steps"),
    "micro_batch_size": Foreign("Axolotl", "per_device_train_batch_size"),
    "train_micro_batch_size_per_gpu": Foreign("DeepSpeed", "per_device_train_batch_size"),
    "num_epochs": Foreign("Axolotl", "num_train_epochs"),
    "epochs": Foreign("other trainers", "num_train_epochs"),
    "lr": Foreign("other trainers", "learning_rate"),
    "lr_scheduler": Foreign("Axolotl", "lr_scheduler_type"),
    "optimizer": Foreign("Axolotl", "optim"),
    "model_path": Foreign("the web interface", "model_name_or_path"),
    "checkpoint_path": Foreign("the web interface", "adapter_name_or_path"),
    "checkpoint_dir": Foreign("older releases", "adapter_name_or_path"),
    "training_stage": Foreign("the web interface", "stage"),
    "booster": Foreign("the web interface", "flash_attn"),
    "kto_ftx": Foreign("older releases", "pref_ftx"),
    "kto_beta": Foreign("older releases", "pref_beta"),
    "simpo_beta": Foreign("other trainers", "pref_beta"),
    "beta": Foreign("TRL", "pref_beta"),
    "loss_type": Foreign("TRL", "pref_loss"),
    "num_workers": Foreign("other trainers", "preprocessing_num_workers"),
    "sample_packing": Foreign("Axolotl", "packing"),
    "deepspeed_config": Foreign("other trainers", "deepspeed"),
}


@check("lf-foreign-name")
def foreign_name(view: View) -> Iterator[Finding]:
    known = view.resolved.blocks[""].keys
    for path, place in list(view.resolved.places.items()):
        foreign = FOREIGN.get(path)
        if foreign is None or place.info is not None or foreign.key not in known:
            continue
        instead = foreign.key if foreign.value is None else f"{foreign.key}: {foreign.value}"
        fixes: tuple[Fix, ...] = (Fix(f"remove {path}", "unsafe", (Change("delete", place.path),)),)
        if not view.written(foreign.key):
            changes: tuple[Change, ...] = (Change("rename", place.path, to=(foreign.key,)),)
            if foreign.value is not None:
                changes = (Change("delete", place.path), Change("set", (foreign.key,), foreign.value))
            fixes = (Fix(f"write {instead}", "unsafe", changes), *fixes)
        yield Finding(path, {"key": path, "tool": foreign.tool, "instead": instead}, fixes=fixes)


@check("lf-megatron-key")
def megatron_key(view: View) -> Iterator[Finding]:
    if str(view.env("USE_MCA")).lower() in ("1", "true", "y"):
        return
    for path, place in list(view.resolved.places.items()):
        if place.info is not None and place.info.source.startswith("mcore_adapter/"):
            yield Finding(path, {"key": path}, fixes=(Fix(f"remove {path}", "unsafe", (Change("delete", place.path),)),))


@check("lf-whole-number")
def whole_number(view: View) -> Iterator[Finding]:
    for path, place in list(view.resolved.places.items()):
        value = place.node.value if isinstance(place.node, Scalar) else None
        if place.info is None or "integer" not in place.info.type or "number" in place.info.type or "string" in place.info.type:
            continue
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            written = view.document.text[place.node.span.start : place.node.span.end]
            values = {"key": path, "written": written, "value": str(value), "whole": int(value)}
            yield Finding(path, values, fixes=(Fix(f"write {int(value)}", "safe", (Change("set", place.path, int(value)),)),))


@check("lf-quoted-boolean")
def quoted_boolean(view: View) -> Iterator[Finding]:
    for path, place in list(view.resolved.places.items()):
        value = place.node.value if isinstance(place.node, Scalar) else None
        if place.info is None or "boolean" not in place.info.type or "string" in place.info.type or not isinstance(value, str):
            continue
        word = value.strip().lower()
        if word in TRUE or word in FALSE:
            plain = word in TRUE
            fixes = (Fix(f"write {str(plain).lower()}", "safe", (Change("set", place.path, plain),)),)
            values = {"key": path, "value": f'"{value}"', "plain": str(plain).lower()}
            yield Finding(path, values, severity="warning" if plain else "error", fixes=fixes)


@check("lf-template")
def template(view: View) -> Iterator[Finding]:
    value, near = _unknown_template(view)
    if value is not None and near is not None:
        fix = Fix(f"write {near}", "unsafe", (Change("set", view.path("template"), near),))
        yield Finding("template", {"value": value, "near": near, "version": version_text(view)}, fixes=(fix,))


@check("lf-template-unknown")
def template_unknown(view: View) -> Iterator[Finding]:
    value, near = _unknown_template(view)
    if value is not None and near is None and "${" not in value:
        yield Finding("template", {"value": value, "version": version_text(view)})


# family -> how its models are named, and how the names of its templates start
FAMILIES: dict[str, tuple[str, str]] = {
    "Qwen": (r"qwen|qwq|qvq", r"qwen"),
    "Llama": (r"llama", r"llama[234]|mllama"),
    "Mistral": (r"mistral|mixtral|ministral|pixtral", r"mistral|ministral|pixtral"),
    "Gemma": (r"gemma", r"gemma"),
    "GLM": (r"glm", r"glm|chatglm"),
    "DeepSeek": (r"deepseek", r"deepseek"),
    "Phi": (r"\bphi-?[1-4]", r"phi"),
    "InternLM": (r"internlm", r"intern2|intern$"),
    "Baichuan": (r"baichuan", r"baichuan"),
    "Falcon": (r"falcon", r"falcon"),
    "gpt-oss": (r"gpt-oss", r"gpt_oss"),
}
# models that were made of another family's, or carry its name for another reason
MIXED = re.compile(r"distill|vicuna|llava|tulu|merge|nemotron|hermes|openchat|sft|lora|finetune|checkpoint", re.IGNORECASE)


@check("lf-template-family")
def template_family(view: View) -> Iterator[Finding]:
    model, template = view.get("model_name_or_path"), view.get("template")
    if not isinstance(model, str) or not isinstance(template, str):
        return
    name = model.rstrip("/").rpartition("/")[2].lower()
    ours = [family for family, (names, _) in FAMILIES.items() if re.search(names, name)]
    theirs = [family for family, (_, names) in FAMILIES.items() if re.match(names, template)]
    if len(ours) == 1 and len(theirs) == 1 and ours != theirs and not MIXED.search(name):
        yield Finding("template", {"template": template, "wrong": theirs[0], "right": ours[0], "model": name})


def _unknown_template(view: View) -> tuple[str | None, str | None]:
    """The template that is written and that the release does not have, and the one that was plainly meant."""
    info = view.resolved.blocks[""].keys.get("template")
    value = view.raw("template")
    if info is None or info.enum is None or not isinstance(value, str) or value in info.enum:
        return None, None
    near = [name for name in info.enum if _same(name, value)]
    return value, near[0] if len(near) == 1 else None


def _same(name: str, value: str) -> bool:
    """The same name in other letters of case and other separators, or a long one with one letter wrong."""
    (one, digits), (other, others) = _letters_and_digits(name), _letters_and_digits(value)
    return one == other or (len(other) > 5 and digits == others and edit_distance(other, one, 1) <= 1)


@lru_cache(maxsize=1024)
def _letters_and_digits(text: str) -> tuple[str, str]:
    plain = re.sub(r"[-_.\s]", "", text).lower()
    return plain, re.sub(r"\D", "", plain)


@check("lf-interleave-count")
def interleave_count(view: View) -> Iterator[Finding]:
    probabilities = names_of(view.get("interleave_probs"))
    if not probabilities or view.get("mix_strategy") == "concat":
        return
    for key in ("dataset", "eval_dataset"):
        names = names_of(view.get(key))
        if names and len(names) != len(probabilities):
            values = {
                "probabilities": len(probabilities),
                "count": len(names),
                "which": "datasets" if key == "dataset" else "evaluation sets",
            }
            yield Finding("interleave_probs", values)


@check("lf-undefined-dataset")
def undefined_dataset(view: View) -> Iterator[Finding]:
    info = view.companion("data")
    if info is None or not isinstance(info.root, Mapping) or not isinstance(view.get("dataset_dir"), str):
        return
    known = [entry.name for entry in info.root.entries]
    for key in ("dataset", "eval_dataset"):
        for name in names_of(view.get(key)):
            if name not in known:
                near = suggest(name, known)
                hint = f": did you mean {near}?" if near else ""
                fixes: tuple[Fix, ...] = ()
                if near and view.raw(key) == name:
                    fixes = (Fix(f"write {near}", "unsafe", (Change("set", view.path(key), near),)),)
                yield Finding(key, {"name": name, "file": info.file, "near": hint}, fixes=fixes)


@check("lf-dataset-stage")
def dataset_stage(view: View) -> Iterator[Finding]:
    info, stage = view.companion("data"), view.get("stage")
    if info is None or not isinstance(info.root, Mapping) or not isinstance(stage, str):
        return
    pairs = stage in ("rm", "dpo")
    for key in ("dataset", "eval_dataset"):
        for name in names_of(view.get(key)):
            entry = info.root.get(name)
            if entry is None or not isinstance(entry.value, Mapping):
                continue
            ranking = entry.value.get("ranking")
            ranked = ranking is not None and isinstance(ranking.value, Scalar) and ranking.value.value is True
            if ranked is not pairs:
                what = 'is a set of pairs ("ranking": true)' if ranked else 'is no set of pairs (no "ranking": true)'
                yield Finding(key, {"name": name, "what": what, "file": info.file, "stage": stage})


FORMS = {"alpaca", "sharegpt", "openai"}
KINDS = {"arrow", "csv", "json", "jsonl", "parquet", "txt"}


@check("lf-dataset-description")
def dataset_description(view: View) -> Iterator[Finding]:
    info = view.companion("data")
    if info is None or not isinstance(info.root, Mapping):
        return
    for key in ("dataset", "eval_dataset"):
        for name in names_of(view.get(key)):
            entry = info.root.get(name)
            if entry is None or not isinstance(entry.value, Mapping):
                continue
            form, file = (_text(entry.value, part) for part in ("formatting", "file_name"))
            if form is not None and form not in FORMS:
                values = {"file": info.file, "name": name, "key": "formatting", "value": form, "known": ", ".join(sorted(FORMS))}
                yield Finding(key, values)
            kind = file.rpartition(".")[2] if file is not None and "." in file.rpartition("/")[2] else None
            if kind is not None and kind not in KINDS and not entry.value.get("hf_hub_url") and not entry.value.get("script_url"):
                yield Finding(key, {"file": info.file, "name": name, "key": "file_name", "value": file, "known": ", ".join(sorted(KINDS))})


def _text(block: Mapping, key: str) -> str | None:
    entry = block.get(key)
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    return value if isinstance(value, str) else None


@check("lf-stream-not-mixed")
def stream_not_mixed(view: View) -> Iterator[Finding]:
    count = len(names_of(view.get("dataset")))
    if count > 1 and view.get("streaming") is True and view.get("mix_strategy") == "concat":
        yield Finding("mix_strategy" if view.written("mix_strategy") else "dataset", {"count": count})


@check("lf-stream-without-workers")
def stream_without_workers(view: View) -> Iterator[Finding]:
    if view.get("streaming") is not True or view.get("dataloader_num_workers") != 0 or view.get("dataset_dir") == "ONLINE":
        return
    if not view.off("tokenized_path"):
        return
    info = view.companion("data")
    if info is None or not isinstance(info.root, Mapping):
        yield Finding("dataloader_num_workers", {"doubt": " (unless the data comes from a hub)"}, severity="info")
        return
    for name in names_of(view.get("dataset")):
        entry = info.root.get(name)
        if entry is not None and isinstance(entry.value, Mapping) and _text(entry.value, "file_name") is not None:
            if not any(entry.value.get(other) for other in ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")):
                yield Finding("dataloader_num_workers", {"doubt": ""})
                return


@check("lf-needless-interleaving")
def needless_interleaving(view: View) -> Iterator[Finding]:
    several = len(names_of(view.get("dataset"))) > 1
    if several and view.written("mix_strategy") and view.get("mix_strategy") != "concat":
        if view.off("interleave_probs") and view.off("streaming") and isinstance(view.get("mix_strategy"), str):
            yield Finding("mix_strategy")


@check("lf-several-adapters")
def several_adapters(view: View) -> Iterator[Finding]:
    count = len(names_of(view.get("adapter_name_or_path")))
    if count < 2:
        return
    reasons = (
        (view.get("quantization_bit") is not MISSING, "a quantised model", ()),
        (view.get("use_unsloth") is True, "Unsloth", ()),
        (view.get("use_kt") is True, "KTransformers", ()),
        (view.get("infer_backend") == "vllm", "vLLM", ()),
        (view.get("plan.engine.zero_stage") == 3, "ZeRO-3", ("engine.zero_stage",)),
    )
    for holds, reason, plan in reasons:
        if holds:
            yield Finding("adapter_name_or_path", {"count": count, "reason": reason}, plan=plan)
            return


# in the order in which create_custom_optimizer asks for them
OPTIMIZERS = ("use_galore", "use_apollo", "loraplus_lr_ratio", "use_badam", "use_adam_mini", "use_muon")


@check("lf-two-optimizers")
def two_optimizers(view: View) -> Iterator[Finding]:
    chosen = [key for key in OPTIMIZERS if view.get(key)]
    for loser in chosen[1:]:
        if not {chosen[0], loser} <= {"use_galore", "use_apollo", "use_badam"}:
            remove = Fix(f"remove {loser}", "safe", (Change("delete", view.path(loser)),))
            yield Finding(loser, {"loser": loser, "winner": chosen[0]}, fixes=(remove,))


TARGETS = {"lora_target": "lora", "oft_target": "oft", "galore_target": "", "apollo_target": ""}


@check("lf-lora-target")
def lora_target(view: View) -> Iterator[Finding]:
    names = view.get("plan.model.linear_names")
    if names is MISSING:
        return
    others = [view.get(f"plan.model.{kind}") for kind in ("embedding_names", "expert_parameters")]
    known = [*names, *(name for found in others if found is not MISSING for name in found)]
    for key, method in TARGETS.items():
        if method and view.get("finetuning_type") != method:
            continue
        targets = names_of(view.get(key)) if view.written(key) else []
        missing = [name for name in targets if name != "all" and not _some_module(name, known)]
        if not missing or targets == ["all"]:
            continue
        values = {
            "missing": ", ".join(missing),
            "verb": "is no module" if len(missing) == 1 else "are no modules",
            "model": f"the model's type {view.get('plan.model.type')}",
            "names": ", ".join(names),
        }
        fix = Fix("take all linear modules", "unsafe", (Change("set", view.path(key), "all"),))
        severity: Severity = "error" if len(missing) == len(targets) else "warning"
        yield Finding(key, values, severity=severity, fixes=(fix,), plan=("model.linear_names",))


# how the embedding and output layers of the known architectures are called
EMBEDDINGS = {"embed_tokens", "lm_head", "wte", "embed_in", "embed_out", "word_embeddings", "tok_embeddings", "output_layer", "embedding"}


@check("lf-additional-target")
def additional_target(view: View) -> Iterator[Finding]:
    linear, embedding = (view.get(f"plan.model.{kind}") for kind in ("linear_names", "embedding_names"))
    if linear is MISSING or embedding is MISSING or view.get("finetuning_type") != "lora":
        return
    known = [*embedding, *linear]
    missing = [name for name in names_of(view.get("additional_target")) if name in EMBEDDINGS and not _some_module(name, known)]
    if missing:
        own = ", ".join(name for name in known if name in EMBEDDINGS)
        values = {"missing": ", ".join(missing), "type": str(view.get("plan.model.type")), "names": own}
        yield Finding("additional_target", values, plan=("model.embedding_names",))


def _some_module(target: str, known: list[str]) -> bool:
    """Does the target name a module: by its last part, by a part of its name (vision models), or by a pattern?"""
    if re.search(r"[*+?\[\](){}|^$\\]", target):
        return True
    last = target.rpartition(".")[2]
    return any(last == name or target in name for name in known)


@check("lf-ppo-logger")
def ppo_logger(view: View) -> Iterator[Finding]:
    given = view.get("report_to")
    loggers = given if isinstance(given, list) else [given] if isinstance(given, str) and view.written("report_to") else []
    if view.get("stage") != "ppo" or loggers in ([], ["none"], ["all"]):
        return
    newer = view.version >= parse_version("0.9.5")
    allowed = ("wandb", "tensorboard", "trackio", "none") if newer else ("wandb", "tensorboard")
    wrong = [name for name in (loggers if newer else loggers[:1]) if name not in allowed]
    if wrong:
        yield Finding("report_to", {"value": wrong[0], "allowed": " or ".join(name for name in allowed if name != "none")})


@check("lf-single-process")
def single_process(view: View) -> Iterator[Finding]:
    if view.off("deepspeed") or str(view.env("FORCE_TORCHRUN")).lower() in ("1", "true", "y"):
        return
    if (
        view.env("WORLD_SIZE") is not MISSING
        or view.env("LAUNCHER") is not MISSING
        or str(view.env("USE_MCA")).lower() in ("1", "true", "y")
    ):
        return
    visible = view.env("CUDA_VISIBLE_DEVICES")
    one = isinstance(visible, str) and len([part for part in visible.split(",") if part.strip()]) == 1
    if one or (visible is MISSING and view.project.facts.get("num_gpus") == 1):
        yield Finding("deepspeed", fixes=())


@check("lf-legacy-format")
def legacy_format(view: View) -> Iterator[Finding]:
    if view.get("export_legacy_format") is True and view.written("export_dir"):
        used = transformers_of(view)
        if used.number >= parse_version("5.0"):
            yield Finding("export_legacy_format")


@check("lf-warmup-fraction")
def warmup_fraction(view: View) -> Iterator[Finding]:
    steps = view.get("warmup_steps")
    used = transformers_of(view)
    if isinstance(steps, float) and steps >= 0 and used.known and parse_version("4.42") <= used.number < parse_version("5.0"):
        rename = Fix("call it warmup_ratio", "safe", (Change("rename", view.path("warmup_steps"), to=("warmup_ratio",)),))
        yield Finding("warmup_steps", fixes=(rename,) if steps <= 1 and not view.written("warmup_ratio") else ())


@check("warmup-range")
def warmup_range(view: View) -> Iterator[Finding]:
    for key in ("warmup_ratio", "warmup_steps"):
        value = view.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
            yield Finding(key, {"key": key, "value": value, "what": "a warm-up cannot be negative"})
    ratio = view.get("warmup_ratio")
    if isinstance(ratio, (int, float)) and not isinstance(ratio, bool) and ratio > 1:
        steps = transformers_of(view).number >= parse_version("5.0")
        what = "a ratio lies between 0 and 1" + (" (it is taken for a number of steps)" if steps else "")
        yield Finding("warmup_ratio", {"key": "warmup_ratio", "value": ratio, "what": what}, severity="warning" if steps else "error")
