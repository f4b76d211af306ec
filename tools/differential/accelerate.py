"""dslint beside Accelerate's own launcher: self-made files with one mistake each.

    python -m tools.differential.accelerate --count 2000 --report docs/measurements/differential-accelerate.md

The environment holds accelerate 1.15.0, torch and deepspeed. The launcher copies what it finds under a block onto its arguments without
looking at names or types, and reads some of them again from variables: a key of another name is *swallowed*.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from tools.differential.fsdp_config import FSDP_CONFIG
from tools.differential.judges import Config
from tools.differential.makers import Makers, chosen
from tools.differential.parsers import Framework, main

TARGETS = {"accelerate": "1.15.0", "deepspeed": "0.19.8", "torch": "2.13.0", "transformers": "5.24.0"}
T, F = True, False

#: key -> values that Accelerate works with; read by hand from its questionnaire and examples, independent of dslint's schema
COMMON: dict[str, list[Any]] = {
    "compute_environment": ["LOCAL_MACHINE"],
    "debug": [F, T],
    "downcast_bf16": ["no"],
    "enable_cpu_affinity": [F],
    "machine_rank": [0],
    "main_training_function": ["main"],
    "rdzv_backend": ["static"],
    "same_network": [T],
    "tpu_env": [[]],
    "tpu_use_cluster": [F],
    "tpu_use_sudo": [F],
    "use_cpu": [F],
    "gpu_ids": ["all", "0,1,2,3,4,5,6,7"],
    "main_process_port": [0, 29511],
    "num_machines": [1],
}
DEEPSPEED: dict[str, list[Any]] = {
    "gradient_accumulation_steps": [1, 4, "auto"],
    "gradient_clipping": [1.0, "auto"],
    "offload_optimizer_device": ["none", "cpu"],
    "offload_param_device": ["none"],
    "zero3_init_flag": [F],
    "zero3_save_16bit_model": [T, F],
    "deepspeed_multinode_launcher": ["standard", "pdsh"],
}
FSDP1: dict[str, list[Any]] = {
    "fsdp_version": [1],
    "fsdp_auto_wrap_policy": ["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"],
    "fsdp_sharding_strategy": ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", 1, 2],
    "fsdp_backward_prefetch": ["BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"],
    "fsdp_forward_prefetch": [F, T],
    "fsdp_offload_params": [F, T],
    "fsdp_state_dict_type": ["FULL_STATE_DICT", "SHARDED_STATE_DICT"],
    "fsdp_sync_module_states": [T],
    "fsdp_use_orig_params": [T, F],
    "fsdp_cpu_ram_efficient_loading": [T, F],
    "fsdp_activation_checkpointing": [F, T],
}
FSDP2: dict[str, list[Any]] = {
    "fsdp_auto_wrap_policy": ["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"],
    "fsdp_reshard_after_forward": [T, F],
    "fsdp_offload_params": [F, T],
    "fsdp_state_dict_type": ["FULL_STATE_DICT", "SHARDED_STATE_DICT"],
    "fsdp_cpu_ram_efficient_loading": [T, F],
    "fsdp_activation_checkpointing": [F, T],
}
MEGATRON: dict[str, list[Any]] = {
    "megatron_lm_tp_degree": [2],
    "megatron_lm_pp_degree": [2],
    "megatron_lm_num_micro_batches": [2],
    "megatron_lm_gradient_clipping": [1.0],
    "megatron_lm_sequence_parallelism": [T],
    "megatron_lm_recompute_activations": [T],
    "megatron_lm_use_distributed_optimizer": [T],
}
DYNAMO: dict[str, list[Any]] = {
    "dynamo_backend": ["INDUCTOR", "NO"],
    "dynamo_mode": ["default", "max-autotune"],
    "dynamo_use_dynamic": [F],
    "dynamo_use_fullgraph": [F],
}
PARALLEL = ("dp_replicate", "dp_shard", "tp", "cp", "sp")


def base(number: int) -> Config:
    rng = random.Random(f"accelerate {number}")
    kind = rng.choice(
        ["NO", "MULTI_GPU", "DEEPSPEED", "DEEPSPEED", "DEEPSPEED", "FSDP", "FSDP", "FSDP", "FSDP", "MEGATRON_LM", "MULTI_CPU"]
    )
    config: Config = {"distributed_type": kind, "num_processes": 1 if kind == "NO" else 8, **chosen(rng, COMMON, 0.6)}
    precision = rng.choice(["bf16", "fp16", "no"])
    if kind == "DEEPSPEED" and rng.random() < 0.35:
        precision = ""
        config["deepspeed_config"] = {"deepspeed_config_file": rng.choice(["z2.json", "z3.json"]), "zero3_init_flag": F}
    elif kind == "DEEPSPEED":
        stage = rng.choice([0, 1, 2, 3])
        config["deepspeed_config"] = {"zero_stage": stage, **chosen(rng, DEEPSPEED, 0.6)}
        if stage == 3:
            config["deepspeed_config"] |= {"zero3_init_flag": rng.choice([T, F]), "offload_param_device": rng.choice(["none", "cpu"])}
    elif kind == "FSDP" and rng.random() < 0.5:
        config["fsdp_config"] = {"fsdp_version": 2, **chosen(rng, FSDP2, 0.7)}
        if rng.random() < 0.4:
            sizes = rng.choice([{"dp_shard": 8}, {"dp_replicate": 2, "dp_shard": 4}, {"dp_shard": 2, "tp": 4}, {"dp_shard": 4, "cp": 2}])
            config["parallelism_config"] = {f"parallelism_config_{name}_size": sizes.get(name, 1) for name in PARALLEL}
    elif kind == "FSDP":
        config["fsdp_config"] = chosen(rng, FSDP1, 0.7)
    elif kind == "MEGATRON_LM":
        config["megatron_lm_config"] = chosen(rng, MEGATRON, 0.8)
    if (
        kind in ("FSDP", "DEEPSPEED")
        and (block := config.get("fsdp_config"))
        and block.get("fsdp_auto_wrap_policy") == "TRANSFORMER_BASED_WRAP"
    ):
        block["fsdp_transformer_layer_cls_to_wrap"] = rng.choice(["LlamaDecoderLayer", "Qwen2DecoderLayer,Qwen3DecoderLayer"])
    if precision and rng.random() < 0.9:
        config["mixed_precision"] = precision
    if rng.random() < 0.2:
        config["dynamo_config"] = chosen(rng, DYNAMO, 0.8)
    if kind == "MULTI_CPU":
        config["use_cpu"] = T
    items = list(config.items())
    rng.shuffle(items)
    return dict(items)


#: what may be put into any base: single keys that other keys and engines do not always go with
ADDED: list[tuple[str, Any]] = [
    ("num_processes", 1), ("num_processes", 2), ("num_processes", 6), ("num_machines", 2), ("num_machines", 3), ("main_process_ip", "10.0.0.1"),
    ("machine_rank", 1), ("gpu_ids", "0"), ("gpu_ids", "0,1"), ("gpu_ids", 0), ("use_cpu", T), ("mixed_precision", "fp8"), ("mixed_precision", F),
    ("mixed_precision", "bf16"), ("distributed_type", "MULTI_GPU"), ("distributed_type", "NO"), ("distributed_type", "FSDP"),
    ("distributed_type", "DEEPSPEED"), ("distributed_type", "TPU"), ("distributed_type", "XLA"), ("distributed_type", "MULTI_XPU"),
    ("rdzv_backend", "c10d"), ("same_network", F), ("fp16", T), ("dynamo_backend", "INDUCTOR"), ("dynamo_config.dynamo_backend", "EAGER"),
    ("dynamo_config.dynamo_mode", "reduce-overhead"), ("deepspeed_config.zero_stage", 3), ("deepspeed_config.zero_stage", 2),
    ("deepspeed_config.gradient_accumulation_steps", 2), ("deepspeed_config.gradient_clipping", 1.0), ("deepspeed_config.offload_param_device", "cpu"),
    ("deepspeed_config.offload_optimizer_device", "nvme"), ("deepspeed_config.deepspeed_config_file", "z3.json"), ("deepspeed_config.zero3_init_flag", T),
    ("deepspeed_config.zero3_save_16bit_model", T), ("deepspeed_config.deepspeed_moe_layer_cls_names", "MixtralSparseMoeBlock"),
    ("deepspeed_config.deepspeed_multinode_launcher", "nossh"), ("fsdp_config.fsdp_version", 1), ("fsdp_config.fsdp_version", 2),
    ("fsdp_config.fsdp_reshard_after_forward", F), ("fsdp_config.fsdp_reshard_after_forward", "FULL_SHARD"),
    ("fsdp_config.fsdp_sharding_strategy", "HYBRID_SHARD"), ("fsdp_config.fsdp_sharding_strategy", 4), ("fsdp_config.fsdp_sync_module_states", F),
    ("fsdp_config.fsdp_cpu_ram_efficient_loading", T), ("fsdp_config.fsdp_state_dict_type", "LOCAL_STATE_DICT"),
    ("fsdp_config.fsdp_activation_checkpointing_offload", T), ("fsdp_config.fsdp_activation_checkpointing", T),
    ("fsdp_config.fsdp_forward_prefetch", T), ("fsdp_config.fsdp_backward_prefetch", "BACKWARD_PRE"), ("fsdp_config.fsdp_offload_params", T),
    ("fsdp_config.fsdp_min_num_params", 2000), ("fsdp_config.fsdp_min_num_params", 1e8), ("fsdp_config.fsdp_transformer_layer_cls_to_wrap", "LlamaDecoderLayer"),
    ("fsdp_config.fsdp_ignored_modules", ".*embed.*"), ("parallelism_config.parallelism_config_tp_size", 2),
    ("parallelism_config.parallelism_config_cp_size", 2), ("parallelism_config.parallelism_config_sp_size", 2),
    ("parallelism_config.parallelism_config_dp_replicate_size", 2), ("parallelism_config.parallelism_config_cp_backend", "deepspeed"),
    ("parallelism_config.parallelism_config_cp_comm_strategy", "alltoall"), ("parallelism_config.parallelism_config_cp_comm_strategy", "ring"),
    ("parallelism_config.parallelism_config_sp_attn_implementation", "eager"), ("parallelism_config.parallelism_config_sp_seq_length_is_variable", F),
    ("parallelism_config.parallelism_config_sp_seq_length", 1024), ("mpirun_config.mpirun_ccl", "0"), ("fp8_config.backend", "TE"),
    ("megatron_lm_config.megatron_lm_tp_degree", 4), ("main_process_port", None), ("num_machines", None), ("mixed_precision", None), ("gpu_ids", None),
    ("compute_environment", "AMAZON_SAGEMAKER"), ("tpu_use_cluster", T), ("downcast_bf16", F), ("fsdp_config", {}), ("deepspeed_config", {}),
]  # fmt: skip
#: keys of other tools, releases and places
FOREIGN: list[tuple[str, Any]] = [
    ("gradient_accumulation_steps", 4), ("zero_stage", 3), ("deepspeed", "z3.json"), ("deepspeed_config_file", "z3.json"), ("fsdp", "full_shard"),
    ("fsdp_version", 2), ("nproc_per_node", 8), ("num_gpus", 8), ("bf16", T), ("num_cpu_threads_per_process", 4), ("multi_gpu", T),
    ("main_process_address", "10.0.0.1"), ("per_device_train_batch_size", 2), ("num_nodes", 2), ("dynamo_mode", "default"), ("log_level", "info"),
    ("deepspeed_config.train_batch_size", 32), ("deepspeed_config.train_micro_batch_size_per_gpu", 2), ("deepspeed_config.stage", 3),
    ("deepspeed_config.zero_optimization", {"stage": 3}), ("deepspeed_config.overlap_comm", T), ("deepspeed_config.offload_optimizer", {"device": "cpu"}),
    ("deepspeed_config.stage3_gather_16bit_weights_on_model_save", T), ("deepspeed_config.offload_optimizer_nvme_path", "/nvme"),
    ("deepspeed_config.zero_save_16bit_model", T), ("deepspeed_config.max_grad_norm", 1.0), ("deepspeed_config.offload_device", "cpu"),
    ("deepspeed_config.bf16", {"enabled": T}), ("fsdp_config.cpu_offload", T), ("fsdp_config.fsdp_cpu_offload", T), ("fsdp_config.mixed_precision", "bf16"),
    ("fsdp_config.limit_all_gathers", T), ("fsdp_config.fsdp_backward_prefetch_policy", "BACKWARD_PRE"), ("fsdp_config.fsdp_wrap_policy", "TRANSFORMER_BASED_WRAP"),
    ("fsdp_config.gradient_checkpointing", T), ("fsdp_config.fsdp_transformer_cls_names_to_wrap", "LlamaDecoderLayer"), ("fsdp_config.fsdp_mixed_precision", "bf16"),
    ("fsdp_config.fsdp_full_shard", T), ("parallelism_config.tp_size", 2), ("parallelism_config.parallelism_config_pp_size", 2),
    ("parallelism_config.parallelism_config_dp_size", 2), ("parallelism_config.parallelism_config_ep_size", 2), ("dynamo_config.backend", "INDUCTOR"),
    ("dynamo_config.dynamo_fullgraph", T), ("megatron_lm_config.tensor_model_parallel_size", 2),
]  # fmt: skip
CHOICES = frozenset(
    ["distributed_type", "mixed_precision", "compute_environment", "deepspeed_config.offload_optimizer_device", "deepspeed_config.offload_param_device",
     "deepspeed_config.deepspeed_multinode_launcher", "fsdp_config.fsdp_auto_wrap_policy", "fsdp_config.fsdp_sharding_strategy", "fsdp_config.fsdp_backward_prefetch",
     "fsdp_config.fsdp_state_dict_type", "dynamo_config.dynamo_backend", "dynamo_config.dynamo_mode", "rdzv_backend"]
)  # fmt: skip
#: what the launcher lets through and the Accelerator, torch or DeepSpeed then refuses or drops (docs/coverage/accelerate.yaml)
LATER = frozenset(["AC062", "AC063"])


def meant(key: str, value: Any) -> bool:
    """Values under the engines' blocks go through a variable: a quoted number or boolean is the number or boolean."""
    if key.startswith(("deepspeed_config.", "fsdp_config.", "megatron_lm_config.", "dynamo_config.")) and isinstance(value, str):
        return value in ("true", "false") or value.replace(".", "", 1).isdigit()
    return False


MAKERS = Makers("accelerate", base, ADDED, FOREIGN, CHOICES, meant)


def text_of(config: Config) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())


ZERO = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1}
ACCELERATE = Framework(
    name="Accelerate",
    tool="accelerate",
    release=TARGETS["accelerate"],
    worker=Path(__file__).with_name("accelerate_worker.py"),
    input_format="accelerate",
    file="config.yaml",
    targets=TARGETS,
    facts={"gpus_per_node": 8},
    mutants=MAKERS.mutants,
    text_of=text_of,
    later=LATER,
    linked={f"z{stage}.json": json.dumps({**ZERO, "zero_optimization": {"stage": stage}}) for stage in (2, 3)},
    about=(
        "# dslint beside Accelerate and the Trainer's FSDP",
        "",
        "## The launcher's file",
        "",
        "Self-made files with one mistake each, judged by Accelerate 1.15.0 itself: `_validate_launch_command`, the variables that it prepares, and",
        "the plugins and `ParallelismConfig` that are built from them, on a pretended machine of 8 GPUs. Made by `python -m tools.differential.accelerate`.",
        "",
        "- *refused*: Accelerate refuses and dslint reports an error. *accepted*: Accelerate accepts and dslint reports none, save what the",
        "  `Accelerator`, torch or DeepSpeed then refuse (LATER in the tool).",
        "- *said*: of the unknown keys, values of a wrong type, unknown choices and numbers out of range that Accelerate keeps or drops without a",
        "  word, those of which dslint says something.",
        "- *environment*: the machine is to blame; not counted.",
    ),
)


if __name__ == "__main__":
    sys.exit(main(ACCELERATE, FSDP_CONFIG))
