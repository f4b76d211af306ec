"""Encoders with a masked-language head (the BERT family), and encoder-decoders (the T5 family)."""

from __future__ import annotations

from collections.abc import Mapping

from dslint.memory.shapes.config import Config
from dslint.memory.shapes.decoder import Decoder
from dslint.memory.shapes.parts import Part, Tensors, norms, plain


def attention(query: str, key: str, value: str, out_name: str) -> Part:
    def write(out: Tensors, config: Config, at: str) -> None:
        for name in (query, key, value, out_name):
            out.linear(at + name, config.hidden, config.hidden, bias=True)

    return write


def bert_around(out: Tensors, config: Config, at: str) -> None:
    hidden = config.hidden
    out.embedding(f"{at}embeddings.word_embeddings", config.vocabulary, hidden)
    out.embedding(f"{at}embeddings.position_embeddings", config.number("max_position_embeddings"), hidden)
    if config.get("type_vocab_size") is not None:
        out.embedding(f"{at}embeddings.token_type_embeddings", config.number("type_vocab_size"), hidden)
    out.norm(f"{at}embeddings.LayerNorm", hidden, bias=True)


def transformed_head(dense: str, norm: str, bias: str, decoder: str, *, own_bias: bool) -> Part:
    """A dense layer with a norm in front of the output embedding. ``own_bias``: where it is not tied, it has a second bias."""

    def write(out: Tensors, config: Config, at: str) -> None:
        out.linear(at + dense, config.hidden, config.hidden, bias=True)
        out.norm(at + norm, config.hidden, bias=True)
        out.add(at + bias, (config.vocabulary,), "bias")
        if not config.flag("tie_word_embeddings"):
            out.add(f"{at}{decoder}.weight", (config.vocabulary, config.hidden), "head")
            if own_bias:
                out.add(f"{at}{decoder}.bias", (config.vocabulary,), "bias")

    return write


def of_bert(write: Part) -> Decoder:
    def head(out: Tensors, config: Config, tied: bool) -> None:
        write(out, config, "")

    return BERT._replace(head=head)


BERT = Decoder(
    attention("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    plain("intermediate.dense", "output.dense"),
    norms("attention.output.LayerNorm", "output.LayerNorm", bias=True),
    bert_around,
    root="bert.",
    layers="encoder.layer.",
    attention_name="",
    mlp_name="",
    gated=False,
)
ROBERTA = of_bert(transformed_head("lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "lm_head.decoder", own_bias=True))._replace(
    root="roberta."
)
ENCODERS: Mapping[str, Decoder] = {
    "bert": of_bert(
        transformed_head(
            "cls.predictions.transform.dense",
            "cls.predictions.transform.LayerNorm",
            "cls.predictions.bias",
            "cls.predictions.decoder",
            own_bias=True,
        )
    ),
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "distilbert": of_bert(
        transformed_head("vocab_transform", "vocab_layer_norm", "vocab_projector.bias", "vocab_projector", own_bias=False)
    )._replace(
        attention=attention("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
        mlp=plain("ffn.lin1", "ffn.lin2"),
        norms=norms("sa_layer_norm", "output_layer_norm", bias=True),
        root="distilbert.",
        layers="transformer.layer.",
    ),
}


def t5_stack(out: Tensors, config: Config, at: str, blocks: int, *, cross: bool, bias_everywhere: bool) -> None:
    inner = config.heads * config.number("d_kv")
    for block in range(blocks):
        out.layer = block
        for index, kind in enumerate(("SelfAttention", *(("EncDecAttention",) if cross else ()))):
            here = f"{at}block.{block}.layer.{index}."
            for name in ("q", "k", "v"):
                out.linear(f"{here}{kind}.{name}", config.hidden, inner)
            out.linear(f"{here}{kind}.o", inner, config.hidden)
            if kind == "SelfAttention" and (block == 0 or bias_everywhere):
                buckets = config.number("relative_attention_num_buckets")
                out.embedding(f"{here}{kind}.relative_attention_bias", buckets, config.heads)
            out.norm(f"{here}layer_norm", config.hidden)
        here = f"{at}block.{block}.layer.{1 + cross}."
        for name in t5_up(config):
            out.linear(f"{here}DenseReluDense.{name}", config.hidden, config.number("d_ff"))
        out.linear(f"{here}DenseReluDense.wo", config.number("d_ff"), config.hidden)
        out.norm(f"{here}layer_norm", config.hidden)
    out.layer = None
    out.norm(f"{at}final_layer_norm", config.hidden)


def t5_up(config: Config) -> tuple[str, ...]:
    return ("wi_0", "wi_1") if str(config.get("feed_forward_proj")).startswith("gated") else ("wi",)


def write_t5(out: Tensors, config: Config) -> None:
    """T5: an encoder and a decoder with one embedding, to which the head is tied whatever the config says.

    UMT5 has a bias of relative positions in each block.
    """
    everywhere = config.type == "umt5"
    decoders = config.number("num_decoder_layers") if config.get("num_decoder_layers") is not None else config.layers
    out.embedding("shared", config.vocabulary, config.hidden)
    t5_stack(out, config, "encoder.", config.layers, cross=False, bias_everywhere=everywhere)
    t5_stack(out, config, "decoder.", decoders, cross=True, bias_everywhere=everywhere)


T5 = ("t5", "mt5", "umt5")
