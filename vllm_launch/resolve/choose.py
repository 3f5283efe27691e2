"""Choose for the operator: hardware, variant, strategy, nodes and features, each with a reason.

This is planning for a profile, by the rules under "Choosing for the operator" in the
recipe format's documentation; what the operator names is never overridden.
"""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.choice import Choice
from .features import check_features, pick_mode, require_mode
from .hardware import is_unsupported
from .presets import find, tunings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..model.choice import Reason, Request
    from ..model.recipe import Feature, Recipe, Tuning, Variant
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile, Taxonomy

# Formats that only Blackwell's tensor cores compute in.
_BLACKWELL_ONLY = ("nvfp4", "fp4")
_MULTI_NODE_PREFERENCE = ("multi_node_tp", "multi_node_dep", "multi_node_tep")


def choose(
    recipe: Recipe,
    taxonomy: Taxonomy,
    strategy: Callable[[str], Strategy],
    request: Request,
) -> Choice:
    """Decide what the request leaves open.

    Raises UsageError for what does not exist or contradicts itself, NothingFits for what
    cannot run on the hardware; both say what is possible instead.
    """
    return _Choosing(recipe, taxonomy, strategy, request).choice()


def variant_runs_on(recipe: Recipe, variant: Variant, hardware: HardwareProfile) -> bool:
    """Whether a variant's precision and the recipe's own lists allow the hardware."""
    return why_not(recipe, variant, hardware) is None


def why_not(recipe: Recipe, variant: Variant, hardware: HardwareProfile) -> str | None:
    """Why a variant cannot run on the hardware, or None where it can."""
    listed = recipe.meta.hardware
    if listed.get(hardware.id) == "unsupported":
        return f"{recipe.id} does not run on {hardware.id}"
    if hardware.restricted and hardware.id not in listed:
        return f"{hardware.id} is for recipes that list it, and {recipe.id} does not"
    if variant.supported_hardware is not None:
        if hardware.id not in variant.supported_hardware:
            return f"variant {variant.id} runs on {', '.join(variant.supported_hardware)} only"
        return None
    if not _precision_runs_on(variant, hardware):
        return f"variant {variant.id} is {variant.precision.upper()}, {_needs(variant)}"
    return None


def _precision_runs_on(variant: Variant, hardware: HardwareProfile) -> bool:
    own = variant.precision_hardware
    if own is not None:
        return own.brand in (None, hardware.brand) and own.generation in (None, hardware.generation)
    if variant.precision in _BLACKWELL_ONLY:
        return hardware.generation == "blackwell"
    return True


def _needs(variant: Variant) -> str:
    own = variant.precision_hardware
    if own is None:
        return "which needs Blackwell"
    return f"which needs {own.generation or own.brand}"


class _Choosing:
    def __init__(
        self,
        recipe: Recipe,
        taxonomy: Taxonomy,
        strategy: Callable[[str], Strategy],
        request: Request,
    ) -> None:
        self.recipe = recipe
        self.profiles = taxonomy.hardware_profiles
        self.strategy_named = strategy
        self.request = request
        self.reasons: list[Reason] = []
        self.blocks: tuple[Tuning, ...] = ()
        self.notes: list[str] = []

    def choice(self) -> Choice:
        request = self.request
        preset = None
        if request.preset is not None:
            preset, point = find(self.recipe, request.preset, request.point)
            self.blocks = tunings(preset, point)
            self._check_preset(preset.hardware, preset.strategy, preset.variants)
        elif request.point is not None:
            raise UsageError(f"the point {request.point!r} belongs to no preset",
                             hint="give --preset NAME:POINT")
        variant = self._named_variant(preset.variants if preset else ())
        hardware = self._hardware(variant, preset.hardware if preset else None)
        if variant is None:
            variant = self._variant(hardware)
        nodes = self._nodes(variant, hardware)
        name = self._strategy(hardware, nodes, preset.strategy if preset else None)
        strategy = self.strategy_named(name)
        nodes = self._settled_nodes(strategy, nodes)
        return Choice(
            hardware=hardware,
            variant=variant.id,
            strategy=name,
            nodes=nodes,
            features=self._features(variant, hardware, name),
            kv_offload=self._kv_offload(),
            instances=request.instances or 1,
            pools=request.pools,
            preset=request.preset,
            point=request.point,
            request=request,
            reasons=tuple(self.reasons),
            notes=tuple(self.notes),
        )

    def because(self, subject: str, picked: str, why: str) -> None:
        self.reasons.append((subject, picked, why))

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
                f"the preset {name} is for variant {' or '.join(variants)}, "
                f"not {request.variant}",
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
        asked = self.request.hardware or of_preset
        if asked is None:
            return self._default_hardware(variant or self._default_variant())
        profile = self.profiles.get(asked)
        if profile is None:
            raise UsageError(
                f"unknown hardware {asked!r}",
                hint=f"{_near(asked, self.profiles)}known: {', '.join(self.profiles)}",
            )
        why = "asked for" if self.request.hardware else f"the preset {self.request.preset} sets it"
        self.because("hardware", asked, why)
        reason = why_not(self.recipe, variant, profile) if variant is not None else None
        if reason is not None:
            raise self._cannot(asked, reason)
        return profile

    def _cannot(self, hardware: str, reason: str) -> NothingFits:
        profile = self.profiles[hardware]
        runs = [v.id for v in self.recipe.variants.values()
                if variant_runs_on(self.recipe, v, profile)]
        if runs:
            return NothingFits(reason, hint=f"on {hardware}: --variant {' or '.join(runs)}")
        others = self._possible(self._default_variant())
        return NothingFits(reason, hint=f"hardware that it runs on: {', '.join(others)}")

    def _possible(self, variant: Variant) -> list[str]:
        return [p.id for p in self.profiles.values() if variant_runs_on(self.recipe, variant, p)]

    def _default_hardware(self, variant: Variant) -> HardwareProfile:
        possible = self._possible(variant)
        default = self.recipe.meta.default_hardware
        blackwell = variant.precision in _BLACKWELL_ONLY and variant.precision_hardware is None
        preferred = ("b200", "gb200") if blackwell else ("h200",)
        for name in (default, *preferred, *possible):
            if name in possible:
                why = "the recipe's default" if name == default else "the usual default"
                self.because("hardware", str(name), why)
                return self.profiles[str(name)]
        raise NothingFits(f"no hardware profile can run variant {variant.id} of {self.recipe.id}")

    def _variant(self, hardware: HardwareProfile) -> Variant:
        """The default variant, unless the hardware rules it out or is a small box of its own."""
        default = self._default_variant()
        reason = why_not(self.recipe, default, hardware)
        too_small = not hardware.scalable and not _fits(default, hardware)
        if reason is None and not too_small:
            self.because("variant", default.id, "the recipe's default")
            return default
        others = [v for v in self.recipe.variants.values()
                  if variant_runs_on(self.recipe, v, hardware)]
        fitting = [v for v in others if _fits(v, hardware)]
        if reason is None:
            reason = (f"{default.id} needs {default.vram_minimum_gb:g} GB and {hardware.id} has "
                      f"{hardware.vram_gb:g}")
        if not fitting and (too_small or not others):
            raise self._cannot(hardware.id, reason)
        best = max(fitting or others, key=_footprint)
        self.because("variant", best.id, f"{reason}; the largest that runs there")
        return best

    def _offered(self, hardware: HardwareProfile) -> list[str]:
        """The strategies that the recipe offers on this hardware."""
        recipe = self.recipe
        offered = [
            name for name in recipe.compatible_strategies
            if not is_unsupported(recipe.strategy_hardware.get(name, {}), hardware)
        ]
        added = [
            name for name, support in recipe.strategy_hardware.items()
            if name not in offered and _is_supported(support, hardware)
        ]
        return offered + added

    def _nodes(self, variant: Variant, hardware: HardwareProfile) -> int:
        """The nodes asked for, or as many as the weights need."""
        selected = next((b.select.nodes for b in reversed(self.blocks) if b.select.nodes), None)
        if self.request.nodes is not None:
            return self.request.nodes
        if selected is not None:
            return selected
        offered = self._offered(hardware)
        named = self.request.strategy
        candidates = [named] if named else offered
        if not any(name.startswith("multi_node") for name in candidates):
            return 1
        needed = variant.vram_minimum_gb or 0
        if needed <= hardware.vram_gb and not (named or "").startswith("multi_node"):
            return 1
        min_gpus = self.recipe.strategy_min_gpus.get(hardware.id, 0)
        least = max(2, _ceil(min_gpus / hardware.gpu_count))
        enough = max(least, _ceil(needed / hardware.vram_gb))
        if self.request.hardware is None and enough > least:
            # Nobody's machine: the recorded choices show the smallest layout there.
            self.notes.append(
                f"the weights of variant {variant.id} need {enough} nodes of {hardware.id}; this is "
                f"the layout for {least}: name --hardware to plan for real nodes"
            )
            return least
        return enough

    def _settled_nodes(self, strategy: Strategy, nodes: int) -> int:
        """Check the node count against the strategy."""
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
        if strategy.deploy_type == "pd_cluster":
            return 1
        return nodes

    def _strategy(self, hardware: HardwareProfile, nodes: int, of_preset: str | None) -> str:
        offered = self._offered(hardware)
        asked = self.request.strategy or of_preset
        if asked is not None:
            if asked not in offered:
                raise self._not_offered(asked, offered, hardware)
            why = "asked for" if self.request.strategy else "the preset sets it"
            self.because("strategy", asked, why)
            return asked
        default = self.recipe.default_strategy
        sibling = default.replace("single_node", "multi_node") if default else None
        if nodes > 1:
            preferred = (sibling, *_MULTI_NODE_PREFERENCE)
            preferred = (*preferred, *(n for n in offered if n.startswith("multi_node")))
        else:
            preferred = (default, "single_node_tp", *offered)
        for name in preferred:
            if name is not None and name in offered:
                why = "the recipe's default" if name in (default, sibling) else "the usual layout"
                self.because("strategy", name, f"{why} on {nodes} node{'s' * (nodes > 1)}")
                return name
        raise NothingFits(
            f"{self.recipe.id} offers no strategy for {nodes} nodes of {hardware.id}",
            hint=f"strategies: {', '.join(offered) or 'none'}",
        )

    def _not_offered(self, asked: str, offered: list[str], hardware: HardwareProfile) -> UsageError:
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

    def _features(
        self, variant: Variant, hardware: HardwareProfile, strategy: str
    ) -> tuple[tuple[str, str | None], ...]:
        """The features that are on, with their modes, in the order of being put together."""
        picked = self._picked_features(variant, hardware)
        check_features(self.recipe, [name for name, _ in picked], hardware)
        for name in self.request.drop_features:
            if name not in self.recipe.features:
                check_features(self.recipe, [name], hardware)
        settled = []
        for name, asked in picked:
            feature = self.recipe.features[name]
            if feature.strategies is not None and strategy not in feature.strategies:
                self.notes.append(
                    f"the feature {name} adds nothing under {strategy}; it is for "
                    f"{', '.join(feature.strategies)}"
                )
            elif not feature.modes and asked is None:
                settled.append((name, None))
            else:
                settled += self._with_mode(feature, asked, variant, hardware)
        return tuple(settled)

    def _with_mode(
        self, feature: Feature, asked: str | None, variant: Variant, hardware: HardwareProfile
    ) -> list[tuple[str, str | None]]:
        """A feature with the mode that it works in; off, and said so, where it has none here."""
        if any(name == feature.id for name, _ in self.request.add_features):
            return [(feature.id, require_mode(feature, asked, variant, hardware))]
        mode = pick_mode(feature, asked, variant, hardware)
        if mode is None:
            self.notes.append(
                f"the feature {feature.id} is off: no mode of it runs with variant {variant.id} "
                f"on {hardware.id}"
            )
            return []
        if asked not in (None, mode):
            self.notes.append(
                f"the feature {feature.id} works in mode {mode}: {asked} does not run with "
                f"variant {variant.id} on {hardware.id}"
            )
        return [(feature.id, mode)]

    def _picked_features(
        self, variant: Variant, hardware: HardwareProfile
    ) -> tuple[tuple[str, str | None], ...]:
        request = self.request
        if request.features is not None:
            return request.features
        selected: dict[str, bool | str] = {}
        for block in self.blocks:
            selected.update(block.select.features)
        on: dict[str, str | None] = {}
        defaults = self._default_features(variant, hardware)
        added = dict(request.add_features)
        for name in self.recipe.features:
            pick = selected.get(name, name in defaults)
            if name in added:
                pick = added[name] or True
            elif name in request.drop_features:
                pick = False
            if pick:
                on[name] = pick if isinstance(pick, str) else None
        on.update((name, mode) for name, mode in added.items() if name not in on)
        return tuple(on.items())

    def _default_features(self, variant: Variant, hardware: HardwareProfile) -> Collection[str]:
        """All but the opt-in ones and those that cannot run here; the variant's own modes are on."""
        recipe = self.recipe
        opt_in = {*recipe.opt_in_features, *recipe.hardware_opt_in_features.get(hardware.id, ())}
        names = []
        for name, feature in recipe.features.items():
            if name in opt_in and name not in variant.default_modes:
                continue
            if is_unsupported(feature.hardware, hardware):
                self.notes.append(f"the feature {name} is off: it does not run on {hardware.id}")
                continue
            names.append(name)
        return names


def _fits(variant: Variant, hardware: HardwareProfile) -> bool:
    return (variant.vram_minimum_gb or 0) <= hardware.vram_gb


def _footprint(variant: Variant) -> float:
    return variant.vram_minimum_gb or 0


def _is_supported(support: Mapping[str, str], hardware: HardwareProfile) -> bool:
    keys = (hardware.id, hardware.generation, hardware.brand.lower())
    return next((support[key] for key in keys if key in support), "") == "supported"


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _near(word: str, words: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}? " if near else ""
