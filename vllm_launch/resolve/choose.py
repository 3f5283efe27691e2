"""Choose for the operator: hardware, variant, strategy, nodes and features, each with a reason.

This is planning for a profile, by the rules under "Choosing for the operator" in the
recipe format's documentation; what the operator names is never overridden.
"""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.choice import Choice
from .features import settle_features
from .presets import find, tunings
from .suitability import fits, footprint, is_blackwell_only, least_gpus, offered, why_not

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from ..model.choice import Reason, Request
    from ..model.recipe import Preset, Recipe, Tuning, Variant
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile, Taxonomy
    from .features import Features

_BRANDS = ("NVIDIA", "AMD")  # the usual ones first
_MULTI_NODE_PREFERENCE = ("multi_node_tp", "multi_node_dep", "multi_node_tep")


class Chooser:
    """One recipe with the words and strategies that it stands among.

    What depends only on variant, hardware and strategy is decided once, and kept.
    """

    def __init__(
        self, recipe: Recipe, taxonomy: Taxonomy, strategy: Callable[[str], Strategy]
    ) -> None:
        self.recipe = recipe
        self.profiles = taxonomy.hardware_profiles
        self.strategy = strategy
        self._memo: dict[Any, Any] = {}

    def choose(self, request: Request) -> Choice:
        """Decide what the request leaves open.

        Raises UsageError for what does not exist or contradicts itself, NothingFits for what
        cannot run on the hardware; both say what is possible instead.
        """
        return _Choosing(self, request).choice()

    def why_not(self, variant: Variant, hardware: HardwareProfile) -> str | None:
        """Why a variant cannot run on the hardware, or None where it can."""
        key = (variant.id, hardware.id)
        if key not in self._memo:
            self._memo[key] = why_not(self.recipe, variant, hardware)
        found: str | None = self._memo[key]
        return found

    def offered(self, hardware: HardwareProfile) -> tuple[str, ...]:
        """The strategies that the recipe offers on the hardware."""
        found: tuple[str, ...] | None = self._memo.get(hardware.id)
        if found is None:
            found = self._memo[hardware.id] = offered(self.recipe, hardware)
        return found

    def features(
        self, request: Request, variant: Variant, hardware: HardwareProfile, strategy: str
    ) -> tuple[Features, tuple[str, ...]]:
        """The features that are on, with their modes, and notes about those that are not."""
        key = (
            request.features, request.add_features, request.drop_features, request.preset,
            request.point, variant.id, hardware.id, strategy,
        )  # fmt: skip
        found: tuple[Features, tuple[str, ...]] | None = self._memo.get(key)
        if found is None:
            found = self._memo[key] = settle_features(
                self.recipe, request, variant, hardware, strategy
            )
        return found


class _Choosing:
    """One request on its way to a choice."""

    def __init__(self, chooser: Chooser, request: Request) -> None:
        self.chooser = chooser
        self.recipe = chooser.recipe
        self.request = request
        self.reasons: list[Reason] = []
        self.preset: Preset | None = None
        self.blocks: tuple[Tuning, ...] = ()
        self.notes: list[str] = []

    def choice(self) -> Choice:
        request = self.request
        preset = self._preset()
        variant = self._named_variant(preset.variants if preset else ())
        hardware = self._hardware(variant, preset.hardware if preset else None)
        if variant is None:
            variant = self._variant(hardware)
        nodes = self._nodes(variant, hardware)
        name = self._strategy(hardware, nodes)
        self._check_pools(self.chooser.strategy(name))
        nodes = self._settled_nodes(self.chooser.strategy(name), nodes, hardware)
        features, notes = self.chooser.features(request, variant, hardware, name)
        return Choice(
            hardware=hardware,
            variant=variant.id,
            strategy=name,
            nodes=nodes,
            features=features,
            kv_offload=self._kv_offload(),
            pools=request.pools,
            preset=request.preset,
            point=request.point,
            devices=request.devices,
            request=request,
            reasons=tuple(self.reasons),
            notes=(*self.notes, *notes),
        )

    def because(self, subject: str, picked: str, why: str) -> None:
        self.reasons.append((subject, picked, why))

    def _preset(self) -> Preset | None:
        """The preset asked for, checked against what else is."""
        request = self.request
        if request.preset is None:
            if request.point is None:
                return None
            raise UsageError(
                f"the point {request.point!r} belongs to no preset", hint="give --preset NAME:POINT"
            )
        preset, point = find(self.recipe, request.preset, request.point)
        self.preset, self.blocks = preset, tunings(preset, point)
        self._check_preset(preset.hardware, preset.strategy, preset.variants)
        return preset

    @property
    def asked_strategy(self) -> str | None:
        """The strategy that the operator names, or the preset."""
        return self.request.strategy or (self.preset.strategy if self.preset else None)

    @property
    def asked_nodes(self) -> int | None:
        """The nodes that the operator names, or the preset's point, or the preset."""
        if self.request.nodes is not None:
            return self.request.nodes
        return next((b.select.nodes for b in reversed(self.blocks) if b.select.nodes), None)

    def _check_preset(self, hardware: str, strategy: str, variants: tuple[str, ...]) -> None:
        """A preset sets hardware and strategy; naming others beside it contradicts it."""
        request, name = self.request, self.request.preset
        if request.hardware not in (None, hardware):
            raise UsageError(
                f"the preset {name} is for {hardware}, not {request.hardware}",
                hint=f"drop --hardware, or pick a preset for it: {self._presets_for(request)}",
            )
        if request.strategy not in (None, strategy):
            raise UsageError(
                f"the preset {name} is for the strategy {strategy}, not {request.strategy}",
                hint="drop --strategy",
            )
        if variants and request.variant not in (None, *variants):
            raise UsageError(
                f"the preset {name} is for variant {' or '.join(variants)}, not {request.variant}",
                hint="drop --variant",
            )

    def _presets_for(self, request: Request) -> str:
        presets = self.recipe.presets.values()
        return ", ".join(p.id for p in presets if p.hardware == request.hardware) or "there is none"

    def _named_variant(self, of_preset: tuple[str, ...]) -> Variant | None:
        name = self.request.variant or (of_preset[0] if of_preset else None)
        if name is None:
            return None
        variant = self.recipe.variants.get(name)
        if variant is None:
            raise UsageError(
                f"{self.recipe.id} has no variant {name!r}",
                hint=f"variants: {', '.join(self.recipe.variants)}",
            )
        why = "asked for" if self.request.variant else f"the preset {self.request.preset} sets it"
        self.because("variant", name, why)
        return variant

    def _default_variant(self) -> Variant:
        variants = self.recipe.variants
        return variants["default"] if "default" in variants else next(iter(variants.values()))

    def _hardware(self, variant: Variant | None, of_preset: str | None) -> HardwareProfile:
        if self.request.profile is not None:
            return self._of_host(self.request.profile, variant, of_preset)
        asked = self.request.hardware or of_preset
        if asked is None:
            return self._default_hardware(variant or self._default_variant())
        profiles = self.chooser.profiles
        profile = profiles.get(asked)
        if profile is None:
            raise UsageError(
                f"unknown hardware {asked!r}",
                hint=f"{_near(asked, profiles)}known: {', '.join(profiles)}",
            )
        why = "asked for" if self.request.hardware else f"the preset {self.request.preset} sets it"
        self.because("hardware", asked, why)
        reason = self.chooser.why_not(variant, profile) if variant is not None else None
        if reason is not None:
            raise self._cannot(profile, reason)
        return self._with_devices(profile)

    def _with_devices(self, profile: HardwareProfile) -> HardwareProfile:
        """The profile with only the GPUs that the operator chose."""
        devices = self.request.devices
        if devices is None:
            return profile
        if len(devices) > profile.gpu_count:
            raise NothingFits(
                f"{len(devices)} GPUs are named, and {profile.id} has {profile.gpu_count}"
            )
        beyond = [d for d in devices if d.isdecimal() and int(d) >= profile.gpu_count]
        if beyond:
            raise NothingFits(
                f"GPU {', '.join(beyond)} is beyond those of {profile.id}, 0 to "
                f"{profile.gpu_count - 1}"
            )
        share = profile.vram_gb / profile.gpu_count
        return profile.replace(gpu_count=len(devices), vram_gb=share * len(devices))

    def _of_host(
        self, profile: HardwareProfile, variant: Variant | None, of_preset: str | None
    ) -> HardwareProfile:
        """A real host's GPUs: what is named must run on them."""
        self.because("hardware", profile.id, self.request.because)
        if of_preset not in (None, profile.id):
            raise NothingFits(
                f"the preset {self.request.preset} is for {of_preset}, and this host is "
                f"{profile.id}",
                hint=f"to plan for another machine, give --hardware {of_preset}",
            )
        reason = self.chooser.why_not(variant, profile) if variant is not None else None
        if reason is not None:
            raise self._cannot(profile, reason)
        if variant is not None and not fits(variant, profile) and self._on_one_node():
            raise self._too_big(variant, profile)
        return profile

    def _on_one_node(self) -> bool:
        return (self.asked_nodes or 1) == 1 and self.asked_strategy != "pd_cluster"

    def _too_big(self, variant: Variant, hardware: HardwareProfile) -> NothingFits:
        """A variant that is beyond the host: the nodes or the variants that would do."""
        needed = variant.vram_minimum_gb or 0
        fitting = [
            v.id
            for v in self.recipe.variants.values()
            if self.chooser.why_not(v, hardware) is None and fits(v, hardware)
        ]
        ways = [f"--variant {' or '.join(fitting)}"] if fitting else []
        if hardware.scalable and any(map(_is_multi_node, self.chooser.offered(hardware))):
            ways.append(f"--nodes {max(2, _ceil(needed / hardware.vram_gb))}")
        return NothingFits(
            f"variant {variant.id} needs {needed:g} GB, and {hardware.gpu_count} "
            f"GPU{'s' * (hardware.gpu_count > 1)} of {hardware.id} have {hardware.vram_gb:g} GB",
            hint=f"what would do: {', '.join(ways) or 'a larger machine'}",
        )

    def _cannot(self, profile: HardwareProfile, reason: str) -> NothingFits:
        runs = [
            v.id for v in self.recipe.variants.values() if self.chooser.why_not(v, profile) is None
        ]
        if runs:
            return NothingFits(reason, hint=f"on {profile.id}: --variant {' or '.join(runs)}")
        others = {name for v in self.recipe.variants.values() for name in self._possible(v)}
        ordered = [name for name in self.chooser.profiles if name in others]
        return NothingFits(reason, hint=f"hardware that it runs on: {', '.join(ordered)}")

    def _possible(self, variant: Variant) -> list[str]:
        return [
            p.id for p in self.chooser.profiles.values() if self.chooser.why_not(variant, p) is None
        ]

    def _default_hardware(self, variant: Variant) -> HardwareProfile:
        possible = self._possible(variant)
        default = self.recipe.meta.default_hardware
        preferred = ("b200", "gb200", "h200") if is_blackwell_only(variant) else ("h200",)
        for name in (default, *preferred, *sorted(possible, key=self._rank)):
            if name in possible:
                why = "the recipe's default" if name == default else "the usual default"
                self.because("hardware", str(name), why)
                return self.chooser.profiles[str(name)]
        raise NothingFits(f"no hardware profile can run variant {variant.id} of {self.recipe.id}")

    def _rank(self, hardware: str) -> tuple[int, str]:
        """Where a profile stands among those that nothing else prefers: by brand, then by id."""
        brand = self.chooser.profiles[hardware].brand
        return _BRANDS.index(brand) if brand in _BRANDS else len(_BRANDS), hardware

    def _variant(self, hardware: HardwareProfile) -> Variant:
        """The default variant, unless the hardware rules it out or is a small box of its own."""
        default = self._default_variant()
        reason = self.chooser.why_not(default, hardware)
        alone = not hardware.scalable or (self.request.profile is not None and self._on_one_node())
        too_small = alone and not fits(default, hardware)
        if reason is None and not too_small:
            self.because("variant", default.id, "the recipe's default")
            return default
        others = [
            v for v in self.recipe.variants.values() if self.chooser.why_not(v, hardware) is None
        ]
        fitting = [v for v in others if fits(v, hardware)]
        if reason is None:
            reason = (
                f"{default.id} needs {default.vram_minimum_gb:g} GB and {hardware.id} has "
                f"{hardware.vram_gb:g}"
            )
        if not others:
            raise self._cannot(hardware, reason)
        if not fitting and alone:
            raise self._too_big(min(others, key=footprint), hardware)
        best = max(fitting or others, key=footprint)
        self.because("variant", best.id, f"{reason}; the largest that runs there")
        return best

    def _nodes(self, variant: Variant, hardware: HardwareProfile) -> int:
        """The nodes asked for, or as many as the weights need."""
        if self.asked_nodes is not None:
            return self.asked_nodes
        if self.request.profile is not None or not hardware.scalable:
            return 1
        named = self.asked_strategy
        candidates = (named,) if named else self._automatic(hardware)
        on_several = [_is_multi_node(name) for name in candidates]
        needed = variant.vram_minimum_gb or 0
        if not any(on_several) or (needed <= hardware.vram_gb and not all(on_several)):
            return 1
        floor = least_gpus(self.recipe, self._usual(candidates, 2) or "", hardware)
        least = max(2, _ceil(floor / hardware.gpu_count))
        enough = max(least, _ceil(needed / hardware.vram_gb))
        if self.request.hardware is None and enough > least:
            # Nobody's machine: the recorded choices show the smallest layout there.
            self.notes.append(
                f"the weights of variant {variant.id} need {enough} nodes of {hardware.id}; this "
                f"is the layout for {least}: name --hardware to plan for real nodes"
            )
            return least
        return enough

    def _automatic(self, hardware: HardwareProfile) -> tuple[str, ...]:
        """The strategies to pick among unasked.

        A recipe whose usual strategy is for several nodes is for several nodes; one node must
        meet a strategy's floor; pools are for who asks for them, or for what has nothing else.
        """
        offered = self.chooser.offered(hardware)
        default = self.recipe.default_strategy or ""
        if default in offered and (_is_multi_node(default) or default == "pd_cluster"):
            return (default,)
        gpus = hardware.gpu_count
        engines = [name for name in offered if name != "pd_cluster"]
        return tuple(
            name
            for name in engines or offered
            if _is_multi_node(name) or least_gpus(self.recipe, name, hardware) <= gpus
        )

    def _check_pools(self, strategy: Strategy) -> None:
        """Pools that the operator sized need the strategy that has them."""
        pools = self.request.pools
        if pools is not None and not pools.shared and strategy.deploy_type != "pd_cluster":
            raise UsageError(
                f"prefill and decode pools are for pd_cluster, not for {strategy.name}",
                hint="drop --prefill and --decode, or give --strategy pd_cluster",
            )

    def _settled_nodes(self, strategy: Strategy, nodes: int, hardware: HardwareProfile) -> int:
        """Check the node count against the hardware and the strategy."""
        if not hardware.scalable and (nodes > 1 or strategy.deploy_type == "multi_node"):
            raise NothingFits(
                f"{hardware.id} cannot be joined with others, so it is one node alone",
                hint="drop --nodes, and use a single_node strategy",
            )
        if strategy.deploy_type == "single_node" and nodes > 1:
            if self.request.nodes is not None:
                raise UsageError(
                    f"the strategy {strategy.name} is for one node, not {nodes}",
                    hint="drop --nodes, or use a multi_node strategy",
                )
            return 1
        if strategy.deploy_type == "multi_node" and nodes < 2:
            raise UsageError(
                f"the strategy {strategy.name} needs at least two nodes",
                hint="give --nodes 2 or more, or use a single_node strategy",
            )
        if strategy.deploy_type != "pd_cluster":
            return nodes
        if (self.request.nodes or 1) > 1:
            raise UsageError(
                f"--nodes {self.request.nodes} does not say how the pools of pd_cluster share them",
                hint="give --prefill NODES[:MODE] and --decode NODES[:MODE]",
            )
        return 1

    def _strategy(self, hardware: HardwareProfile, nodes: int) -> str:
        offered = self.chooser.offered(hardware)
        asked = self.asked_strategy
        if asked is not None:
            if asked not in offered:
                raise self._not_offered(asked, offered, hardware)
            why = "asked for" if self.request.strategy else "the preset sets it"
            self.because("strategy", asked, why)
            return asked
        noun = "node" if nodes == 1 else "nodes"
        name = self._usual(self._automatic(hardware), nodes) or self._usual(offered, nodes)
        if name is None:
            raise NothingFits(
                f"{self.recipe.id} offers no strategy for {nodes} {noun} of {hardware.id}",
                hint=f"strategies: {', '.join(offered) or 'none'}",
            )
        why = "the recipe's default" if name in self._defaults() else "the usual layout"
        self.because("strategy", name, f"{why} on {nodes} {noun}")
        return name

    def _defaults(self) -> tuple[str, str]:
        """The recipe's usual strategy, and what that is on several nodes."""
        default = self.recipe.default_strategy or ""
        return default, default.replace("single_node", "multi_node")

    def _usual(self, names: Sequence[str], nodes: int) -> str | None:
        """The strategy to pick on so many nodes, unasked; None where none is for them."""
        default, sibling = self._defaults()
        several = [name for name in names if _is_multi_node(name)]
        if nodes > 1:
            preferred = [sibling, *_MULTI_NODE_PREFERENCE, *several]
        else:
            others = [name for name in names if name not in several]
            preferred = [default if default in others else "", "single_node_tp", *others]
        return next((name for name in preferred if name in names), None)

    def _not_offered(
        self, asked: str, offered: Sequence[str], hardware: HardwareProfile
    ) -> UsageError:
        known = f"strategies on {hardware.id}: {', '.join(offered) or 'none'}"
        return UsageError(
            f"{self.recipe.id} does not offer the strategy {asked!r} on {hardware.id}",
            hint=f"{_near(asked, offered)}{known}",
        )

    def _kv_offload(self) -> str | None:
        asked = self.request.kv_offload
        if asked is None:
            selected = (b.select.kv_offload for b in reversed(self.blocks))
            asked = next((name for name in selected if name), None)
        return None if asked == "off" else asked


def _is_multi_node(strategy: str) -> bool:
    return strategy.startswith("multi_node")


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _near(word: str, words: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}? " if near else ""
