"""Choosing the hardware and the variant, of which each may rule out the other."""

from __future__ import annotations

from ..errors import NothingFits, UsageError, instead
from .choosing import is_multi_node
from .hardware import have, memory_per_gpu
from .pick_layout import check_offered, usual_strategy
from .suitability import (
    ceil,
    enough_nodes,
    footprint,
    is_blackwell_only,
    nodes_of_weights,
    power_of_two,
    too_old,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.recipe import Variant
    from ..model.taxonomy import HardwareProfile
    from .choosing import Choosing

_BRANDS = ("NVIDIA", "AMD")  # the usual ones first


def named_variant(choosing: Choosing) -> Variant | None:
    """The variant that the operator or the preset names. Raises UsageError for an unknown one."""
    of_preset = choosing.preset.variants if choosing.preset else ()
    name = choosing.request.variant or (of_preset[0] if of_preset else None)
    if name is None:
        return None
    variant = choosing.recipe.variants.get(name)
    if variant is None:
        raise UsageError(
            f"{choosing.recipe.id} has no variant {name!r}",
            hint=instead(name, "variants", choosing.recipe.variants),
        )
    choosing.because("variant", name, choosing.set_by(choosing.request.variant))
    return variant


def _default_variant(choosing: Choosing) -> Variant:
    variants = choosing.recipe.variants
    return variants["default"] if "default" in variants else next(iter(variants.values()))


def pick_hardware(choosing: Choosing, variant: Variant | None) -> HardwareProfile:
    """The hardware asked for, the preset's, or the usual one.

    Raises UsageError for an unknown one, NothingFits where the variant asked for cannot run.
    """
    of_preset = choosing.preset.hardware if choosing.preset else None
    if choosing.request.profile is not None:
        return _of_host(choosing, choosing.request.profile, variant, of_preset)
    asked = choosing.request.hardware or of_preset
    if asked is None:
        return _default_hardware(choosing, variant or _default_variant(choosing))
    profiles = choosing.chooser.profiles
    profile = profiles.get(asked)
    if profile is None:
        raise UsageError(
            f"unknown hardware {asked!r}",
            hint=instead(asked, "known", profiles),
        )
    choosing.because("hardware", asked, choosing.set_by(choosing.request.hardware))
    reason = choosing.chooser.why_not(variant, profile) if variant is not None else None
    if reason is not None:
        raise _cannot(choosing, profile, reason)
    return _with_devices(choosing, profile)


def _with_devices(choosing: Choosing, profile: HardwareProfile) -> HardwareProfile:
    """The profile with only the GPUs that the operator chose."""
    devices = choosing.request.devices
    if devices is None:
        return profile
    if len(devices) > profile.gpu_count:
        raise NothingFits(
            f"{len(devices)} GPUs are named, and {profile.id} has {profile.gpu_count}"
        )
    beyond = [d for d in devices if d.isdecimal() and int(d) >= profile.gpu_count]
    if beyond:
        raise NothingFits(
            f"GPU {', '.join(beyond)} is beyond those of {profile.id}, 0 to {profile.gpu_count - 1}"
        )
    share = profile.vram_gb / profile.gpu_count
    return profile.replace(gpu_count=len(devices), vram_gb=share * len(devices))


def _of_host(
    choosing: Choosing, profile: HardwareProfile, variant: Variant | None, of_preset: str | None
) -> HardwareProfile:
    """A real host's GPUs: what is named must run on them."""
    choosing.because("hardware", profile.id, choosing.request.because)
    if of_preset not in (None, profile.id):
        raise NothingFits(
            f"the preset {choosing.request.preset} is for {of_preset}, and this host is "
            f"{profile.id}",
            hint=f"to plan for another machine, give --hardware {of_preset}",
        )
    reason = choosing.chooser.why_not(variant, profile) if variant is not None else None
    if reason is not None:
        raise _cannot(choosing, profile, reason)
    # A variant that is named with pools is measured against the very plan.
    if variant is not None and choosing.strategy != "pd_cluster":
        check_offered(choosing, profile)
        room = _room(choosing, profile)
        if footprint(variant) > room:
            raise _too_big(choosing, variant, profile, room)
    return profile


def _room(choosing: Choosing, hardware: HardwareProfile) -> float:
    """GB that hold one copy of the weights: of one node, or of what is asked for on a host."""
    if choosing.request.profile is None:
        return hardware.vram_gb
    if choosing.strategy == "pd_cluster":
        return _pool_room(choosing, hardware)
    return hardware.vram_gb * nodes_of_weights(choosing.strategy, choosing.nodes or 1)


def _pool_room(choosing: Choosing, hardware: HardwareProfile) -> float:
    """GB of the smaller of two pools; they halve the only GPU."""
    from .pools import ROLES, pool_plan

    strategy = choosing.chooser.strategy("pd_cluster")
    plans = [
        pool_plan(choosing.recipe, strategy, hardware, role, choosing.request.pools)
        for role in ROLES
    ]
    share = memory_per_gpu(hardware) / (1 if plans[0].masked else 2)
    return share * min(plan.gpus * plan.nodes for plan in plans)


def _too_big(
    choosing: Choosing, variant: Variant, hardware: HardwareProfile, room: float
) -> NothingFits:
    """A variant that is beyond the host: the nodes or the variants that would do."""
    old = too_old(choosing.recipe, hardware)
    if old is not None:
        ways = [f"GPUs of compute capability {old} or newer"]
    else:
        others = choosing.chooser.runnable(hardware) if _stands(choosing, hardware) else ()
        fitting = [other.id for other in others if footprint(other) <= room]
        ways = [f"--variant {' or '.join(fitting)}"] if fitting else []
        ways += _more_nodes(choosing, footprint(variant), hardware)
    return NothingFits(
        f"variant {variant.id} needs {footprint(variant):g} GB, and {have(room, hardware)}",
        hint=f"what would do: {', '.join(ways) or 'a larger machine'}",
    )


def _stands(choosing: Choosing, hardware: HardwareProfile) -> bool:
    """Whether the layout could be, were the weights smaller."""
    nodes = choosing.nodes or 1
    strategy = choosing.strategy or usual_strategy(choosing, hardware, nodes)
    return strategy is not None and is_multi_node(strategy) is (nodes > 1)


def _more_nodes(choosing: Choosing, needed: float, hardware: HardwareProfile) -> list[str]:
    """The options that give so many GB of several such nodes; none where nothing does."""
    asked = choosing.strategy
    if not hardware.scalable:
        return []
    if asked == "pd_cluster":
        nodes = power_of_two(ceil(needed / hardware.vram_gb))
        return [f"--prefill {nodes} --decode {nodes}"]
    named = asked is not None and is_multi_node(asked)
    strategy = asked if named else usual_strategy(choosing, hardware, 2)
    if strategy is None or not is_multi_node(strategy):
        return []
    enough = enough_nodes(choosing.recipe, strategy, needed, hardware)
    if enough is None:
        return []
    layout = "" if named or asked is None else f"--strategy {strategy} "
    return [f"{layout}--nodes {enough}"]


def _cannot(choosing: Choosing, profile: HardwareProfile, reason: str) -> NothingFits:
    runs = [v.id for v in choosing.chooser.runnable(profile)]
    if runs:
        return NothingFits(reason, hint=f"on {profile.id}: --variant {' or '.join(runs)}")
    others = {
        name for v in choosing.recipe.variants.values() for name in choosing.chooser.possible(v)
    }
    ordered = [name for name in choosing.chooser.profiles if name in others]
    return NothingFits(reason, hint=f"hardware that it runs on: {', '.join(ordered)}")


def _default_hardware(choosing: Choosing, variant: Variant) -> HardwareProfile:
    possible = choosing.chooser.possible(variant)
    default = choosing.recipe.meta.default_hardware
    preferred = ("b200", "gb200", "h200") if is_blackwell_only(variant) else ("h200",)
    for name in (default, *preferred, *sorted(possible, key=lambda name: _rank(choosing, name))):
        if name in possible:
            why = "the recipe's default" if name == default else "the usual default"
            choosing.because("hardware", str(name), why)
            return choosing.chooser.profiles[str(name)]
    raise NothingFits(f"no hardware profile can run variant {variant.id} of {choosing.recipe.id}")


def _rank(choosing: Choosing, hardware: str) -> tuple[int, str]:
    """Where a profile stands among those that nothing else prefers: by brand, then by id."""
    brand = choosing.chooser.profiles[hardware].brand
    return _BRANDS.index(brand) if brand in _BRANDS else len(_BRANDS), hardware


def pick_variant(choosing: Choosing, hardware: HardwareProfile) -> Variant:
    """The default variant, unless the hardware rules it out or cannot be added to.

    Raises NothingFits where none can run, UsageError for a strategy that is not offered there.
    """
    default = _default_variant(choosing)
    reason = choosing.chooser.why_not(default, hardware)
    others = choosing.chooser.runnable(hardware)
    if reason is not None and not others:
        raise _cannot(choosing, hardware, reason)
    limited = not hardware.scalable or choosing.request.profile is not None
    if limited:
        check_offered(choosing, hardware)
    room = _room(choosing, hardware)
    if reason is None and not (limited and footprint(default) > room):
        choosing.because("variant", default.id, "the recipe's default")
        return default
    fitting = [v for v in others if footprint(v) <= room]
    if not fitting and limited:
        raise _too_big(choosing, min(others, key=footprint), hardware, room)
    if reason is None:
        whole = room == hardware.vram_gb
        has = f"{hardware.id} has {room:g}" if whole else have(room, hardware).removesuffix(" GB")
        reason = f"{default.id} needs {footprint(default):g} GB and {has}"
    best = max(fitting or others, key=footprint)
    choosing.because("variant", best.id, f"{reason}; the largest that runs there")
    return best
