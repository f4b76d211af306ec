"""Vision towers, and the models that join one to a language model. Source: the modeling_*.py of transformers; tests build every one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from dslint.memory.model import UnknownModel
from dslint.memory.shapes.config import Config
from dslint.memory.shapes.decoder import Decoder
from dslint.memory.shapes.families import DECODERS
from dslint.memory.shapes.parts import Part, Tensors, fused, gated, grouped, norms, plain


def patches(config: Config) -> int:
    """Patches of one image, which is square."""
    return (config.number("image_size") // config.number("patch_size")) ** 2


def patch_embedding(out: Tensors, config: Config, name: str, *, bias: bool, frames: bool = False) -> None:
    size = config.number("patch_size")
    channels = config.number("in_channels" if frames else "num_channels")
    depth = (config.number("temporal_patch_size"),) if frames else ()
    out.add(f"{name}.weight", (config.hidden, channels, *depth, size, size), "embedding")
    if bias:
        out.add(f"{name}.bias", (config.hidden,), "bias")


def siglip_around(out: Tensors, config: Config, at: str) -> None:
    patch_embedding(out, config, f"{at}embeddings.patch_embedding", bias=True)
    out.embedding(f"{at}embeddings.position_embedding", patches(config), config.hidden)
    out.norm(f"{at}post_layernorm", config.hidden, bias=True)
    if config.flag("vision_use_head"):
        siglip_pooling(out, config, f"{at}head.")


def siglip_pooling(out: Tensors, config: Config, at: str) -> None:
    hidden = config.hidden
    out.add(f"{at}probe", (1, 1, hidden), "other")
    out.add(f"{at}attention.in_proj_weight", (3 * hidden, hidden), "linear")
    out.add(f"{at}attention.in_proj_bias", (3 * hidden,), "bias")
    out.linear(f"{at}attention.out_proj", hidden, hidden, bias=True)
    out.norm(f"{at}layernorm", hidden, bias=True)
    plain("fc1", "fc2")(out, config, f"{at}mlp.")


def clip_around(out: Tensors, config: Config, at: str) -> None:
    out.add(f"{at}embeddings.class_embedding", (config.hidden,), "embedding")
    patch_embedding(out, config, f"{at}embeddings.patch_embedding", bias=False)
    out.embedding(f"{at}embeddings.position_embedding", patches(config) + 1, config.hidden)
    for name in ("pre_layrnorm", "post_layernorm"):
        out.norm(at + name, config.hidden, bias=True)


def pixtral_around(out: Tensors, config: Config, at: str) -> None:
    patch_embedding(out, config, f"{at}patch_conv", bias=False)
    out.norm(f"{at}ln_pre", config.hidden)


def merged(config: Config) -> int:
    """Width of the patches that are merged into one token."""
    return config.hidden * config.number("spatial_merge_size") ** 2


def qwen_merger(out_key: str, bias: bool) -> Part:
    """Qwen2-VL: merged patches through an MLP into the language model's width."""

    def write(out: Tensors, config: Config, at: str) -> None:
        patch_embedding(out, config, f"{at}patch_embed.proj", bias=False, frames=True)
        out.norm(f"{at}merger.ln_q", config.hidden, bias)
        out.linear(f"{at}merger.mlp.0", merged(config), merged(config), bias=True)
        out.linear(f"{at}merger.mlp.2", merged(config), config.number(out_key), bias=True)

    return write


def qwen3_around(out: Tensors, config: Config, at: str) -> None:
    patch_embedding(out, config, f"{at}patch_embed.proj", bias=True, frames=True)
    out.embedding(f"{at}pos_embed", config.number("num_position_embeddings"), config.hidden)
    deep = config.get("deepstack_visual_indexes")
    deep_count = len(deep) if isinstance(deep, list) else 3
    mergers = [("merger", config.hidden)] + [(f"deepstack_merger_list.{index}", merged(config)) for index in range(deep_count)]
    for name, normed in mergers:
        out.norm(f"{at}{name}.norm", normed, bias=True)
        out.linear(f"{at}{name}.linear_fc1", merged(config), merged(config), bias=True)
        out.linear(f"{at}{name}.linear_fc2", merged(config), config.number("out_hidden_size"), bias=True)


def vit_around(out: Tensors, config: Config, at: str) -> None:
    out.add(f"{at}embeddings.cls_token", (1, 1, config.hidden), "embedding")
    out.add(f"{at}embeddings.position_embeddings", (1, patches(config) + 1, config.hidden), "embedding")
    patch_embedding(out, config, f"{at}embeddings.patch_embeddings.projection", bias=True)
    out.norm(f"{at}layernorm", config.hidden, bias=True)


def classifier(out: Tensors, config: Config, tied: bool) -> None:
    labels = config.get("id2label")
    out.linear("classifier", config.hidden, len(labels) if isinstance(labels, Mapping) else 2, bias=True)


SIGLIP = Decoder(
    grouped(True, True, "out_proj"),
    plain("fc1", "fc2"),
    norms("layer_norm1", "layer_norm2", bias=True),
    siglip_around,
    layers="encoder.layers.",
)
QWEN_VISION = Decoder(
    fused("qkv", "proj"),
    plain("fc1", "fc2"),
    norms("norm1", "norm2", bias=True),
    qwen_merger("out_hidden_size", bias=True),
    layers="blocks.",
    attention_name="attn.",
)
QWEN3_VISION = QWEN_VISION._replace(mlp=plain("linear_fc1", "linear_fc2"), ends=qwen3_around)
TOWERS: Mapping[str, Decoder] = {
    "siglip_vision_model": SIGLIP,
    "clip_vision_model": SIGLIP._replace(ends=clip_around),
    "pixtral": Decoder(
        norms=norms("attention_norm", "ffn_norm"),
        ends=pixtral_around,
        layers="transformer.layers.",
        attention_name="attention.",
        mlp_name="feed_forward.",
    ),
    "qwen2_vl_vision": QWEN_VISION,
    "qwen2_5_vl_vision": QWEN_VISION._replace(
        mlp=gated(True), norms=norms("norm1", "norm2"), ends=qwen_merger("out_hidden_size", bias=False)
    ),
    "qwen3_vl_vision": QWEN3_VISION,
    "qwen3_vl_moe_vision": QWEN3_VISION,
}
# a classifier of images, alone
VIT = SIGLIP._replace(
    attention=grouped("qkv_bias", True),
    norms=norms("layernorm_before", "layernorm_after", bias=True),
    ends=vit_around,
    root="vit.",
    layers="layers.",
    attention_name="attention.",
    head=classifier,
    gated=False,
)
TEXTS: Mapping[str, str] = {
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
}


def mlp_projector(out: Tensors, config: Config, at: str) -> None:
    bias, layers = config.flag("multimodal_projector_bias"), config.get("vision_feature_layer")
    hidden, text = config.part("vision_config").hidden, config.part("text_config").hidden
    out.linear(f"{at}linear_1", hidden * (len(layers) if isinstance(layers, list) else 1), text, bias)
    out.linear(f"{at}linear_2", text, text, bias)


def newline_projector(out: Tensors, config: Config, at: str) -> None:
    out.add("model.image_newline", (config.part("text_config").hidden,), "other")
    mlp_projector(out, config, at)


def mistral_projector(out: Tensors, config: Config, at: str) -> None:
    vision = config.part("vision_config")
    out.norm(f"{at}norm", vision.hidden)
    out.linear(f"{at}patch_merger.merging_layer", vision.hidden * config.number("spatial_merge_size") ** 2, vision.hidden)
    mlp_projector(out, config, at)


def gemma_projector(out: Tensors, config: Config, at: str) -> None:
    vision = config.part("vision_config")
    out.add(f"{at}mm_input_projection_weight", (vision.hidden, config.part("text_config").hidden), "linear")
    out.norm(f"{at}mm_soft_emb_norm", vision.hidden)


def paligemma_projector(out: Tensors, config: Config, at: str) -> None:
    out.linear(f"{at}linear", config.part("vision_config").hidden, config.number("projection_dim"), bias=True)


def no_projector(out: Tensors, config: Config, at: str) -> None:
    """The tower ends in the language model's width."""


class Joint(NamedTuple):
    """A vision tower and a language model. ``text_ties``: the tie of the embeddings may stand in the text's config too."""

    projector: Part = no_projector
    vision_at: str = "model.vision_tower."
    text_ties: bool = False

    def tied(self, config: Config) -> bool:
        return config.flag("tie_word_embeddings") or (self.text_ties and config.part("text_config").flag("tie_word_embeddings"))

    def write(self, out: Tensors, config: Config) -> Decoder:
        """All tensors but the head's; the language model's decoder."""
        vision, text = config.part("vision_config"), config.part("text_config")
        tower = _of(TOWERS, vision.type)
        tower.write(out, VISION_WIDTHS.get(vision.type, unchanged)(vision), self.vision_at)
        self.projector(out, config, "model.multi_modal_projector.")
        decoder = _of(DECODERS, TEXTS.get(text.type, text.type))
        decoder.write(out, text, "model.language_model.")
        return decoder


def _of(table: Mapping[str, Decoder], model_type: str) -> Decoder:
    if model_type not in table:
        raise UnknownModel(f"the shapes of model type {model_type!r} as a part of another are not known")
    return table[model_type]


def unchanged(config: Config) -> Config:
    return config


def qwen2_widths(config: Config) -> Config:
    """Qwen2-VL calls the width of its tower embed_dim; hidden_size is that of the language model."""
    width = config.number("embed_dim")
    changed = {"hidden_size": width, "intermediate_size": width * config.number("mlp_ratio"), "out_hidden_size": config.hidden}
    return config.replace(**changed)


VISION_WIDTHS: Mapping[str, Callable[[Config], Config]] = {"qwen2_vl_vision": qwen2_widths}
JOINT: Mapping[str, Joint] = {
    "llava": Joint(mlp_projector, text_ties=True),
    "llava_next": Joint(newline_projector),
    "mistral3": Joint(mistral_projector),
    "gemma3": Joint(gemma_projector),
    "paligemma": Joint(paligemma_projector),
    "qwen2_vl": Joint(vision_at="model.visual.", text_ties=True),
    "qwen2_5_vl": Joint(vision_at="model.visual.", text_ties=True),
    "qwen3_vl": Joint(vision_at="model.visual."),
    "qwen3_vl_moe": Joint(vision_at="model.visual."),
}
