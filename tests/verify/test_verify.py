"""Real runs through the installed DeepSpeed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dslint.verify import jail, model_size
from dslint.verify.outcome import Outcome
from dslint.verify.pool import Pool
from dslint.verify.runner import verify

Proved = Callable[..., Outcome]
BATCH = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "train_batch_size": 256}
ADAMW = {"type": "AdamW", "params": {"lr": 1e-4}}
PRECISIONS: dict[str, dict[str, Any]] = {"float32": {}, "bfloat16": {"bf16": {"enabled": True}}, "float16": {"fp16": {"enabled": True}}}


def config(stage: int = 2, **more: Any) -> dict[str, Any]:
    return {**BATCH, "optimizer": ADAMW, "zero_optimization": {"stage": stage}, **more}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_each_stage_and_precision_trains_as_declared(proved: Proved, stage: int, precision: str) -> None:
    outcome = proved(config(stage, **PRECISIONS[precision]))
    assert outcome.status == "pass", outcome.render()
    found = {row.what: row.found for row in outcome.table}
    assert (found["ZeRO stage"], found["precision"], found["data-parallel ranks"]) == (str(stage), precision, "2")
    assert outcome.losses[-1] < outcome.losses[0]
    whole, half = f"{model_size.PARAMETERS:,}", f"{model_size.PARAMETERS // 2:,}"
    if stage:
        assert found["parameters on a rank"] == (half if stage == 3 else whole)
        assert found["optimizer part on a rank"] == half


def test_optimizer_bytes_shrink_with_the_stage(proved: Proved) -> None:
    held = [proved(config(stage, bf16={"enabled": True})).bytes_per_rank for stage in (0, 2)]
    assert len(held[0]) == len(held[1]) == 2
    # master weights and two states in 32 bits, of all parameters or of half
    assert held[0][0]["optimizer"] == pytest.approx(12 * model_size.PARAMETERS, rel=0.01)
    assert held[1][0]["optimizer"] == pytest.approx(6 * model_size.PARAMETERS, rel=0.01)


def test_what_was_changed_is_named(proved: Proved) -> None:
    outcome = proved(config(2, zero_optimization={"stage": 2, "reduce_bucket_size": 5e8}, fp16={"enabled": True}))
    assert "train_batch_size 256 → 8" in outcome.adjustments
    assert f"zero_optimization.reduce_bucket_size 5e+08 → {model_size.PARAMETERS}" in outcome.adjustments
    assert [substitution.what for substitution in outcome.substitutions] == ["fp16 on the CPU", "the fused_adam kernel in plain torch"]


def test_nothing_is_replaced_without_need(proved: Proved) -> None:
    outcome = proved({"train_batch_size": 8, "zero_optimization": {"stage": 1}})
    assert outcome.status == "pass"
    assert outcome.substitutions == ()


def test_native_auto_trains_something_else_than_declared(proved: Proved) -> None:
    outcome = proved(config(bf16={"enabled": "auto"}), context="native")
    assert outcome.status == "fail"
    assert [(row.what, row.declared, row.found) for row in outcome.table if not row.same] == [("precision", "bfloat16", "float32")]


def test_hf_autos_are_filled(proved: Proved) -> None:
    auto = "auto"
    outcome = proved(
        {
            "train_batch_size": auto,
            "train_micro_batch_size_per_gpu": auto,
            "gradient_accumulation_steps": auto,
            "gradient_clipping": auto,
            "bf16": {"enabled": auto},
            "optimizer": {"type": "AdamW", "params": {"lr": auto, "betas": auto, "eps": auto, "weight_decay": auto}},
            "scheduler": {
                "type": "WarmupDecayLR",
                "params": {"total_num_steps": auto, "warmup_min_lr": auto, "warmup_max_lr": auto, "warmup_num_steps": auto},
            },
            "zero_optimization": {
                "stage": 3,
                "reduce_bucket_size": auto,
                "stage3_prefetch_bucket_size": auto,
                "stage3_param_persistence_threshold": auto,
                "stage3_gather_16bit_weights_on_model_save": auto,
            },
        }
    )
    assert outcome.status == "pass", outcome.render()
    assert outcome.context == "hf"
    assert "auto: optimizer.params.lr = 5e-05" in outcome.adjustments


@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        ({"optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "max_grad_norm": 1.0}}}, "ValueError", "'max_grad_norm' is not supported"),
        ({"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}}, "AssertionError", "OneBitAdam is not a supported"),
        (
            {"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 100, "warmup_min_lr": 0}}},
            "TypeError",
            "unexpected keyword argument 'warmup_min_lr'",
        ),
        ({"train_batch_size": 250}, "AssertionError", "250 != 4 * 8"),
        ({"zero_optimization": {"stgae": 3}}, "ValidationError", "stgae"),
    ],
)
def test_what_the_engine_refuses_fails_with_its_own_words(proved: Proved, more: dict[str, Any], kind: str, words: str) -> None:
    outcome = proved(config(**more))
    assert outcome.status == "fail"
    assert outcome.error is not None
    assert outcome.error.type == kind
    assert words in outcome.error.message
    assert outcome.error.where.startswith(("deepspeed/", "pydantic/"))


def test_batch_is_judged_for_the_world_size_it_is_meant_for(proved: Proved) -> None:
    right, wrong = (proved(config(), world_size=world_size) for world_size in (8, 4))
    assert (right.status, wrong.status) == ("pass", "fail")
    assert "256 != 4 * 8 * 4" in str(wrong.error)


@pytest.mark.parametrize(
    "zero",
    [
        {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": True}},
        {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu", "pin_memory": True}},
        {"stage": 3, "zero_hpz_partition_size": 8},
    ],
)
def test_offload_and_partitions_run(proved: Proved, zero: dict[str, Any]) -> None:
    outcome = proved(config(zero_optimization=zero))
    assert outcome.status == "pass", outcome.render()


def test_tensor_parallelism_runs_on_four_ranks(proved: Proved) -> None:
    outcome = proved(config(1, tensor_parallel={"autotp_size": 4}))
    assert (outcome.status, outcome.ranks) == ("pass", 4), outcome.render()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/nowhere"}}}, "NVMe"),
        ({"zero_optimization": {"stage": 3, "zero_quantized_weights": True}}, "quantisation"),
        ({"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 1e-6, "warmup_num_steps": 10_000}}}, "too small"),
        ({"optimizer": {"type": "AdamW", "params": {"lr": 10.0}}}, "too large"),
    ],
)
def test_what_this_machine_cannot_tell_is_unverified(proved: Proved, more: dict[str, Any], reason: str) -> None:
    outcome = proved(config(**more))
    assert outcome.status == "unverified", outcome.render()
    assert reason in outcome.reason


def test_an_unsettled_or_impossible_loss_scale_is_said(proved: Proved) -> None:
    settles = proved(config(fp16={"enabled": True, "initial_scale_power": 32}))
    assert settles.status == "pass"
    assert settles.skipped_steps
    never = proved(config(fp16={"enabled": True, "loss_scale": 1e12}))
    assert never.status == "fail"
    assert "overflows" in never.reason


def test_syntax_is_judged_by_who_reads_the_file(proved: Proved) -> None:
    text = '{"train_batch_size": 8, "train_batch_size": 8} # a comment'
    twice = proved({"train_batch_size": 8}, text=text, context="native")
    assert twice.status == "fail"
    assert "Duplicate" in str(twice.error)
    comment = proved({"train_batch_size": 8, "gradient_clipping": "auto"}, text='{"train_batch_size": 8 /* eight */}', context="hf")
    assert comment.error is not None
    assert comment.error.type == "JSONDecodeError"


def test_files_stay_in_the_scratch_directory(proved: Proved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir(tempfile.gettempdir()))
    outputs = {
        "csv_monitor": {"enabled": True, "output_path": str(tmp_path / "csv")},
        "flops_profiler": {"enabled": True, "profile_step": 1, "output_file": str(tmp_path / "flops.txt")},
        "wandb": {"enabled": True},
    }
    outcome = proved(config(**outputs))
    assert outcome.status == "pass", outcome.render()
    assert os.listdir(tmp_path) == []
    assert {name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("job-")} == set()


def test_a_timeout_leaves_nothing_behind() -> None:
    with Pool() as pool:
        pool.start(time.monotonic() + 120)
        assert pool._process is not None
        server, scratch = pool._process.pid, pool._scratch
        outcome = verify(config(), pool=pool, timeout=0.05)
        assert outcome.status == "unverified"
        assert "time limit" in outcome.reason
        assert jail.descendants(server) == []
        assert verify({"train_batch_size": 8}, pool=pool, timeout=240).status == "pass"
    assert not os.path.exists(scratch)
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_the_death_of_the_server_ends_its_ranks() -> None:
    with Pool() as pool:
        pool.start(time.monotonic() + 120)
        assert pool._process is not None
        server = pool._process.pid
        outcomes: list[Outcome] = []
        thread = threading.Thread(target=lambda: outcomes.append(verify(config(3), pool=pool, timeout=240)))
        thread.start()
        below: list[int] = []
        limit = time.monotonic() + 60
        while len(below) < 3 and time.monotonic() < limit:
            below = jail.descendants(server)
        assert len(below) >= 3
        os.kill(server, signal.SIGKILL)
        thread.join(60)
        assert outcomes[0].status == "unverified"
        assert "ended" in outcomes[0].reason
        limit = time.monotonic() + 30
        while not all(map(_gone, below)) and time.monotonic() < limit:
            time.sleep(0.05)
        assert all(map(_gone, below))


def test_an_interrupt_ends_everything(tmp_path: Path, pool: Pool) -> None:
    file = tmp_path / "ds_config.json"
    file.write_text(json.dumps(config(3)))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for wait in (2.0, 8.0):
        command = subprocess.Popen(
            [sys.executable, "-c", "from dslint.cli import main; main()", "verify", str(file)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        time.sleep(wait)
        below = jail.descendants(command.pid)
        command.send_signal(signal.SIGINT)
        said = command.communicate(timeout=20)[1]
        assert command.returncode in (130, 0), said.decode()  # 0: it was quicker
        assert all(map(_gone, below))
        assert os.listdir(tmp_path) == ["ds_config.json"]


def _gone(process: int) -> bool:
    """Has it ended, even where nobody has asked for its exit code yet?"""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[-1].split()[0] == "Z"
    except OSError:
        return True


def test_twenty_runs_in_a_row_do_not_hang(proved: Proved) -> None:
    statuses = [proved({"train_batch_size": 8, "zero_optimization": {"stage": number % 4}}, timeout=60).status for number in range(20)]
    assert statuses == ["pass"] * 20


def test_ranks_have_no_network() -> None:
    """The jail, in a child of this test: loopback carries, nothing else does."""
    import socket

    for namespaces in (True, False):
        if namespaces and not jail.namespaces_work():
            continue
        child = os.fork()
        if child == 0:
            code = 1
            try:
                jail.no_network(namespaces)
                with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=2):
                    pass
                try:
                    socket.create_connection(("192.0.2.1", 80), timeout=2).close()
                except OSError:
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_outcome_is_json_and_text(proved: Proved) -> None:
    outcome = proved(config(), name="ds.json")
    plain = json.loads(json.dumps(outcome.to_json()))
    assert (plain["file"], plain["status"], plain["ranks"]) == ("ds.json", "pass", 2)
    assert {"torch", "deepspeed", "python"} <= plain["versions"].keys()
    assert outcome.render().startswith("ds.json: PASS")
    assert "only a GPU shows" in outcome.render()


def test_without_the_engines_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from dslint.verify import runner

    monkeypatch.setattr(runner, "find_spec", lambda name: None)
    outcome = verify({"train_batch_size": 8})
    assert outcome.status == "unverified"
    assert "dslint-train[verify]" in outcome.reason
    assert (outcome.exit_code(strict=False), outcome.exit_code(strict=True)) == (0, 1)
