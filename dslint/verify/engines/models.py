"""Small models of transformers: the user's architecture where it is known, else a Llama; random weights, nothing from the Hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from dslint.verify import model_size as size

# names that configurations have for the sizes of a model, with what a small one has
SMALL = {
    "hidden_size": size.HIDDEN,
    "intermediate_size": size.INTERMEDIATE,
    "moe_intermediate_size": 32,
    "num_hidden_layers": size.LAYERS,
    "num_attention_heads": size.HEADS,
    "num_key_value_heads": size.KEY_VALUE_HEADS,
    "head_dim": size.HIDDEN // size.HEADS,
    "vocab_size": size.VOCABULARY,
    "max_position_embeddings": 2 * size.SEQUENCE,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
}
# sizes of architectures that have more of them than can be made small together: latent attention, state spaces
OF_THEIR_OWN = ("kv_lora_rank", "qk_nope_head_dim", "state_size", "mamba_d_state", "linear_num_value_heads")
# tokens of a tokenizer that a small vocabulary does not have
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LAYERS_OF_A_DIRECTORY = 2


def build(request: Mapping[str, Any], seed: int) -> Any:
    """The model of a request: from ``model`` (a directory) at its own width with few layers, else a small one of its architecture. Raises what transformers raises."""
    torch.manual_seed(seed)
    config = _of_directory(request["model"]) if request["model"] else _small(request)
    config.use_cache = False
    model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    sharded = any(hasattr(parameter, "ds_id") for parameter in model.parameters())
    return model if sharded else model.float()  # under zero.Init DeepSpeed has given each parameter its type already


def _of_directory(folder: str) -> Any:
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    config.num_hidden_layers = min(LAYERS_OF_A_DIRECTORY, config.num_hidden_layers)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[: config.num_hidden_layers]
    return config


def _small(request: Mapping[str, Any]) -> Any:
    kind = architecture(request)
    known = AutoConfig.for_model(kind)
    if any(hasattr(known, name) for name in OF_THEIR_OWN):
        kind, known = "llama", AutoConfig.for_model("llama")
    sizes = {name: value for name, value in SMALL.items() if hasattr(known, name)}
    extra = {"tie_word_embeddings": tied} if (tied := request["plan"].get("model.tied_embeddings")) is not None else {}
    return AutoConfig.for_model(kind, **sizes, **TOKENS, **extra)


def architecture(request: Mapping[str, Any]) -> str:
    """The model's type: as its directory or name says, else that of the layers that are to be wrapped, else Llama."""
    if (kind := request["plan"].get("model.type")) in CONFIG_MAPPING:
        return str(kind)
    for name in request["plan"].get("engine.wrap_classes") or ():
        for kind, config in CONFIG_MAPPING._mapping.items():
            family = config.removesuffix("Config")
            if name in (f"{family}DecoderLayer", f"{family}Block", f"{family}Layer"):
                return str(kind)
    return "llama"
