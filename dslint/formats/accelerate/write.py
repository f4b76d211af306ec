"""The Plan as the file of ``accelerate launch``, in its DeepSpeed or its FSDP flavour; what it has no words for goes into the trainer's file beside it."""

from __future__ import annotations

from dslint.convert.draft import Draft
from dslint.convert.engines import MASTER_WEIGHTS, SHARDING, STATE_DICTS, WRAPPING, fsdp_sharding, lose_zero, sharded_parameters
from dslint.formats.accelerate import PARALLEL
from dslint.formats.deepspeed.write import zero_stage
from dslint.schema.missing import MISSING

TRAINER_FILE = "train.yaml"
OF_TRAINER = "it belongs among the trainer's arguments: convert into a directory (-o DIR/) to have both files"


def write(draft: Draft) -> None:
    kind = draft.get("engine.kind", "ddp")
    flavour = draft.wish.flavour or (kind if kind in ("deepspeed", "fsdp") else "ddp")
    draft.put("compute_environment", "LOCAL_MACHINE", subject="launch")
    launch(draft, {"deepspeed": "DEEPSPEED", "fsdp": "FSDP", "ddp": "MULTI_GPU"}[flavour])
    if flavour == "deepspeed":
        deepspeed(draft)
    elif flavour == "fsdp":
        fsdp(draft)
    else:
        draft.fate("engine.kind", "carried", "distributed_type")
    parallel(draft, flavour)
    if draft.wish.several:
        from dslint.convert.targets import beside

        beside(draft, "trainer", TRAINER_FILE)
    for name in draft.run.values:
        draft.lose(name, OF_TRAINER)


def launch(draft: Draft, distributed: str) -> None:
    processes, machines = draft.get("launch.processes"), draft.get("launch.machines", 1)
    if processes is MISSING and isinstance(world := draft.run.world_size, int):
        processes = world
    if processes == 1 and distributed == "MULTI_GPU":
        distributed = "NO"
    draft.put("distributed_type", distributed, subject="launch")
    if isinstance(processes, int):
        draft.put("num_processes", processes, subject="launch")
        draft.fate("launch.processes", "carried", "num_processes")
    if machines != 1:
        draft.carry("launch.machines", "num_machines")
        draft.put("machine_rank", 0, subject="launch")
    draft.fate("launch.machines", "implied", "num_machines")
    mixed = draft.get("precision.mixed")
    if mixed is MISSING or mixed not in ("fp8",):
        mixed = next((kind for kind in ("bf16", "fp16") if draft.get(f"precision.{kind}") is True), "no")
    draft.put("mixed_precision", mixed, subject="precision")
    for name in ("precision.mixed", "precision.bf16", "precision.fp16"):
        draft.fate(name, "carried", "mixed_precision")


def deepspeed(draft: Draft) -> None:
    """The block's own keys; a DeepSpeed config that says more stays a file of its own where there may be several."""
    source = draft.run.config("deepspeed")
    same = draft.get("engine.kind") == "deepspeed"
    draft.fate("engine.kind", "carried" if same else "approximate", "deepspeed_config", "" if same else MASTER_WEIGHTS)
    if source is not None and draft.wish.several:
        from dslint.convert.engines import DEEPSPEED_FILE
        from dslint.formats.deepspeed.write import write_config

        draft.put("deepspeed_config.deepspeed_config_file", DEEPSPEED_FILE, subject="engine")
        draft.put("deepspeed_config.zero3_init_flag", zero_stage(draft)[0] == 3, subject="engine")
        del draft.files[""]["mixed_precision"]
        write_config(draft, DEEPSPEED_FILE, manner="auto")
        return
    stage, note = zero_stage(draft)
    draft.put("deepspeed_config.zero_stage", stage, subject="engine")
    draft.fate("engine.zero_stage", "carried", "deepspeed_config.zero_stage")
    draft.fate("engine.sharding", "approximate", "deepspeed_config.zero_stage", note)
    accumulation = draft.get("batch.accumulation", 1)
    draft.put("deepspeed_config.gradient_accumulation_steps", accumulation, subject="engine")
    draft.fate("batch.accumulation", "carried", "deepspeed_config.gradient_accumulation_steps")
    if (clipping := draft.get("optimizer.clipping")) is not MISSING and clipping:
        draft.put("deepspeed_config.gradient_clipping", float(clipping), subject="engine")
        draft.fate("optimizer.clipping", "carried", "deepspeed_config.gradient_clipping")
    for name, key, least in (
        ("engine.offload_optimizer", "offload_optimizer_device", 1),
        ("engine.offload_parameters", "offload_param_device", 3),
    ):
        place = str(draft.get(name, "none"))
        if place != "none" and stage < least:
            draft.lose(name, f"ZeRO stage {stage} cannot offload it")
        elif place != "none" or stage == 3:
            draft.put(f"deepspeed_config.{key}", place, subject="engine")
            draft.fate(name, "carried", f"deepspeed_config.{key}")
        draft.fate(name, "implied", f"deepspeed_config.{key}")
    if stage == 3:
        draft.put("deepspeed_config.zero3_init_flag", True, subject="engine")
        draft.put("deepspeed_config.zero3_save_16bit_model", draft.get("engine.gather_on_save", True), subject="engine")
    draft.fate("engine.gather_on_save", "carried" if stage == 3 else "implied", "deepspeed_config.zero3_save_16bit_model")
    lose_wrapping(draft)


def lose_wrapping(draft: Draft) -> None:
    for name in ("engine.wrap_policy", "engine.wrap_classes", "engine.wrap_size", "engine.fsdp_version", "engine.reshard_after_forward"):
        draft.lose(name, "ZeRO shards parameter by parameter and needs no wrapping")
    draft.fate("engine.state_dict", "approximate", "", "DeepSpeed writes sharded checkpoints; zero_to_fp32.py makes one file of them")
    draft.fate("engine.ram_efficient", "approximate", "", "ZeRO stage 3 loads the model in shards by itself")
    draft.lose("engine.activation_checkpointing", "turn on gradient_checkpointing in the trainer's arguments")


def fsdp(draft: Draft) -> None:
    """Raises ValueError where the run shards nothing."""
    sharding, note = fsdp_sharding(draft)
    said = draft.get("engine.fsdp_version", 1)
    version = draft.wish.fsdp_version or (said if draft.get("engine.kind") == "fsdp" else 2)
    draft.put("fsdp_config.fsdp_version", version, subject="engine")
    draft.fate(
        "engine.fsdp_version",
        "carried" if version == said else "approximate",
        "fsdp_config.fsdp_version",
        f"FSDP{version} in place of FSDP{said}",
    )
    draft.fate("engine.kind", "carried" if draft.get("engine.kind") == "fsdp" else "approximate", "fsdp_config", note)
    if version == 1:
        draft.put("fsdp_config.fsdp_sharding_strategy", SHARDING[sharding], subject="engine")
        draft.fate("engine.sharding", "approximate" if note else "carried", "fsdp_config.fsdp_sharding_strategy", note)
        draft.fate("engine.reshard_after_forward", "carried", "fsdp_config.fsdp_sharding_strategy")
    else:
        draft.put("fsdp_config.fsdp_reshard_after_forward", sharding in ("full", "hybrid"), subject="engine")
        groups = "FSDP2 takes its groups from a device mesh: set dp_replicate_size and dp_shard_size in parallelism_config"
        unlike = groups if sharding.startswith("hybrid") else "FSDP2 always shards" if sharding == "none" else note
        draft.fate("engine.sharding", "approximate" if unlike else "carried", "fsdp_config.fsdp_reshard_after_forward", unlike)
        draft.fate("engine.reshard_after_forward", "carried", "fsdp_config.fsdp_reshard_after_forward")
    draft.fate("engine.zero_stage", "approximate", "fsdp_config", note)
    draft.put("fsdp_config.fsdp_offload_params", sharded_parameters(draft, "fsdp_config.fsdp_offload_params"), subject="engine")
    policy = WRAPPING[str(draft.get("engine.wrap_policy", "transformer"))]
    draft.put("fsdp_config.fsdp_auto_wrap_policy", policy, subject="engine")
    draft.fate("engine.wrap_policy", "carried", "fsdp_config.fsdp_auto_wrap_policy")
    if policy == "TRANSFORMER_BASED_WRAP" and draft.get("engine.wrap_classes", []):
        names = ",".join(draft.get("engine.wrap_classes"))
        draft.carry("engine.wrap_classes", "fsdp_config.fsdp_transformer_layer_cls_to_wrap", names)
    draft.lose("engine.wrap_classes", f"{policy} takes no classes")
    if policy == "SIZE_BASED_WRAP" and draft.says("engine.wrap_size"):
        draft.carry("engine.wrap_size", "fsdp_config.fsdp_min_num_params")
    draft.fate("engine.wrap_size", "implied", "fsdp_config.fsdp_min_num_params")
    if (form := draft.get("engine.state_dict", MISSING)) is not MISSING:
        word = STATE_DICTS[form] if version == 1 or form != "local" else "SHARDED_STATE_DICT"
        draft.carry("engine.state_dict", "fsdp_config.fsdp_state_dict_type", word)
    for name, key in (
        ("engine.ram_efficient", "fsdp_cpu_ram_efficient_loading"),
        ("engine.activation_checkpointing", "fsdp_activation_checkpointing"),
    ):
        if draft.says(name) and draft.get(name) is not draft.schema.block("fsdp_config").keys[key].default:
            draft.carry(name, f"fsdp_config.{key}")
        draft.fate(name, "implied", f"fsdp_config.{key}")
    lose_zero(draft)


def parallel(draft: Draft, flavour: str) -> None:
    for path, name in PARALLEL.items():
        size = draft.get(name)
        if not isinstance(size, int) or size <= 1:
            draft.fate(name, "implied", path)
        elif flavour == "fsdp":
            draft.carry(name, path)
        else:
            draft.lose(name, "Accelerate's parallelism_config goes with FSDP2")
    if "parallelism_config" in draft.files[""]:
        draft.put("parallelism_config.parallelism_config_dp_shard_size", _shards(draft), subject="parallel")


def _shards(draft: Draft) -> int:
    """The processes that share one copy: those that the other sizes leave."""
    size = draft.get("parallel.shard")
    if isinstance(size, int) and size > 0:
        return size
    count = int(draft.get("launch.processes", 1))
    for name in ("parallel.replicate", "parallel.tensor", "parallel.context", "parallel.sequence"):
        count //= max(1, int(draft.get(name, 1)))
    return max(1, count)
