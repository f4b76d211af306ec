"""What Axolotl refuses or passes over, beyond what a condition can say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.versions import parse_version
from dslint.engine.view import Finding, View
from dslint.formats.axolotl import ATTENTION
from dslint.nearest import nearest
from dslint.schema.lookup import Schema
from dslint.schema.missing import MISSING

# attn_implementation of axolotl/utils/schemas/enums.py (0.21.0): CANONICAL_ATTN_IMPLS
IMPLEMENTATIONS = (
    "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flash_attention_torch", "flex_attention", "varlen",
    "xformers", "sage", "fp8",
)  # fmt: skip
# names of torch for what transformers calls otherwise
COMMON = {"adamw": "adamw_torch", "adam": "adamw_torch"}
SHORT = {"flash": "flash_attention_2", "flex": "flex_attention", "sdp": "sdpa"}
# ChatTemplate of axolotl/utils/schemas/enums.py (0.21.0)
TEMPLATES = (
    "alpaca", "chatml", "mistral_v1", "mistral_v2v3", "mistral_v3_tekken", "mistral_v7_tekken", "gemma", "cohere", "llama3", "llama3_2_vision", "llama4",
    "phi_3", "phi_35", "deepseek_v2", "deepseek_v3", "jamba", "jinja", "qwen_25", "qwen3", "qwen3_5", "falcon_h1", "nemotron_h", "tokenizer_default",
    "exaone", "exaone4", "metharme", "pixtral", "llava", "qwen2_vl", "gemma3", "gemma3n", "gemma4", "gemma4_unified", "command_a",
    "command_a_tool_use", "command_a_rag", "aya",
)  # fmt: skip
# INDUCTOR_COMPILE_OPTIONS_ALLOWLIST of axolotl/utils/schemas/enums.py (0.21.0)
COMPILE_OPTIONS = frozenset(
    [
        "coordinate_descent_tuning", "coordinate_descent_check_all_directions", "shape_padding", "epilogue_fusion", "max_autotune_gemm",
        "fx_graph_cache", "assume_aligned_inputs", "comprehensive_padding", "decompose_mem_bound_mm", "triton.cudagraphs",
    ]
)  # fmt: skip
CROSS_ENTROPIES = ("cut_cross_entropy", "chunked_cross_entropy", "liger_cross_entropy", "liger_fused_linear_cross_entropy")
# CustomSupportedOptimizers and the schedules of Axolotl's own, beside those of the Trainer
OPTIMIZERS = (
    "optimi_adamw", "ao_adamw_4bit", "ao_adamw_8bit", "ao_adamw_fp8", "adopt_adamw", "adamc", "came_pytorch", "muon", "muon_8bit", "dion",
    "sinkgd", "polora", "flash_adamw", "flash_adam", "flash_sgd", "flash_sgdw", "flash_lion", "scao", "q_galore_adamw8bit",
)  # fmt: skip
SCHEDULES = ("one_cycle", "rex")
# special tokens that some well-known tokenizer has
USUAL_TOKENS = frozenset(
    [
        "</s>", "<s>", "<unk>", "<pad>", "<eos>", "<bos>", "<mask>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>", "<|im_end|>",
        "<|im_start|>", "<|eot_id|>", "<|end_of_text|>", "<|begin_of_text|>", "<|end|>", "<|padding|>", "<|pad|>", "<end_of_turn>", "<start_of_turn>",
        "<|finetune_right_pad_id|>", "<|eom_id|>", "[/INST]", "[INST]", "<|assistant|>", "<|user|>", "<|system|>", "<|return|>", "<turn|>",
        "<|eot|>", "<|startoftext|>",
    ]
)  # fmt: skip
EMBEDDINGS = ("embed_tokens", "lm_head")


@check("axolotl-attention-and-flags")
def attention_and_flags(view: View) -> Iterator[Finding]:
    flags = [flag for flag in ATTENTION if view.get(flag) is True]
    chosen = view.get("attn_implementation")
    if isinstance(chosen, str) and flags:
        fix = Fix(f"remove {', '.join(flags)}", "unsafe", tuple(Change("delete", view.path(flag)) for flag in flags))
        yield Finding("attn_implementation", {"flags": ", ".join(flags)}, fixes=(fix,))


@check("axolotl-legacy-attentions")
def legacy_attentions(view: View) -> Iterator[Finding]:
    flags = [flag for flag in ATTENTION if view.get(flag) is True]
    if len(flags) > 1 and view.absent("attn_implementation"):
        fix = Fix(f"keep {flags[0]}", "unsafe", tuple(Change("set", view.path(flag), False) for flag in flags[1:]))
        yield Finding(flags[0], {"flags": " and ".join(flags)}, fixes=(fix,))


@check("axolotl-attention-unknown")
def attention_unknown(view: View) -> Iterator[Finding]:
    chosen = view.get("attn_implementation")
    if not isinstance(chosen, str) or "/" in chosen or chosen in IMPLEMENTATIONS:
        return
    right = SHORT.get(chosen) or nearest(chosen, IMPLEMENTATIONS)
    fixes = (Fix(f"write {right}", "unsafe", (Change("set", view.path("attn_implementation"), right),)),) if right else ()
    hint = f": did you mean {right}?" if right else f": expected one of {', '.join(IMPLEMENTATIONS)}"
    yield Finding("attn_implementation", {"hint": hint}, fixes=fixes)


@check("axolotl-cross-entropies")
def cross_entropies(view: View) -> Iterator[Finding]:
    names = [name for name in CROSS_ENTROPIES if view.raw(name) is True]
    if len(names) > 1:
        fix = Fix(f"keep {names[0]}", "unsafe", tuple(Change("delete", view.path(name)) for name in names[1:]))
        yield Finding(names[1], {"count": len(names), "names": ", ".join(names)}, fixes=(fix,))


@check("axolotl-special-tokens")
def special_tokens(view: View) -> Iterator[Finding]:
    """New special tokens whose embeddings a LoRA leaves at random; a pad token is never learnt, and usual ones are in the vocabulary."""
    tokens = view.keys("special_tokens")
    if view.get("adapter") not in ("lora", "qlora") or tokens is MISSING:
        return
    added = [token for token in tokens if token != "pad_token" and view.raw(f"special_tokens.{token}") not in USUAL_TOKENS]
    saved = view.get("lora_modules_to_save")
    missing = [module for module in EMBEDDINGS if not isinstance(saved, list) or module not in saved]
    if added and missing:
        kept = [*saved, *missing] if isinstance(saved, list) else missing
        fix = Fix("train the embeddings too", "unsafe", (Change("set", view.path("lora_modules_to_save"), kept),))
        at = "lora_modules_to_save" if view.written("lora_modules_to_save") else "special_tokens"
        yield Finding(at, {"modules": ", ".join(missing)}, fixes=(fix,))


@check("axolotl-lora-targets")
def lora_targets(view: View) -> Iterator[Finding]:
    """LoRA targets of which the model has none."""
    written, modules = view.get("lora_target_modules"), view.get("plan.model.linear_names")
    targets = [written] if isinstance(written, str) else written
    if not isinstance(targets, list) or not isinstance(modules, list) or not all(isinstance(target, str) for target in targets):
        return
    plain = [target for target in targets if target.replace("_", "").isalnum()]
    known = {*modules, *(view.get("plan.model.embedding_names") or ())}
    if not plain or len(plain) != len(targets) or "all-linear" in targets or set(plain) & known or view.get("lora_target_linear") is True:
        return
    change = (Change("delete", view.path("lora_target_modules")), Change("set", view.path("lora_target_linear"), True))
    fix = Fix("train every linear module", "unsafe", change)
    yield Finding("lora_target_modules", {"targets": ", ".join(targets), "modules": ", ".join(modules)}, fixes=(fix,), plan=("model.path",))


@check("axolotl-wrap-class")
def wrap_class(view: View) -> Iterator[Finding]:
    path = "fsdp_config.transformer_layer_cls_to_wrap"
    written, layers, classes = view.get(path), view.get("plan.model.layer_classes"), view.get("plan.model.module_classes")
    if not isinstance(written, str) or not isinstance(layers, list) or not isinstance(classes, list):
        return
    wrong = next((name for name in written.split(",") if name not in classes and name not in layers), None)
    if wrong is not None:
        fix = Fix(f"write {','.join(layers)}", "unsafe", (Change("set", view.path(path), ",".join(layers)),))
        yield Finding(path, {"name": wrong, "layers": ", ".join(layers)}, fixes=(fix,), plan=("model.path",))


@check("axolotl-optimizer-unknown")
def optimizer_unknown(view: View) -> Iterator[Finding]:
    yield from _unknown_choice(view, "optimizer", (*_of_trainer("optim"), *OPTIMIZERS))


@check("axolotl-scheduler-unknown")
def scheduler_unknown(view: View) -> Iterator[Finding]:
    yield from _unknown_choice(view, "lr_scheduler", (*_of_trainer("lr_scheduler_type"), *SCHEDULES))


def _of_trainer(key: str) -> tuple[str, ...]:
    """Every choice that a release of transformers had, since a plugin of an older one may still bring it."""
    facts = Schema.load("transformers").blocks["arguments"]["keys"][key]
    choices = [*(facts.get("enum") or ()), *(choice for change in facts.get("changes", ()) for choice in change.get("enum") or ())]
    return tuple(dict.fromkeys(choices))


def _unknown_choice(view: View, key: str, known: tuple[str, ...]) -> Iterator[Finding]:
    value = view.get(key)
    if not isinstance(value, str) or value in known or view.get("plugins") is not MISSING:
        return
    near = COMMON.get(value.lower()) or nearest(value, known)
    fixes = (Fix(f"write {near}", "unsafe", (Change("set", view.path(key), near),)),) if near else ()
    yield Finding(key, {"hint": f" (did you mean {near}?)" if near else ""}, fixes=fixes)


@check("axolotl-grpo-groups")
def grpo_groups(view: View) -> Iterator[Finding]:
    """A generation batch that its groups do not divide."""
    group = view.raw("trl.num_generations")
    if view.get("rl") != "grpo" or not isinstance(group, int) or group < 2:
        return
    batch, how = view.raw("trl.generation_batch_size"), "generation_batch_size"
    if not isinstance(batch, int):
        micro, steps = view.get("micro_batch_size"), view.get("gradient_accumulation_steps")
        micro, steps = (value if isinstance(value, int) else 1 for value in (micro, steps))
        batch, how = micro * steps, f"micro_batch_size {micro} x gradient_accumulation_steps {steps}"
    if batch % group:
        yield Finding("trl.num_generations", {"batch": batch, "how": how, "group": group})


@check("axolotl-old-attention-switch")
def old_attention_switch(view: View) -> Iterator[Finding]:
    """The only switch that is on; several, or one beside attn_implementation, are refused."""
    flags = [flag for flag in ATTENTION if view.get(flag) is True]
    if len(flags) == 1 and view.absent("attn_implementation"):
        changes = (Change("delete", view.path(flags[0])), Change("set", view.path("attn_implementation"), ATTENTION[flags[0]]))
        fix = Fix("write attn_implementation", "safe", changes)
        yield Finding(flags[0], {"flag": flags[0], "implementation": ATTENTION[flags[0]]}, fixes=(fix,))


@check("axolotl-lora-target-pattern")
def lora_target_pattern(view: View) -> Iterator[Finding]:
    targets = view.get("lora_target_modules")
    for pattern in targets if isinstance(targets, list) else ():
        try:
            re.compile(pattern if isinstance(pattern, str) else "")
        except re.error:
            yield Finding("lora_target_modules", {"pattern": pattern})
            return


# _LORA_KERNEL_FLAGS of axolotl/utils/schemas/validation.py (0.21.0); the first three are fused with the matmul whose output they change in place
LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel")
MATMULS = ("aten::mm", "aten::addmm", "aten::matmul", "aten::bmm")


@check("axolotl-selective-matmul")
def selective_matmul(view: View) -> Iterator[Finding]:
    """Saved matmuls whose output a fused LoRA kernel, asked for or switched on by Axolotl itself, then changes in place."""
    if not _fused_lora(view):
        return
    kernels = tuple(Change("set", view.path(flag), False) for flag in LORA_KERNELS[:3])
    fixes = (Fix("switch the kernels off", "unsafe", kernels),)
    saved = view.get("selective_checkpointing.save")
    for op in saved if isinstance(saved, list) else ():
        if isinstance(op, str) and op != "attention" and any(op in matmul for matmul in MATMULS):
            yield Finding("selective_checkpointing.save", {"what": f"save: {op}"}, fixes=fixes)
            return
    smallest = view.raw("selective_checkpointing.save_matmul_min_k")
    if smallest is not MISSING and smallest:
        yield Finding("selective_checkpointing.save_matmul_min_k", {"what": f"save_matmul_min_k: {smallest}"}, fixes=fixes)


def _fused_lora(view: View) -> bool:
    """Does a fused LoRA kernel run? As ``_lora_kernel_enabled`` works it out; what a model's support forbids is not known here.

    An unset flag counts only where none is set: Axolotl then switches all on, but for reinforcement learning, 8-bit LoRA and remote code.
    """
    flags = [view.get(flag) for flag in LORA_KERNELS]
    if True in flags[:3]:
        return bool(_truthy(view, "adapter"))
    if any(flag is not MISSING for flag in flags) or view.get("adapter") not in ("lora", "qlora"):
        return False
    eight_bit = view.get("adapter") == "lora" and _truthy(view, "load_in_8bit")
    return not eight_bit and not any(_truthy(view, key) for key in ("rl", "nvfp4_merge_aware", "trust_remote_code"))


def _truthy(view: View, key: str) -> bool:
    value = view.get(key)
    return value is not MISSING and bool(value)


@check("axolotl-chat-template")
def chat_template(view: View) -> Iterator[Finding]:
    value = view.get("chat_template")
    if isinstance(value, str) and value not in TEMPLATES and not value.startswith("tokenizer_default_fallback_"):
        near = nearest(value, TEMPLATES)
        fixes = (Fix(f"write {near}", "unsafe", (Change("set", view.path("chat_template"), near),)),) if near else ()
        yield Finding("chat_template", {"hint": f": did you mean {near}?" if near else ""}, fixes=fixes)


# axolotl/utils/schemas/config.py: MIN_TORCH_VERSION by release
NEEDS_TORCH = {"0.21.0": "2.13.0"}


@check("axolotl-torch-too-old")
def torch_too_old(view: View) -> Iterator[Finding]:
    target = view.project.targets.get("torch")
    wanted = NEEDS_TORCH.get(view.resolved.schema.version)
    if target is not None and wanted is not None and parse_version(target.version) < parse_version(wanted):
        yield Finding("base_model", {"torch": target.version, "wanted": wanted})


@check("axolotl-compile-options")
def compile_options(view: View) -> Iterator[Finding]:
    written = view.keys("torch_compile_options")
    name = next((name for name in written if name not in COMPILE_OPTIONS), None) if written is not MISSING else None
    if name is not None:
        path = f"torch_compile_options.{name}"
        fix = Fix(f"remove {name}", "unsafe", (Change("delete", view.path(path)),))
        yield Finding(path if view.written(path) else "torch_compile_options", {"name": name}, fixes=(fix,))


@check("axolotl-fsdp-prefix")
def fsdp_prefix(view: View) -> Iterator[Finding]:
    """One finding for all keys that carry the prefix, with the repair of each."""
    written = view.keys("fsdp_config")
    names = [name for name in written if name.startswith("fsdp_") and name != "fsdp_version"] if written is not MISSING else []
    free = [name for name in names if name.removeprefix("fsdp_") not in written]
    if names:
        block = view.path("fsdp_config")
        changes = tuple(Change("rename", (*block, name), to=(*block, name.removeprefix("fsdp_"))) for name in free)
        fixes = (Fix("leave the prefix out", "safe", changes),) if changes else ()
        yield Finding("fsdp_config", {"name": ", ".join(names)}, fixes=fixes)
