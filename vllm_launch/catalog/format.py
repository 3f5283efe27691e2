"""The recipe format, key by key: what may stand where, and the record it becomes."""

from __future__ import annotations

from ..model.recipe import (
    Dependency,
    DynamoSettings,
    Evidence,
    Feature,
    Floors,
    HardwareOverride,
    Images,
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
    ABSENT,
    SHAPES,
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
    mapping,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .kinds import Reader, Reading
    from .tree import Node

_texts = listed(one_line)
_words = keyed(one_line)
_number = number_from(0)
_brands = ("nvidia", "amd", "tpu", "intel")
_pool_mode = one_of("tp", "tep", "dep")


def _one_or_keyed(record: type[Size | Word | Floors], reader: Reader) -> Reader:
    """One value, or one for each hardware key; a single one stands under "default"."""
    many = keyed(reader)

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "map":
            values = many(node, path, reading)
        else:
            value = reader(node, path, reading)
            if value is ABSENT:
                return ABSENT
            values = {"default": value}
        return record(by_key=values, where=reading.source(node, path))

    SHAPES[read] = ("one or keyed", reader)
    return read


_size = _one_or_keyed(Size, count)
_keyed_word = _one_or_keyed(Word, _pool_mode)
_floors = _one_or_keyed(Floors, _size)


def _images(single: str) -> Reader:
    """Images by brand; a plain string counts for the brand ``single`` ("*": for any)."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] != "map" or any(_is_cuda(key) for key, _, _, _ in node[3]):
            found = {single: _brand_image(node, path, reading)}
        else:
            found = _brand_images(node, path, reading)
        by_brand = {brand: image for brand, image in found.items() if image is not ABSENT}
        return Images(by_brand=by_brand, where=reading.source(node, path))

    SHAPES[read] = ("images", single)
    return read


def _brand_images(node: Node, path: str, reading: Reading) -> dict[str, Any]:
    found = {}
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if key not in _brands:
            reading.unknown_key(("text", line, column, key, ""), below, _brands)
        elif child[0] != "null":
            found[key] = _brand_image(child, below, reading)
    return found


def _brand_image(node: Node, path: str, reading: Reading) -> Any:
    """One image; or of a map by CUDA version, the newest one's."""
    if node[0] != "map":
        return image(node, path, reading)
    found = {}
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if not _is_cuda(key):
            reading.unknown_key(("text", line, column, key, ""), below, ("cu129", "cu130"))
        elif child[0] != "null":
            found[int(key[2:])] = image(child, below, reading)
    return found[max(found)] if found else ABSENT


def _is_cuda(key: str) -> bool:
    return key.startswith("cu") and key[2:].isdecimal() and key.isascii()


def _preset_image(node: Node, path: str, reading: Reading) -> Any:
    if node[0] == "map":
        return _pinned(node, path, reading)
    value = image(node, path, reading)
    if value is ABSENT:
        return ABSENT
    return PresetImage(vllm=value, where=reading.source(node, path))


def choice(node: Node, path: str, reading: Reading) -> Any:
    """Whether a feature is on, or in which mode."""
    return node[3] if node[0] == "bool" else text(node, path, reading)


def flags(node: Node, path: str, reading: Reading) -> Any:
    """A list of flags, each with its place."""
    nodes = _flag_nodes(node, path, reading)
    if nodes is ABSENT:
        return ABSENT
    return tuple((child[3], reading.source(child, path)) for child in nodes)


def _flag_node(node: Node, path: str, reading: Reading) -> Any:
    return ABSENT if flag(node, path, reading) is ABSENT else node


def json_arguments(node: Node, path: str, reading: Reading) -> Any:
    """Flags with the values to merge into their JSON, each with its place."""
    values = _mappings(node, path, reading)
    if values is ABSENT:
        return ABSENT
    for key, line, column, _ in node[3]:
        flag(("text", line, column, key, ""), f"{path}.{key}", reading)
    return tuple(
        (key, values[key], reading.source(("text", line, 1, key, ""), path))
        for key, line, _, _ in node[3]
        if key in values
    )


def _variants(node: Node, path: str, reading: Reading) -> Any:
    """One variant at least: there is nothing to serve without."""
    if node[0] == "map" and all(child[0] == "null" for _, _, _, child in node[3]):
        return reading.problem(node, path, "found no variant; expected one or more")
    return _named_variants(node, path, reading)


_flag_nodes = listed(_flag_node)
_mappings = keyed(mapping)
_pinned = table(PresetImage, vllm=image, pip=_texts, required=("vllm",))
SHAPES[_preset_image] = ("image or", _pinned)
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
    HardwareOverride, extra_args=arguments, extra_env=variables, docker_image=_images("*")
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
    docker_image=_images("nvidia"),
    hardware_overrides=keyed(_hardware_override),
    ignored=("json",),
)
_named_variants = named(_variant)
SHAPES[_variants] = ("some named", _variant)

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
    docker_image=_images("nvidia"),
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
