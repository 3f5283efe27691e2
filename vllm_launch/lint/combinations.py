"""Every combination that a recipe offers, resolved."""

from __future__ import annotations

from ..errors import LaunchError, NothingFits, RecipeError, UsageError
from ..model.choice import Request
from ..preflight.conflicts import RULES, switches
from ..preflight.situation import Situation
from ..resolve.picks import against, offloads, picks
from .fault import Fault, at, of_finding
from .shadowed import Shadows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.choice import Choice
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.recipe import Preset, Variant
    from ..model.source import Source
    from ..model.taxonomy import HardwareProfile
    from ..model.vllm import VllmOptions
    from ..resolve.resolver import Resolver

_IMAGE = "lint"  # images are looked at by themselves


class Trial:
    """One recipe's combinations: what they used, and what was wrong with how many of them."""

    most = 200_000  # combinations; some ten times what the largest recipe has

    def __init__(self, resolver: Resolver, stores: tuple[str, ...], options: VllmOptions) -> None:
        self.resolver = resolver
        self.recipe = resolver.recipe
        self.stores = stores
        self.options = options
        self.tried = 0
        # The variants and hardware that each block counted for, by its key path.
        self.machines: dict[str, set[tuple[str, str]]] = {}
        self.variants: set[str] = set()
        self.modes: set[tuple[str, str | None]] = set()
        self.shadows = Shadows(self.recipe.where.file)
        self._noted: set[frozenset[str]] = set()
        self._faults: dict[Fault, int] = {}
        self._seen: dict[tuple[tuple[str, ...], ...], list[Fault]] = {}

    @property
    def complete(self) -> bool:
        """Whether all were tried."""
        return self.tried < self.most

    def run(self) -> list[Fault]:
        """Try all of them."""
        for variant, hardware in self.offered():
            for strategy in self._strategies(hardware):
                self._on(variant, hardware, strategy)
        for preset in self.recipe.presets.values():
            for name in preset.variants or (None,):
                for point in (None, *preset.points) if self.complete else ():
                    self._preset(preset, point, name)
        return [fault.replace(combinations=count) for fault, count in self._faults.items()]

    def offered(self) -> Iterator[tuple[Variant, HardwareProfile]]:
        """Each variant on all hardware that it is offered on."""
        for variant in self.recipe.variants.values():
            for hardware in self.resolver.taxonomy.hardware_profiles.values():
                if self.resolver.chooser.why_not(variant, hardware) is None:
                    yield variant, hardware

    def _strategies(self, hardware: HardwareProfile) -> tuple[str, ...]:
        return self.resolver.chooser.offered(hardware) if self.complete else ()

    def _on(self, variant: Variant, hardware: HardwareProfile, strategy: str) -> None:
        """One variant, hardware and strategy with each feature and each KV offload."""
        usual_and_others = (None, *picks(self.resolver, variant, hardware, strategy))
        for offload in (None, *offloads(self.resolver, self.stores, hardware, strategy)):
            for pick in usual_and_others if self.complete else ():
                request = Request(
                    variant=variant.id, hardware=hardware.id, strategy=strategy,
                    kv_offload=offload, image=_IMAGE,
                    add_features=(pick,) if pick is not None else (),
                    drop_features=against(self.resolver, pick) if pick is not None else (),
                )  # fmt: skip
                self.tried += 1
                try:
                    deployment = self.resolver.resolve(self.resolver.choose(request))
                except NothingFits:
                    continue  # too few GPUs, or nodes that cannot be joined: said by the recipe
                except (UsageError, RecipeError) as error:
                    self._refused(error)
                    continue
                self._look(deployment)

    def _preset(self, preset: Preset, point: str | None, variant: str | None) -> None:
        request = Request(preset=preset.id, point=point, variant=variant, image=_IMAGE)
        self.tried += 1
        try:
            deployment = self.resolver.resolve(self.resolver.choose(request))
        except LaunchError as error:
            name = preset.id if point is None else f"{preset.id}:{point}"
            where = preset.where if point is None else preset.points[point].where
            what = f"the preset {name} does not resolve: {_plain(error, where)}"
            self._count(at(where, "LINT_PRESET", "error", what, error.hint))
            return
        self._look(deployment)

    def _refused(self, error: LaunchError) -> None:
        where = self.recipe.where
        what = f"a combination that is offered does not resolve: {_plain(error, where)}"
        self._count(at(where, "LINT_UNRESOLVED", "error", what, error.hint))

    def _look(self, deployment: Deployment) -> None:
        choice = deployment.choice
        self.variants.add(choice.variant)
        self.modes.update(choice.features)
        for process in deployment.processes:
            if choice.kv_offload is None or choice.preset is not None:
                self._note_layers(choice, process)
            for fault in self._conflicts(deployment, process):
                self._count(fault)

    def _note_layers(self, choice: Choice, process: ProcessPlan) -> None:
        """What was put forward counted, whether it held or not."""
        paths = {argument[2].layer for argument in process.layers}
        paths.update([argument[2].layer for argument in process.arguments])
        paths.update([variable[2].layer for variable in process.variable_layers])
        blocks = frozenset(paths)
        if blocks not in self._noted:  # the same blocks replace the same arguments
            self._noted.add(blocks)
            self.shadows.see(process)
        machine = (choice.variant, choice.hardware.id)
        for path in paths:
            self.machines.setdefault(path, set()).add(machine)

    def _conflicts(self, deployment: Deployment, process: ProcessPlan) -> list[Fault]:
        """What the process's arguments have against each other; the same for the same ones."""
        key = tuple([argument[1] for argument in process.arguments])
        found = self._seen.get(key)
        if found is None:
            situation = Situation(deployment=deployment, process=process, options=self.options)
            found = self._seen[key] = list(self._clashes(situation))
        return found

    def _clashes(self, situation: Situation) -> Iterator[Fault]:
        for rule in RULES:
            for finding in rule(situation):
                source = finding.source
                place = source if source is not None and source.file else self.recipe.where
                fault = of_finding("LINT_CONFLICT", finding, place)
                # A later layer that turns a switch back is how layers are meant.
                yield fault.replace(severity="note") if rule is switches else fault

    def _count(self, fault: Fault) -> None:
        self._faults[fault] = self._faults.get(fault, 0) + 1


def _plain(error: LaunchError, where: Source) -> str:
    """An error's message without a place of this very file, which the fault has anyway."""
    if not error.message.startswith(f"{where.file}:"):
        return error.message
    return error.message.removeprefix(f"{where.file}:").partition(": ")[2]
