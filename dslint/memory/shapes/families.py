"""The decoders of transformers, each by what it does differently from Llama. Source: its modeling_*.py; tests build every one of them."""

from __future__ import annotations

from collections.abc import Mapping

from dslint.memory.shapes.config import Config
from dslint.memory.shapes.decoder import Decoder, around, lm_head
from dslint.memory.shapes.parts import (
    Tensors,
    both,
    conv1d,
    fused,
    fused_gated,
    gated,
    grouped,
    indexer,
    latent,
    mixture,
    norms,
    plain,
    qk_norm,
    when,
)


def first_dense(config: Config, layer: int) -> bool:
    return layer >= config.number("first_k_dense_replace")


def stepped(config: Config, layer: int) -> bool:
    return layer not in (config.get("mlp_only_layers") or ()) and (layer + 1) % config.number("decoder_sparse_step") == 0


def listed(config: Config, layer: int) -> bool:
    """By ``mlp_layer_types``; without it the first layers are dense (one, where no key says how many)."""
    kinds = config.get("mlp_layer_types")
    if kinds is None:
        return layer >= (config.number("first_k_dense_replace") if config.get("first_k_dense_replace") is not None else 1)
    return bool(kinds[layer] == "sparse")


def llama4_sparse(config: Config, layer: int) -> bool:
    chosen = config.get("moe_layers")
    return layer in chosen if chosen is not None else (layer + 1) % config.number("interleave_moe_layer_step") == 0


def ernie_sparse(config: Config, layer: int) -> bool:
    end = config.get("moe_layer_end_index")
    last = config.layers - 1 if end == -1 else end
    in_range = config.number("moe_layer_start_index") <= layer <= last
    return bool(in_range and (layer + 1) % config.number("moe_layer_interval") == 0)


def shared_gate(out: Tensors, config: Config, at: str) -> None:
    out.linear(f"{at}shared_expert_gate", config.hidden, 1)


def ernie_correction(out: Tensors, config: Config, at: str) -> None:
    out.add(f"{at}gate.moe_statics.e_score_correction_bias", (1, config.number("moe_num_experts")), "other")


def gpt_oss_mixture(out: Tensors, config: Config, at: str) -> None:
    count, hidden, inner = config.number("num_local_experts"), config.hidden, config.intermediate
    out.linear(f"{at}router", hidden, count, bias=True)
    out.add(f"{at}experts.gate_up_proj", (count, hidden, 2 * inner), "expert")
    out.add(f"{at}experts.gate_up_proj_bias", (count, 2 * inner), "bias")
    out.add(f"{at}experts.down_proj", (count, inner, hidden), "expert")
    out.add(f"{at}experts.down_proj_bias", (count, hidden), "bias")


def sinks(out: Tensors, config: Config, at: str) -> None:
    out.add(f"{at}sinks", (config.heads,), "other")


def llama4_mixture(out: Tensors, config: Config, at: str) -> None:
    count, hidden, inner = config.number("num_local_experts"), config.hidden, config.intermediate
    out.linear(f"{at}router", hidden, count)
    out.add(f"{at}experts.gate_up_proj", (count, hidden, 2 * inner), "expert")
    out.add(f"{at}experts.down_proj", (count, inner, hidden), "expert")
    gated()(out, config, f"{at}shared_expert.")


def granite_shared(out: Tensors, config: Config, at: str) -> None:
    if width := config.number("shared_intermediate_size"):
        out.linear(f"{at}shared_mlp.input_linear", config.hidden, 2 * width)
        out.linear(f"{at}shared_mlp.output_linear", width, config.hidden)


def helium_attention(out: Tensors, config: Config, at: str) -> None:
    """The output projection is square, whatever the heads' size."""
    grouped("attention_bias")(out, config.replace(head_dim=config.head_size), at)
    out.all[-1] = out.all[-1]._replace(shape=(config.hidden, config.hidden))


def falcon_kv_heads(config: Config) -> int:
    if config.flag("new_decoder_architecture"):
        return config.number("num_kv_heads") if config.get("num_kv_heads") else config.heads
    return 1 if config.flag("multi_query") else config.heads


def falcon_norms(out: Tensors, config: Config, at: str) -> None:
    together = config.get("num_ln_in_parallel_attn") or (2 if config.flag("new_decoder_architecture") else 1)
    if not config.flag("parallel_attn"):
        names = ["input_layernorm", "post_attention_layernorm"]
    else:
        names = ["ln_attn", "ln_mlp"] if together == 2 else ["input_layernorm"]
    norms(*names, bias=True)(out, config, at)


def stablelm_qk_norm(out: Tensors, config: Config, at: str) -> None:
    for name, heads in (("q_layernorm", config.heads), ("k_layernorm", config.kv_heads)):
        for head in range(heads):
            out.norm(f"{at}{name}.norms.{head}", config.head_size)


def opt_norms(out: Tensors, config: Config, at: str) -> None:
    if config.flag("layer_norm_elementwise_affine"):
        norms("self_attn_layer_norm", "final_layer_norm", bias=True)(out, config, at)


def opt_ends(out: Tensors, config: Config, at: str) -> None:
    """OPT's embedding may be narrower than its layers; its learned positions begin at 2."""
    narrow = config.number("word_embed_proj_dim") if config.get("word_embed_proj_dim") is not None else config.hidden
    out.embedding(f"{at}embed_tokens", config.vocabulary, narrow)
    out.embedding(f"{at}embed_positions", config.number("max_position_embeddings") + 2, config.hidden)
    if narrow != config.hidden:
        out.linear(f"{at}project_in", narrow, config.hidden)
        out.linear(f"{at}project_out", config.hidden, narrow)
    if config.flag("do_layer_norm_before") and not config.flag("_remove_final_layer_norm") and config.flag("layer_norm_elementwise_affine"):
        out.norm(f"{at}final_layer_norm", config.hidden, bias=True)


def gpt2_mlp(out: Tensors, config: Config, at: str) -> None:
    conv1d(("c_fc", lambda c: (c.hidden, c.intermediate)), ("c_proj", lambda c: (c.intermediate, c.hidden)))(out, config, at)


def minicpm_latent(out: Tensors, config: Config, at: str) -> None:
    size = config.number("v_head_dim") if config.get("v_head_dim") is not None else config.hidden // config.heads
    latent(out, config.replace(v_head_dim=size), at)


def every_head(config: Config) -> int:
    return config.heads


BIASED = grouped("attention_bias", "attention_bias")
LLAMA = Decoder(BIASED, gated("mlp_bias"))
QWEN2 = Decoder(grouped(bias=True))
QWEN3 = Decoder(both(BIASED, qk_norm()))
SANDWICH = norms("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
AFTER = norms("post_attention_layernorm", "post_feedforward_layernorm")
DEEPSEEK_MIXTURE = mixture(
    "n_routed_experts", shared="shared_experts", shared_width=("moe_intermediate_size", "n_shared_experts"), shared_bias="mlp_bias"
)
DEEPSEEK = Decoder(latent, mixture=DEEPSEEK_MIXTURE, sparse=first_dense)
COHERE = Decoder(both(BIASED, when("use_qk_norm", qk_norm("each"))), norms=norms("input_layernorm"))
GRANITE_MOE = Decoder(BIASED, mlp_name="block_sparse_moe.", mlp=mixture(width="intermediate_size", router="router"))
GPT = Decoder(
    norms=norms("ln_1", "ln_2", bias=True),
    ends=around("wte", "ln_f", "wpe", bias=True),
    root="transformer.",
    layers="h.",
    attention_name="attn.",
    gated=False,
)
BLOOM = GPT._replace(
    attention=fused("query_key_value", "dense"),
    mlp=plain("dense_h_to_4h", "dense_4h_to_h"),
    norms=norms("input_layernorm", "post_attention_layernorm", bias=True),
    ends=around("word_embeddings", "ln_f", bias=True, normed="word_embeddings_layernorm"),
    attention_name="self_attention.",
)

DECODERS: Mapping[str, Decoder] = {
    "llama": LLAMA,
    "internlm3": LLAMA,
    "smollm3": LLAMA,
    "granite": LLAMA,
    "seed_oss": Decoder(grouped("attention_bias", "attention_out_bias"), gated("mlp_bias")),
    "helium": Decoder(helium_attention, gated("mlp_bias")),
    "arcee": Decoder(BIASED, plain("up_proj", "down_proj", "mlp_bias"), gated=False),
    "nemotron": Decoder(
        BIASED,
        plain("up_proj", "down_proj", "mlp_bias"),
        norms("input_layernorm", "post_attention_layernorm", bias=True),
        around(bias=True),
        gated=False,
    ),
    "mistral": Decoder(),
    "ministral3": Decoder(),
    "mixtral": Decoder(mlp=mixture(width="intermediate_size")),
    "minimax_m2": Decoder(both(grouped(), qk_norm("all")), mixture(width="intermediate_size")),
    "qwen2": QWEN2,
    "qwen2_moe": Decoder(
        grouped("qkv_bias"),
        mixture=mixture("num_experts", shared="shared_expert", shared_width=("shared_expert_intermediate_size",), extra=shared_gate),
        sparse=stepped,
    ),
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3._replace(mixture=mixture(), sparse=stepped),
    "gemma": Decoder(BIASED),
    "gemma2": Decoder(BIASED, norms=SANDWICH),
    "gemma3_text": Decoder(both(BIASED, qk_norm()), norms=SANDWICH),
    "phi": Decoder(
        both(grouped(True, True, "dense"), when("qk_layernorm", qk_norm("head", ("q_layernorm", "k_layernorm"), bias=True))),
        plain("fc1", "fc2"),
        norms("input_layernorm", bias=True),
        around(final="final_layernorm", bias=True),
        head=lm_head(True),
        gated=False,
    ),
    "phi3": Decoder(fused("qkv_proj", "o_proj", bias=False), fused_gated),
    "phimoe": Decoder(
        BIASED,
        mixture(width="intermediate_size", router="router"),
        norms("input_layernorm", "post_attention_layernorm", bias=True),
        around(bias=True),
        head=lm_head("lm_head_bias"),
    ),
    "deepseek_v2": DEEPSEEK._replace(mlp=gated("mlp_bias")),
    "deepseek_v3": DEEPSEEK,
    "deepseek_v32": DEEPSEEK._replace(attention=both(latent, indexer), sparse=listed),
    "minicpm3": Decoder(minicpm_latent, gated("mlp_bias")),
    "glm": Decoder(grouped("attention_bias"), fused_gated),
    "glm4": Decoder(
        grouped("attention_bias"),
        fused_gated,
        norms("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"),
    ),
    "glm4_moe": DEEPSEEK._replace(attention=both(grouped("attention_bias"), when("use_qk_norm", qk_norm()))),
    "glm4_moe_lite": DEEPSEEK._replace(sparse=listed),
    "gpt_oss": Decoder(both(sinks, BIASED), gpt_oss_mixture),
    "llama4_text": Decoder(
        BIASED, gated(width="intermediate_size_mlp"), mlp_name="feed_forward.", mixture=llama4_mixture, sparse=llama4_sparse
    ),
    "ernie4_5": Decoder(grouped("use_bias", "use_bias"), gated("use_bias")),
    "ernie4_5_moe": Decoder(
        grouped("use_bias", "use_bias"),
        gated("use_bias"),
        mixture=mixture(
            "moe_num_experts",
            shared="shared_experts",
            shared_width=("moe_intermediate_size", "moe_num_shared_experts"),
            shared_bias="use_bias",
            extra=ernie_correction,
        ),
        sparse=ernie_sparse,
        head=lm_head("use_bias"),
    ),
    "cohere": COHERE,
    "cohere2": COHERE._replace(attention=BIASED),
    "olmo": Decoder(BIASED, norms=norms(), ends=around(final="")),
    "olmo2": Decoder(both(BIASED, qk_norm("all")), norms=AFTER),
    "olmo3": Decoder(both(BIASED, qk_norm("all")), norms=AFTER),
    "olmoe": Decoder(both(BIASED, qk_norm("all")), mixture("num_experts", "intermediate_size")),
    "exaone4": Decoder(both(grouped(), qk_norm()), norms=AFTER),
    "granitemoe": GRANITE_MOE,
    "granitemoeshared": GRANITE_MOE._replace(norms=both(GRANITE_MOE.norms, granite_shared)),
    "stablelm": Decoder(
        both(grouped("use_qkv_bias"), when("qk_layernorm", stablelm_qk_norm)),
        norms=both(
            norms("input_layernorm", bias=True), when("use_parallel_residual", norms(), norms("post_attention_layernorm", bias=True))
        ),
        ends=around(bias=True),
    ),
    "starcoder2": Decoder(
        grouped("use_bias", "use_bias"),
        plain("c_fc", "c_proj", "use_bias"),
        norms("input_layernorm", "post_attention_layernorm", bias=True),
        around(bias=True),
        gated=False,
    ),
    "gpt2": GPT._replace(
        attention=conv1d(("c_attn", lambda c: (c.hidden, 3 * c.hidden)), ("c_proj", lambda c: (c.hidden, c.hidden))), mlp=gpt2_mlp
    ),
    "gpt_bigcode": GPT._replace(
        attention=fused("c_attn", "c_proj", kv_heads=lambda config: 1 if config.flag("multi_query") else config.heads),
        mlp=plain("c_fc", "c_proj"),
    ),
    "gpt_neo": GPT._replace(attention=grouped(False, True, "out_proj"), mlp=plain("c_fc", "c_proj"), attention_name="attn.attention."),
    "gptj": GPT._replace(
        attention=grouped(out="out_proj"),
        mlp=plain("fc_in", "fc_out"),
        norms=norms("ln_1", bias=True),
        ends=around("wte", "ln_f", bias=True),
        head=lm_head(True),
    ),
    "gpt_neox": Decoder(
        fused("query_key_value", "dense", "attention_bias", every_head),
        plain("dense_h_to_4h", "dense_4h_to_h"),
        norms("input_layernorm", "post_attention_layernorm", bias=True),
        around("embed_in", "final_layer_norm", bias=True),
        root="gpt_neox.",
        attention_name="attention.",
        gated=False,
    ),
    "bloom": BLOOM._replace(attention=fused("query_key_value", "dense", True, every_head)),
    "falcon": BLOOM._replace(
        attention=fused("query_key_value", "dense", "bias", falcon_kv_heads),
        mlp=plain("dense_h_to_4h", "dense_4h_to_h", "bias"),
        norms=falcon_norms,
        ends=around("word_embeddings", "ln_f", bias=True),
    ),
    "opt": Decoder(
        grouped("enable_bias", "enable_bias", "out_proj"),
        plain("fc1", "fc2", "enable_bias"),
        opt_norms,
        opt_ends,
        root="model.decoder.",
        mlp_name="",
        gated=False,
    ),
}
