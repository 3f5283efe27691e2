"""The recipe format, key by key: what may stand where, and the record it becomes."""

from __future__ import annotations

from ..model.recipe import (
    Dependency,
    DynamoSettings,
    Evidence,
    Feature,
    Floors,
    HardwareOverride,
    Meta,
    Mode,
    Model,
    ModeOverride,
    Note,
    Point,
    PrecisionHardware,
    Preset,
    PresetImage,
    Recipe,
    RoleOverride,
    Selection,
    Size,
    StrategyOverride,
    Variant,
    When,
    Word,
)
from ..model.strategy import (
    HardwareMatch,
    KvStore,
    Router,
    StoreClient,
    StoreProcess,
    StoreRole,
    StoreRoles,
    StoreServer,
    Strategy,
    StrategyRole,
)
from ..model.taxonomy import Companion, HardwareProfile, KvOffloadOption, Task, Taxonomy
from .kinds import (
    arguments,
    boolean,
    checkpoint,
    command,
    count,
    data,
    date,
    file_name,
    flag,
    image,
    integer,
    keyed,
    listed,
    name,
    named,
    number_from,
    one_line,
    one_of,
    one_or_listed,
    table,
    text,
    variables,
)
from .recipe_kinds import (
    choice,
    flags,
    images,
    json_arguments,
    one_or_keyed,
    preset_image,
    some_variants,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .reading import Reader

_texts = listed(one_line)
_words = keyed(one_line)
_number = number_from(0)
_pool_mode = one_of("tp", "tep", "dep")


_size = one_or_keyed(Size, count)
_keyed_word = one_or_keyed(Word, _pool_mode)
_floors = one_or_keyed(Floors, _size)


_pinned = table(PresetImage, vllm=image, pip=_texts, required=("vllm",))
_preset_image = preset_image(_pinned)
_selection = table(Selection, features=keyed(choice), kv_offload=one_line, nodes=count)
_tuning: dict[str, Reader] = {
    "tp": _size,
    "args": arguments,
    "remove_args": flags,
    "json_args": json_arguments,
    "env": variables,
    "image": _preset_image,
    "select": _selection,
}
_point = table(Point, _tuning, label=one_line, description=text, concurrency=integer)
_preset = table(
    Preset,
    _tuning,
    label=one_line,
    hardware=one_line,
    strategy=one_line,
    variants=_texts,
    workload=one_line,
    description=text,
    source=table(Evidence, label=one_line, href=one_line, key=one_line, revision=one_line),
    points=named(_point),
    runbook=text,
    dynamo=table(
        DynamoSettings,
        worker_args=arguments,
        frontend_args=arguments,
        frontend_env=variables,
    ),
    required=("hardware", "strategy"),
    ignored=("json",),
)

_mode_override = table(ModeOverride, args=arguments, env=variables)
_support = keyed(one_of("supported", "unsupported", "verified"))
_mode = table(
    Mode,
    label=one_line,
    description=text,
    args=arguments,
    env=variables,
    variants=_texts,
    hardware=_support,
    hardware_overrides=keyed(_mode_override),
)
_feature = table(
    Feature,
    description=text,
    args=arguments,
    env=variables,
    default_mode=one_line,
    modes=named(_mode),
    hardware=_support,
    hardware_overrides=keyed(_mode_override),
    strategies=_texts,
    excludes=_texts,
)

_hardware_override = table(
    HardwareOverride, extra_args=arguments, extra_env=variables, docker_image=images("*")
)
_variant = table(
    Variant,
    model_id=checkpoint,
    label=one_line,
    precision=one_line,
    precision_hardware=table(PrecisionHardware, brand=one_line, generation=one_line),
    vram_minimum_gb=_number,
    description=text,
    min_vllm_version=one_line,
    supported_hardware=_texts,
    tp=_size,
    default_modes=_words,
    extra_args=arguments,
    extra_env=variables,
    docker_image=images("nvidia"),
    hardware_overrides=keyed(_hardware_override),
    ignored=("json",),
)
_variants = some_variants(_variant)

_router = table(Router, policy=name, install=data, port=count, intra_node_data_parallel_size=count)
_role_override = table(
    RoleOverride,
    extra_args=arguments,
    vllm_args=arguments,
    env=variables,
    parallelism=_keyed_word,
    tp=_size,
    nodes=_size,
    gpus=_size,
    hardware_overrides=keyed(_hardware_override),
)
_strategy_override = table(
    StrategyOverride,
    tp=_size,
    extra_args=arguments,
    vllm_args=arguments,
    env=variables,
    extra_env=variables,
    hardware_overrides=keyed(_hardware_override),
    pool_modes=listed(_pool_mode),
    prefill=_role_override,
    decode=_role_override,
    router=_router,
)

_model = table(
    Model,
    model_id=checkpoint,
    min_vllm_version=one_line,
    nightly_required=boolean,
    docker_image=images("nvidia"),
    architecture=one_line,
    parameter_count=one_line,
    active_parameters=one_line,
    context_length=integer,
    base_args=arguments,
    base_env=variables,
    mandatory_args=arguments,
    unreleased=_texts,
    prerequisites=data,
    install=data,
    smg_grpc=data,
    docker_source=data,
    flashinfer_autotune=boolean,
    supports_dcp=boolean,
    required=("model_id",),
    placed=("min_vllm_version", "prerequisites"),
)
_meta = table(
    Meta,
    title=one_line,
    slug=one_line,
    provider=one_line,
    description=text,
    date_added=date,
    date_updated=date,
    difficulty=one_line,
    tasks=_texts,
    performance_headline=one_line,
    related_recipes=_texts,
    hardware=_words,
    default_hardware=one_line,
    platforms=data,
    placed=("hardware",),
)
_note = table(
    Note,
    title=one_line,
    when=table(
        When,
        hardware=_texts,
        strategy=_texts,
        variant=_texts,
        role=_texts,
        preset=_texts,
        feature=_texts,
    ),
    body=text,
    required=("title", "body"),
)
_dependency = table(
    Dependency,
    note=text,
    command=command,
    brand=one_or_listed(one_line),
    optional=boolean,
    install_modes=_texts,
    required=("command",),
)

RECIPE = table(
    Recipe,
    meta=_meta,
    model=_model,
    features=named(_feature),
    opt_in_features=_texts,
    hardware_opt_in_features=keyed(_texts),
    variants=_variants,
    compatible_strategies=_texts,
    default_strategy=one_line,
    strategy_hardware=keyed(_support),
    strategy_min_gpus=_floors,
    hardware_overrides=keyed(_hardware_override),
    strategy_overrides=keyed(_strategy_override),
    kv_offload_support=_words,
    presets=named(_preset),
    notes=listed(_note),
    dependencies=listed(_dependency),
    hardware_notes=data,
    client=data,
    benchmark=data,
    omni=data,
    guide=text,
    required=("model", "variants"),
    # The published JSON's own keys; "alternatives" is read before (see published.py).
    ignored=("hf_id", "recommended_command", "source"),
)

_strategy_role = table(StrategyRole, vllm_args=arguments, env=variables, parallelism=_pool_mode)
STRATEGY = table(
    Strategy,
    name=file_name,
    deploy_type=one_of("single_node", "multi_node", "pd_cluster"),
    display_name=one_line,
    short_label=one_line,
    orientation=one_line,
    description=text,
    hardware_match=table(
        HardwareMatch, min_gpus=count, max_gpus=count, multi_node=boolean, architecture=one_line
    ),
    parallelism=one_of("tp_pp", "tp_dp"),
    parallel_flag=flag,
    vllm_args=arguments,
    env=variables,
    prefill=_strategy_role,
    decode=_strategy_role,
    router=_router,
    required=("name", "deploy_type"),
)

_store_role = table(StoreRole, args=arguments)
_store_process = table(
    StoreProcess, command=command, description=text, note=text, config=data, required=("command",)
)
KV_STORE = table(
    KvStore,
    name=file_name,
    deploy_type=one_line,
    display_name=one_line,
    label=one_line,
    order=_number,
    description=text,
    router=_router,
    vllm=table(StoreServer, vllm_args=arguments, env=variables, install=data, port=count),
    pd=table(StoreRoles, prefill=_store_role, decode=_store_role),
    mooncake_master=_store_process,
    mooncake_store_config=_store_process,
    mooncake_vllm_config=table(StoreClient, mode=one_line, note=text, template=data),
    min_vllm_version=one_line,
    default_instances=count,
    required=("name",),
)

_profile = table(
    HardwareProfile,
    brand=one_line,
    generation=one_line,
    display_name=one_line,
    description=text,
    gpu_count=count,
    vram_gb=number_from(1),
    multi_node=boolean,
    scalable=boolean,
    restricted=boolean,
    compute_arch=one_line,
    gpu_names=_texts,
    required=("brand", "generation", "gpu_count", "vram_gb"),
)
_offload = table(
    KvOffloadOption,
    display_name=one_line,
    label=one_line,
    group=one_line,
    order=_number,
    description=text,
    args=arguments,
    env=variables,
    strategies=_texts,
    brands=_texts,
    requires_opt_in=boolean,
    companion=table(
        Companion, label=one_line, description=text, command=command, required=("label", "command")
    ),
    install=data,
    docs_url=one_line,
)
TAXONOMY = table(
    Taxonomy,
    hardware_profiles=named(_profile),
    kv_offload=named(_offload),
    kv_offload_groups=data,
    tasks=listed(
        table(Task, id=one_line, display_name=one_line, description=text, required=("id",))
    ),
    strategies=listed(name),
    required=("hardware_profiles",),
)
