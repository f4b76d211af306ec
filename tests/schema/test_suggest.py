"""Did you mean: found where it is plain, silent where it is not."""

from __future__ import annotations

import pytest

from dslint.schema.lookup import Schema
from dslint.schema.suggest import edit_distance, suggest
from dslint.schema.where import belongs

DEEPSPEED = Schema.load("deepspeed").at(Schema.load("deepspeed").newest)


@pytest.mark.parametrize(
    ("block", "name", "meant"),
    [
        ("config", "zero_optimisation", "zero_optimization"),
        ("config", "optimzer", "optimizer"),
        ("config", "gradient_cliping", "gradient_clipping"),
        ("config", "gradientClipping", "gradient_clipping"),
        ("config", "gradient-accumulation-steps", "gradient_accumulation_steps"),
        ("config", "micro_batch_size_per_gpu", "train_micro_batch_size_per_gpu"),
        ("config", "bp16", "bf16"),
        ("config", "FP16", "fp16"),
        ("config", "lr_scheduler", "scheduler"),
        ("config", "max_grad_norm", "gradient_clipping"),
        ("config", "train_batch", "train_batch_size"),
        ("config", "gradient_accumulation", "gradient_accumulation_steps"),
        ("zero_optimization", "comm_overlap", "overlap_comm"),
        ("zero_optimization", "stage3_prefetch_buket_size", "stage3_prefetch_bucket_size"),
        ("zero_optimization", "stage3_param_persitance_threshold", "stage3_param_persistence_threshold"),
        ("zero_optimization.offload_optimizer", "pinned_memory", "pin_memory"),
        ("zero_optimization.offload_optimizer", "nvme-path", "nvme_path"),
        ("scheduler.params.WarmupLR", "warmup_steps", "warmup_num_steps"),
        ("optimizer.params.adam", "weight-decay", "weight_decay"),
        ("fp16", "loss_scale_windows", "loss_scale_window"),
        ("config", "grad_accumulation_steps", "gradient_accumulation_steps"),
        ("config", "zero_opt", "zero_optimization"),
        ("config", "gradient_clip", "gradient_clipping"),
        ("config", "train_batch_size_per_gpu", "train_micro_batch_size_per_gpu"),
        ("zero_optimization", "stage3_max_live_params", "stage3_max_live_parameters"),
        ("zero_optimization", "contiguous_grads", "contiguous_gradients"),
        ("zero_optimization", "offload_params", "offload_param"),
        ("zero_optimization", "gather_16bit_weights_on_save", "stage3_gather_16bit_weights_on_model_save"),
        ("zero_optimization.offload_param", "pin_mem", "pin_memory"),
        ("optimizer.params.adam", "learning_rate", "lr"),
        ("optimizer.params.adam", "epsilon", "eps"),
        ("scheduler.params.WarmupLR", "warmup_step", "warmup_num_steps"),
        ("autotuning", "end_step", "end_profile_step"),
    ],
)
def test_what_was_plainly_meant(block: str, name: str, meant: str) -> None:
    keys = DEEPSPEED.block(block).keys
    assert suggest(name, keys) == meant


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ("config", "logging"),
        ("config", "comment"),
        ("config", "num_gpus"),
        ("config", "gradient_checkpointing"),
        ("config", "model"),
        ("config", "seed"),
        ("config", "steps"),
        ("config", "log"),
        ("config", "max_seq_len"),
        ("config", "transformer_engine"),
        ("config", "dataset"),
        ("config", "wall"),
        ("zero_optimization", "tcp_backend"),
        ("fp16", "opt_level"),
        ("fp16", "fp16_scale_tolerance"),
        ("zero_optimization.offload_param", "fast_init"),
        # other words, other numbers, or two as near
        ("fp16", "max_loss_scale"),
        ("fp16", "master_weights"),
        ("optimizer", "dtype"),
        ("optimizer.params.adam", "beta1"),
        ("tensor_parallel", "autoep_size"),
        ("tensor_parallel", "type"),
        ("autotuning", "train_batch_size"),
        ("autotuning", "profile_step"),
        ("autotuning", "tp_size"),
        ("zero_optimization", "pin_memory"),
        ("zero_optimization", "bucket_size"),
        ("scheduler.params.WarmupLR", "warmup_lr"),
        ("config", "fp8"),
        ("config", "bf32"),
        ("config", "mixed_precision"),
        ("config", "lr_scheduler_type"),
        ("config", "min_batch_size"),
    ],
)
def test_what_resembles_nothing(block: str, name: str) -> None:
    assert suggest(name, DEEPSPEED.block(block).keys) is None


@pytest.mark.parametrize(
    ("name", "written", "value", "places"),
    [
        ("reduce_bucket_size", "reduce_bucket_size", 1, ("zero_optimization.reduce_bucket_size",)),
        ("aio", "zero_optimization.aio", {}, ("aio",)),
        ("stage", "stage", 1, ()),
        ("enabled", "enabled", True, ()),
        ("gradient_clipping", "optimizer.params.gradient_clipping", 1.0, ("gradient_clipping",)),
        ("nonsense", "nonsense", 1, ()),
        # what scripts and model configs write for themselves
        ("hidden_size", "hidden_size", 64, ()),
        ("model_type", "model_type", "llama", ()),
        ("num_workers", "num_workers", 4, ()),
        ("max_grad_norm", "fp16.max_grad_norm", 1.0, ()),
        # no plain value where a block is read; what replaced a deprecated key
        ("pipeline", "checkpoint.parallel_write.pipeline", True, ()),
        ("cpu_offload", "cpu_offload", True, ("zero_optimization.offload_optimizer",)),
    ],
)
def test_where_a_key_belongs(name: str, written: str, value: object, places: tuple[str, ...]) -> None:
    assert tuple(home.path for home in belongs(DEEPSPEED, name, written, value)) == places


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xyz", 3), ("stage", "stages", 1), ("abcdef", "uvwxyz", 4)],
)
def test_edit_distance_is_bounded(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other, 3) == distance
