"""DeepSpeed 0.19.8's keys by block with legal values, read by hand from its sources; independent of dslint's schema on purpose.

A value that holds an object is the name of another block: ``Block("fp16")``.
"""

from __future__ import annotations

from typing import Any

T, F = True, False
BOOL = [T, F]

#: block → key → values that DeepSpeed works with. ``""`` is the top level.
KEYS: dict[str, dict[str, list[Any]]] = {
    "": {
        "train_batch_size": [16, 32, 64],
        "train_micro_batch_size_per_gpu": [1, 2, 4],
        "gradient_accumulation_steps": [1, 2, 4],
        "managed_gradient_accumulation": [T],
        "steps_per_print": [10, 100, 2000],
        "dump_state": [F],
        "disable_python_gc": BOOL,
        "disable_allgather": [F],
        "communication_data_type": ["fp32", "bf16", "fp16"],
        "seq_parallel_communication_data_type": ["fp32", "bf16"],
        "prescale_gradients": [F],
        "gradient_predivide_factor": [1.0],
        "gradient_allreduce_op": ["mean"],
        "gradient_clipping": [1.0, 0.5, 0.0],
        "zero_allow_untested_optimizer": BOOL,
        "zero_force_ds_cpu_optimizer": BOOL,
        "wall_clock_breakdown": BOOL,
        "memory_breakdown": BOOL,
        "dataloader_drop_last": BOOL,
        "use_data_before_expert_parallelism": [F],
        "vocabulary_size": [32000],
        "log_level": ["info", "warning"],
    },
    "optimizer": {"type": ["AdamW"], "legacy_fusion": BOOL},
    "scheduler": {"type": ["WarmupLR"]},
    "fp16": {
        "enabled": [T],
        "auto_cast": BOOL,
        "loss_scale": [0, 128.0],
        "initial_scale_power": [8, 12, 16],
        "loss_scale_window": [100, 1000],
        "hysteresis": [1, 2],
        "consecutive_hysteresis": BOOL,
        "min_loss_scale": [1],
    },
    "bf16": {"enabled": [T], "immediate_grad_update": BOOL, "check_grad_overflow": BOOL},
    "torch_autocast": {"enabled": [T], "dtype": ["bfloat16", "bf16"], "lower_precision_safe_modules": [["torch.nn.Linear"]]},
    "zero_optimization": {
        "stage": [0, 1, 2, 3],
        "contiguous_gradients": BOOL,
        "reduce_scatter": BOOL,
        "reduce_bucket_size": [500_000, 5_000_000, 500_000_000],
        "use_multi_rank_bucket_allreduce": BOOL,
        "allgather_partitions": BOOL,
        "allgather_bucket_size": [500_000, 200_000_000],
        "overlap_comm": BOOL,
        "load_from_fp32_weights": BOOL,
        "elastic_checkpoint": [F],
        "sub_group_size": [1_000_000, 1_000_000_000],
        "ignore_unused_parameters": BOOL,
        "round_robin_gradients": BOOL,
        "parameter_alignment": BOOL,
        "memory_efficient_linear": BOOL,
        "override_module_apply": BOOL,
        "log_trace_cache_warnings": BOOL,
        "enable_sanity_checks": [F],
    },
    "zero_optimization.offload_optimizer": {
        "device": ["cpu"],
        "pin_memory": [F],
        "buffer_count": [4, 5],
        "pipeline_read": [F],
        "pipeline_write": [F],
        "fast_init": [F],
        "cpuadam_cores_perc": [0.8],
    },
    "zero_optimization.offload_param": {
        "device": ["cpu"],
        "pin_memory": [F],
        "buffer_count": [5],
        "buffer_size": [100_000_000],
        "max_in_cpu": [1_000_000_000],
    },
    "zero_optimization.leaf_module": {
        "classes": [["transformers.models.mixtral.modeling_mixtral.MixtralSparseMoeBlock"]],
        "names": [["experts"]],
        "name_suffixes": [["mlp"]],
    },
    "activation_checkpointing": {
        "partition_activations": [F],
        "number_checkpoints": [4, 24],
        "contiguous_memory_optimization": [F],
        "cpu_checkpointing": BOOL,
        "profile": [F],
        "synchronize_checkpoint_boundary": [F],
    },
    "aio": {
        "block_size": [1048576, 262144],
        "queue_depth": [8, 32],
        "intra_op_parallelism": [1],
        "single_submit": [F],
        "overlap_events": [T],
        "use_gds": [F],
    },
    "flops_profiler": {
        "enabled": [F],
        "recompute_fwd_factor": [0.0],
        "profile_step": [1, 5],
        "module_depth": [-1],
        "top_modules": [1, 3],
        "detailed": BOOL,
        "output_file": ["flops.txt"],
    },
    "comms_logger": {"enabled": [F], "verbose": [F], "prof_all": BOOL, "debug": [F], "prof_ops": [["all_reduce"], []]},
    "tensorboard": {"enabled": [F], "output_path": ["logs/"], "job_name": ["run"]},
    "wandb": {"enabled": [F], "group": ["a"], "team": ["b"], "project": ["c"]},
    "csv_monitor": {"enabled": BOOL, "output_path": ["logs/"], "job_name": ["run"]},
    "comet": {
        "enabled": [F],
        "samples_log_interval": [100],
        "project": ["p"],
        "workspace": ["w"],
        "api_key": ["k"],
        "experiment_name": ["e"],
        "experiment_key": ["abcdefghijklmnopqrstuvwxyz0123456789"],
        "online": BOOL,
        "mode": ["get_or_create"],
    },
    "data_types": {"grad_accum_dtype": ["fp32"], "keep_in_fp32_modules": ["auto", ["norm"]]},
    "checkpoint": {
        "tag_validation": ["Ignore", "Warn", "Fail", "WARN"],
        "load_universal": BOOL,
        "use_node_local_storage": BOOL,
        "checkpoint_serialization": BOOL,
    },
    "checkpoint.parallel_write": {"pipeline_stage": BOOL},
    "pipeline": {
        "stages": ["auto"],
        "partition": ["best", "parameters"],
        "seed_layers": BOOL,
        "activation_checkpoint_interval": [0, 1],
        "pipe_partitioned": BOOL,
        "grad_partitioned": BOOL,
    },
    "tensor_parallel": {"autotp_size": [0], "tp_overlap_comm": [F], "keep_module_on_host": BOOL, "vocab_parallel_ce_backend": ["torch"]},
    "tensor_parallel.tp": {"tp_size": [1], "tp_grain_size": [1, 64]},
    "compile": {
        "deepcompile": [F],
        "free_activation": BOOL,
        "free_activation_threshold": [10_485_760],
        "offload_activation": [F],
        "offload_opt_states": [F],
        "double_buffer": BOOL,
        "symmetric_memory": [F],
        "debug_log": [F],
        "offload_parameters": [F],
        "sync_before_reduce": BOOL,
        "sync_after_reduce": BOOL,
        "keep_int_input_tensors": BOOL,
        "passes": [["z1"], ["z3"]],
    },
    "hybrid_engine": {
        "enabled": [F],
        "max_out_tokens": [512, 256],
        "inference_tp_size": [1],
        "release_inference_cache": BOOL,
        "pin_parameters": BOOL,
        "tp_gather_partition_size": [8],
    },
    "data_efficiency": {"enabled": [F], "seed": [1234]},
    "data_efficiency.data_sampling": {"enabled": [F], "num_epochs": [1, 1000], "num_workers": [0], "pin_memory": [F]},
    "data_efficiency.data_sampling.curriculum_learning": {"enabled": [F]},
    "data_efficiency.data_routing": {"enabled": [F]},
    "autotuning": {
        "enabled": [F],
        "fast": BOOL,
        "metric": ["throughput", "latency", "flops"],
        "results_dir": ["results"],
        "exps_dir": ["exps"],
        "overwrite": BOOL,
        "start_profile_step": [3],
        "end_profile_step": [5],
        "tuner_type": ["gridsearch", "random", "model_based"],
        "tuner_early_stopping": [5],
        "tuner_num_trials": [50],
        "mp_size": [1],
        "num_tuning_micro_batch_sizes": [3],
    },
    "timers.throughput": {"enabled": BOOL, "synchronized": BOOL},
    "weight_quantization": {"enabled": BOOL, "num_bits": [8], "q_type": ["symmetric"], "q_groups": [1]},
}

STAGE3: dict[str, list[Any]] = {
    "stage3_prefetch_bucket_size": [50_000, 50_000_000],
    "stage3_param_persistence_threshold": [10_000, 100_000],
    "stage3_model_persistence_threshold": [1_000_000],
    "stage3_max_live_parameters": [1_000_000_000],
    "stage3_max_reuse_distance": [1_000_000_000],
    "stage3_gather_16bit_weights_on_model_save": BOOL,
    "stage3_module_granularity_threshold": [0],
    "stage3_use_all_reduce_for_fetch_params": BOOL,
    "stage3_allgather_sequential": BOOL,
    "zero_hpz_partition_size": [1],
    "zero_quantized_weights": [F],
    "zero_quantized_gradients": [F],
    "zero_quantized_nontrainable_weights": [F],
    "pipeline_loading_checkpoint": [F],
}

ZENFLOW: dict[str, list[Any]] = {
    "topk_ratio": [0.1, 0.2],
    "select_strategy": ["auto", "step"],
    "select_interval": ["auto", 4],
    "update_interval": ["auto", 4],
    "overlap_step": [F],
    "offload": [F],
    "auto_ratio": [0.99],
    "full_warm_up_rounds": [0, 2],
    "pt_reserved_cores_perc": [0.5],
}

#: further names that each block knows: other spellings, and keys that the bases leave out
ALSO: dict[str, set[str]] = {
    "": {
        "bfloat16",
        "expert_parallel",
        "datastates_ckpt",
        "sequence_parallel_size",
        "data_parallel_size",
        "zero_optimization",
        "timers",
    },
    "optimizer": {"params"},
    "scheduler": {"params"},
    "fp16": {"fp16_master_weights_and_grads"},
    "bf16": {"bf16_master_weights_and_grads", "bf16_optimizer_states"},
    "zero_optimization": {
        "cpu_offload",
        "cpu_offload_param",
        "cpu_offload_use_pin_memory",
        "stage3_gather_fp16_weights_on_model_save",
        "legacy_stage1",
        "compute_grad_norm",
        "save_muon_momentum_buffer_in_memory",
        "zenflow",
        *STAGE3,
        *(name.removeprefix("stage3_") for name in STAGE3),
    },
    "zero_optimization.offload_optimizer": {"nvme_path", "ratio", "super_offload"},
    "zero_optimization.offload_param": {"nvme_path"},
    "zero_optimization.zenflow": {"steps_per_epoch"},
    "data_types": {"param_dtype", "buffer_dtype"},
    "checkpoint": {"writer"},
    "tensor_parallel": {
        "dtype",
        "vocab_parallel_lm_head",
        "tensor_parallel",
        "injection_policy_tuple",
        "partition_config",
        "preset_model",
        "replace_with_kernel_inject",
        "kernel_inject",
    },
    "tensor_parallel.tp": {"mpu", "tp_group"},
    "compile": {
        "autoep_non_moe",
        "offload_activation_pin_memory",
        "sync_before_allgather",
        "sync_after_allgather",
        "keep_all_input_tensors",
    },
    "hybrid_engine": {"enable_cuda_graph"},
    "data_efficiency.data_sampling": {"dynamic_batching"},
    "data_efficiency.data_sampling.curriculum_learning": {"curriculum_metrics", "data_cluster_path"},
    "data_efficiency.data_routing": {"random_ltd"},
    "autotuning": {
        "metric_path",
        "arg_mappings",
        "model_info",
        "model_info_path",
        "max_train_batch_size",
        "min_train_batch_size",
        "max_train_micro_batch_size_per_gpu",
        "min_train_micro_batch_size_per_gpu",
    },
    "weight_quantization": {"quantized_initialization", "post_init_quant"},
}

KEYS["zero_optimization.zenflow"] = ZENFLOW

ADAM: dict[str, list[Any]] = {
    "lr": [1e-3, 3e-4, 0.01],
    "betas": [[0.9, 0.999], [0.9, 0.95]],
    "eps": [1e-8, 1e-6],
    "weight_decay": [0.0, 0.01, 0.1],
}

#: optimizer type → its params; ``None`` is a config without an optimizer section
OPTIMIZERS: dict[str | None, dict[str, list[Any]]] = {
    None: {},
    "Adam": ADAM | {"torch_adam": BOOL, "adam_w_mode": BOOL, "bias_correction": [T]},
    "AdamW": ADAM | {"torch_adam": BOOL, "bias_correction": [T]},
    "adamw": ADAM,
    "Lamb": ADAM | {"max_coeff": [10.0], "min_coeff": [0.01], "bias_correction": [T]},
    "Adagrad": {"lr": [1e-2], "eps": [1e-10], "weight_decay": [0.0, 0.01]},
    "Lion": {"lr": [1e-4], "betas": [[0.9, 0.99]], "weight_decay": [0.0, 0.1]},
    "Muon": {
        "lr": [1e-3],
        "muon_lr": [0.02],
        "adam_lr": [1e-3],
        "momentum": [0.95],
        "weight_decay": [0.0, 0.01],
        "betas": [[0.9, 0.95]],
        "eps": [1e-8],
    },
    "SGD": {"lr": [0.01], "momentum": [0.9], "weight_decay": [0.0], "nesterov": [T], "dampening": [0]},
    "RMSprop": {"lr": [0.01], "momentum": [0.0, 0.9], "alpha": [0.99], "eps": [1e-8], "weight_decay": [0.0]},
}

UNTESTED = ("SGD", "RMSprop", "Lamb")
OFFLOADED = ("Adam", "AdamW", "adamw", "Adagrad", "Lion", None)

WARMUP: dict[str, list[Any]] = {
    "warmup_min_lr": [0.0, 1e-6],
    "warmup_max_lr": [1e-3, 3e-4],
    "warmup_num_steps": [10, 100],
    "warmup_type": ["log", "linear"],
}

#: scheduler type → (required params, optional params); DeepSpeed also takes torch's, such as the last one
SCHEDULERS: dict[str | None, tuple[dict[str, list[Any]], dict[str, list[Any]]]] = {
    None: ({}, {}),
    "WarmupLR": ({}, WARMUP),
    "WarmupDecayLR": ({"total_num_steps": [1000]}, WARMUP),
    "WarmupCosineLR": (
        {"total_num_steps": [1000]},
        {"warmup_min_ratio": [0.0, 0.1], "cos_min_ratio": [0.001], "warmup_num_steps": [10], "warmup_type": ["log", "linear"]},
    ),
    "LRRangeTest": (
        {},
        {
            "lr_range_test_min_lr": [1e-4],
            "lr_range_test_step_size": [200],
            "lr_range_test_step_rate": [5.0],
            "lr_range_test_staircase": BOOL,
        },
    ),
    "OneCycle": (
        {"cycle_min_lr": [1e-4], "cycle_max_lr": [1e-3]},
        {
            "decay_lr_rate": [0.0, 0.001],
            "cycle_first_step_size": [100],
            "cycle_second_step_size": [100],
            "cycle_first_stair_count": [5],
            "decay_step_size": [10],
            "cycle_momentum": BOOL,
            "cycle_min_mom": [0.8],
            "cycle_max_mom": [0.9],
        },
    ),
    "StepLR": ({"step_size": [100]}, {"gamma": [0.5]}),
}


def known(block: str) -> set[str]:
    """Every key that DeepSpeed knows in a block, sub-blocks included."""
    prefix = f"{block}." if block else ""
    below = {name.removeprefix(prefix).split(".")[0] for name in KEYS if name.startswith(prefix) and name != block}
    return set(KEYS.get(block, ())) | ALSO.get(block, set()) | (below - {""})
