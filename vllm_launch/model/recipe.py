"""One model's recipe."""

from __future__ import annotations

from .record import Record
from .source import Source
from .strategy import Router

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .source import Arguments, Variables


class Size(Record):
    """A number, or one for each key (exact GPU id, generation, brand, "default")."""

    by_key: Mapping[str, int]
    where: Source


class Floors(Record):
    """The GPUs that strategies need at least: for each key (strategy, exact GPU id, "default")
    one figure for every strategy, or one for each.
    """

    by_key: Mapping[str, Size]
    where: Source


class Word(Record):
    """A word, or one for each key (exact GPU id, generation, brand, "default")."""

    by_key: Mapping[str, str]
    where: Source


class Images(Record):
    """Container images by brand, in small letters; "*" is the one that counts for any brand."""

    by_brand: Mapping[str, str]
    where: Source


class Meta(Record):
    """What a person reads about the recipe."""

    title: str = ""
    slug: str = ""
    provider: str = ""
    description: str = ""
    date_added: str = ""
    date_updated: str = ""
    difficulty: str = ""
    tasks: tuple[str, ...] = ()
    performance_headline: str = ""
    related_recipes: tuple[str, ...] = ()
    hardware: Mapping[str, str] = {}  # profile id: "verified", …
    default_hardware: str | None = None
    platforms: Any = None
    places: tuple[tuple[str, Source], ...] = ()  # of keys that checks name


class Model(Record):
    """The model itself, and what every way to serve it has in common."""

    model_id: str
    min_vllm_version: str = ""
    nightly_required: bool = False
    docker_image: Images | None = None
    architecture: str = ""
    parameter_count: str = ""
    active_parameters: str = ""
    context_length: int | None = None  # tokens
    base_args: Arguments = ()
    base_env: Variables = ()
    mandatory_args: Arguments = ()  # to be overridden only knowingly
    unreleased: tuple[str, ...] = ()  # names it uses that no release of vLLM has yet
    prerequisites: Any = None
    install: Any = None
    smg_grpc: Any = None
    docker_source: Any = None
    flashinfer_autotune: bool = False
    supports_dcp: bool = False
    places: tuple[tuple[str, Source], ...] = ()  # of keys that checks name, "prerequisites.python"


class HardwareOverride(Record):
    """What one key of a hardware_overrides block adds."""

    extra_args: Arguments = ()
    extra_env: Variables = ()
    docker_image: Images | None = None
    where: Source


class ModeOverride(Record):
    """What a feature or mode adds on one hardware, instead of its own arguments."""

    args: Arguments | None = None
    env: Variables | None = None


class Mode(Record):
    """One of several exclusive ways in which a feature works."""

    id: str
    label: str = ""
    description: str = ""
    args: Arguments = ()
    env: Variables = ()
    variants: tuple[str, ...] | None = None  # None: every variant
    hardware: Mapping[str, str] = {}  # exact id or generation: "unsupported"
    hardware_overrides: Mapping[str, ModeOverride] = {}
    where: Source


class Feature(Record):
    """A toggle that adds arguments."""

    id: str
    description: str = ""
    args: Arguments = ()
    env: Variables = ()
    default_mode: str | None = None
    modes: Mapping[str, Mode] = {}
    hardware: Mapping[str, str] = {}
    hardware_overrides: Mapping[str, ModeOverride] = {}
    strategies: tuple[str, ...] | None = None  # None: under every strategy
    excludes: tuple[str, ...] = ()  # features that cannot be on beside it
    where: Source


class PrecisionHardware(Record):
    """Where a precision runs, when that differs from the usual."""

    brand: str | None = None
    generation: str | None = None


class Variant(Record):
    """A served checkpoint or precision of the model."""

    id: str
    model_id: str | None = None  # None: the model's own
    label: str = ""
    precision: str = ""
    precision_hardware: PrecisionHardware | None = None
    vram_minimum_gb: float | None = None
    description: str = ""
    min_vllm_version: str = ""
    supported_hardware: tuple[str, ...] | None = None
    tp: Size | None = None
    default_modes: Mapping[str, str] = {}
    extra_args: Arguments = ()
    extra_env: Variables = ()
    docker_image: Images | None = None
    hardware_overrides: Mapping[str, HardwareOverride] = {}
    where: Source


class RoleOverride(Record):
    """What a recipe changes for a prefill or decode pool."""

    extra_args: Arguments = ()
    vllm_args: Arguments = ()
    env: Variables = ()
    parallelism: Word | None = None
    tp: Size | None = None
    nodes: Size | None = None
    gpus: Size | None = None  # GPUs of a node that the pool uses; None: all
    hardware_overrides: Mapping[str, HardwareOverride] = {}
    where: Source


class StrategyOverride(Record):
    """What a recipe changes for one strategy."""

    tp: Size | None = None
    extra_args: Arguments = ()
    vllm_args: Arguments = ()
    env: Variables = ()
    extra_env: Variables = ()
    hardware_overrides: Mapping[str, HardwareOverride] = {}
    pool_modes: tuple[str, ...] | None = None
    prefill: RoleOverride | None = None
    decode: RoleOverride | None = None
    router: Router | None = None
    where: Source


class PresetImage(Record):
    """The image that a preset was measured with, and packages installed on top."""

    vllm: str
    pip: tuple[str, ...] = ()
    where: Source


class Selection(Record):
    """What a preset picks among the recipe's own options."""

    features: Mapping[str, bool | str] = {}  # the rest stay at their defaults
    kv_offload: str | None = None  # "off": none
    nodes: int | None = None


class Evidence(Record):
    """Where a preset's settings were measured."""

    label: str = ""
    href: str = ""
    key: str = ""
    revision: str = ""


class Tuning(Record):
    """What a preset or a point changes, after everything else."""

    tp: Size | None = None
    args: Arguments = ()
    remove_args: tuple[tuple[str, Source], ...] = ()
    json_args: tuple[tuple[str, Any, Source], ...] = ()  # flag, values to merge, source
    env: Variables = ()
    image: PresetImage | None = None
    select: Selection = Selection()


class Point(Tuning):
    """One measured setting of a preset."""

    id: str
    label: str = ""
    description: str = ""
    concurrency: int | None = None
    where: Source


class DynamoSettings(Record):
    """How Dynamo's worker and frontend were run for a preset."""

    worker_args: Arguments = ()
    frontend_args: Arguments = ()
    frontend_env: Variables = ()


class Preset(Tuning):
    """A tuned configuration with evidence."""

    id: str
    label: str = ""
    hardware: str
    strategy: str
    variants: tuple[str, ...] = ()  # the first is the one it selects
    workload: str = ""
    description: str = ""
    source: Evidence = Evidence()
    points: Mapping[str, Point] = {}
    runbook: str = ""
    dynamo: DynamoSettings | None = None
    where: Source


class When(Record):
    """Where a note applies; an empty field leaves it open."""

    hardware: tuple[str, ...] = ()
    strategy: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    preset: tuple[str, ...] = ()
    feature: tuple[str, ...] = ()


class Note(Record):
    """Something that an operator should know."""

    title: str
    when: When = When()
    body: str


class Dependency(Record):
    """Something to be installed beside vLLM."""

    note: str = ""
    command: str
    brand: tuple[str, ...] = ()  # empty: every brand
    optional: bool = False
    install_modes: tuple[str, ...] = ()


class Recipe(Record):
    """The whole of models/ORG/REPO.yaml."""

    id: str
    where: Source
    meta: Meta = Meta()
    model: Model
    features: Mapping[str, Feature] = {}
    opt_in_features: tuple[str, ...] = ()
    hardware_opt_in_features: Mapping[str, tuple[str, ...]] = {}
    variants: Mapping[str, Variant]
    compatible_strategies: tuple[str, ...] = ()
    default_strategy: str | None = None
    strategy_hardware: Mapping[str, Mapping[str, str]] = {}
    strategy_min_gpus: Floors | None = None
    hardware_overrides: Mapping[str, HardwareOverride] = {}
    strategy_overrides: Mapping[str, StrategyOverride] = {}
    kv_offload_support: Mapping[str, str] = {}
    presets: Mapping[str, Preset] = {}
    notes: tuple[Note, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    hardware_notes: Any = None
    client: Any = None
    benchmark: Any = None
    omni: Any = None
    guide: str = ""
