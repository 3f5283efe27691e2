"""What two readings of a recipe resolve to differently, combination by combination."""

from __future__ import annotations

from ..errors import LaunchError
from ..model.choice import Request
from ..model.record import Record
from .picks import against, offloads, picks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ..model.deployment import Deployment, ProcessPlan
    from ..model.taxonomy import HardwareProfile
    from .resolver import Resolver

    Key: TypeAlias = tuple[str, str, str]  # kind, role, name
    Outcome: TypeAlias = Mapping[Key, str]
    Difference: TypeAlias = tuple[str, str, str, str | None, str | None]  # Key, old, new

# The kinds of what is compared. "offered": whether there is such a combination at all.
KINDS = (
    "offered", "error", "model", "image", "nodes", "flag", "variable", "router", "companion",
    "store",
)  # fmt: skip
AXES = ("variant", "preset", "strategy", "hardware", "feature", "kv_offload")
_PICKED = ("feature", "kv_offload")  # what is told wherever there is one


class Target(Record):
    """Hardware to plan for: what it is called, and the request that plans for it."""

    name: str
    profile: HardwareProfile
    request: Request


class Combination(Record):
    """One way to run a recipe."""

    variant: str
    strategy: str
    hardware: str
    preset: str = ""  # "NAME" or "NAME:POINT"; "" without one
    feature: str = ""  # "NAME" or "NAME=MODE", beside what is on by default; "" for that alone
    kv_offload: str = ""  # an option or a store; "" without one

    @property
    def usual(self) -> Combination:
        """The same with what is on by default."""
        return self.replace(feature="", kv_offload="")


class Change(Record):
    """One thing that differs, and everywhere that it does. None: it is not there."""

    kind: str
    role: str  # "" where the processes of the combination agree
    name: str
    old: str | None
    new: str | None
    where: tuple[Combination, ...]


def changes(old: Mapping[Combination, Outcome], new: Mapping[Combination, Outcome]) -> list[Change]:
    """Each change once, with the combinations that it concerns, those with the most first.

    What changes with a feature or a KV offload as it does without one is told of the latter alone.
    """
    found: dict[tuple[bool, Difference], list[Combination]] = {}
    usual: dict[Combination, set[Difference]] = {}
    for combination in dict.fromkeys((*old, *new)):
        differences = list(_differences(old.get(combination), new.get(combination)))
        picked = combination != combination.usual
        known = usual.setdefault(combination.usual, set()) if picked else ()
        for difference in differences:
            if difference not in known:
                found.setdefault((picked, difference), []).append(combination)
        if not picked:
            usual[combination] = set(differences)
    listed = [
        Change(kind=kind, role=role, name=name, old=before, new=after, where=tuple(where))
        for (_, (kind, role, name, before, after)), where in found.items()
    ]
    return sorted(listed, key=lambda change: (KINDS.index(change.kind), -len(change.where)))


def _differences(old: Outcome | None, new: Outcome | None) -> Iterator[Difference]:
    """What differs in one combination; of one that is new or gone, that alone."""
    if old is None or new is None:
        yield "offered", "", "", _offered(old), _offered(new)
        return
    keys = [key for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key)]
    errors = [key for key in keys if key[0] == "error"]
    seen = set()
    for kind, role, name in errors or keys:
        before, after = old.get((kind, role, name)), new.get((kind, role, name))
        shown = "" if _alike(kind, name, (before, after), old, new) else role
        if (kind, shown, name, before, after) not in seen:
            seen.add((kind, shown, name, before, after))
            yield kind, shown, name, before, after


def _offered(outcome: Outcome | None) -> str | None:
    return None if outcome is None else "offered"


def _alike(
    kind: str, name: str, change: tuple[str | None, str | None], old: Outcome, new: Outcome
) -> bool:
    """Whether something changes in the same way in all processes of a combination."""
    roles = {role for _, role, _ in (*old, *new) if role}
    keys = [(kind, role, name) for role in roles]
    return all((old.get(key), new.get(key)) == change for key in keys)


def boxes(
    where: Sequence[Combination], everywhere: Collection[Combination]
) -> list[tuple[tuple[str, ...], ...]]:
    """Combinations as few products of variants, presets, strategies, hardware and so on.

    An empty part of a product stands for whatever there is; ``everywhere`` is all there is. Of
    features and KV offload it stands for none.
    """
    picked = where[0] != where[0].usual
    alike = [each for each in everywhere if (each != each.usual) is picked]
    return [
        tuple(
            () if set(part) == _whole_axis(axis, alike) else part
            for axis, part in zip(AXES, box, strict=True)
        )
        for box in _split(where, alike, 0)
    ]


def _whole_axis(axis: str, everywhere: Sequence[Combination]) -> set[str]:
    return {""} if axis in _PICKED else {getattr(each, axis) for each in everywhere}


def _split(
    where: Sequence[Combination], everywhere: Collection[Combination], depth: int
) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Products that cover exactly some combinations, split along one axis after another."""
    box = tuple(tuple(dict.fromkeys(getattr(each, axis) for each in where)) for axis in AXES)
    inside = sum(
        all(getattr(each, axis) in part for axis, part in zip(AXES, box, strict=True))
        for each in everywhere
    )
    if inside == len(where) or depth == len(AXES):
        yield box
        return
    groups: dict[frozenset[tuple[str, ...]], list[Combination]] = {}
    for name in box[depth]:
        here = [each for each in where if getattr(each, AXES[depth]) == name]
        rest = frozenset(tuple(getattr(e, axis) for axis in AXES[depth + 1 :]) for e in here)
        groups.setdefault(rest, []).extend(here)
    if len(groups) == 1 and depth + 1 == len(AXES):
        groups = {frozenset([(str(i),)]): [each] for i, each in enumerate(where)}
    for group in groups.values():
        yield from _split(group, everywhere, depth + 1)


def outcomes(
    resolver: Resolver, stores: Sequence[str], targets: Iterable[Target]
) -> dict[Combination, Outcome]:
    """What each combination resolves to, and each preset.

    A combination has what is on by default, and then each feature, mode, KV offload and store
    beside it, one at a time.
    """
    found: dict[Combination, Outcome] = {}
    for target in targets:
        ways = (*_usual(resolver, stores, target), *_presets(resolver, target))
        for combination, request in ways:
            found[combination] = _outcome(resolver, request)
    return found


def _usual(
    resolver: Resolver, stores: Sequence[str], target: Target
) -> Iterator[tuple[Combination, Request]]:
    for variant in resolver.recipe.variants.values():
        if resolver.chooser.why_not(variant, target.profile) is not None:
            continue
        for strategy in resolver.chooser.offered(target.profile):
            usual = Combination(variant=variant.id, strategy=strategy, hardware=target.name)
            request = target.request.replace(variant=variant.id, strategy=strategy)
            yield usual, request
            for pick in picks(resolver, variant, target.profile, strategy):
                name = "=".join(filter(None, pick))
                without = against(resolver, pick)
                yield (
                    usual.replace(feature=name),
                    request.replace(add_features=(pick,), drop_features=without),
                )
            for name in offloads(resolver, stores, target.profile, strategy):
                yield usual.replace(kv_offload=name), request.replace(kv_offload=name)


def _presets(resolver: Resolver, target: Target) -> Iterator[tuple[Combination, Request]]:
    for preset in resolver.recipe.presets.values():
        if preset.hardware != target.profile.id:
            continue
        for point in (None, *preset.points):
            combination = Combination(
                variant=preset.variants[0] if preset.variants else "",
                strategy=preset.strategy,
                hardware=target.name,
                preset=f"{preset.id}:{point}" if point else preset.id,
            )
            yield combination, target.request.replace(preset=preset.id, point=point)


def _outcome(resolver: Resolver, request: Request) -> Outcome:
    """What one request resolves to, taken apart; an error where it does not."""
    try:
        deployment = resolver.resolve(resolver.choose(request))
    except LaunchError as error:
        return {("error", "", ""): _placeless(error.message, resolver.recipe.where.file)}
    found = dict(_whole(deployment))
    for plan in deployment.processes:
        if ("model", plan.role, "") not in found:  # the first rank of a role stands for all
            found.update(_process(plan))
    return found


def _placeless(message: str, file: str) -> str:
    """An error's message without file and line, which differ where the same is wrong."""
    if not message.startswith(f"{file}:"):
        return message
    return message.removeprefix(f"{file}:").lstrip("0123456789").removeprefix(": ")


def _whole(deployment: Deployment) -> Iterator[tuple[Key, str]]:
    yield ("nodes", "", ""), str(deployment.choice.nodes)
    if deployment.image is not None:
        yield ("image", "", ""), deployment.image
    if deployment.router is not None:
        yield ("router", "", ""), deployment.router
    for companion in deployment.companions:
        yield ("companion", "", companion.label), companion.command
    if deployment.store is not None:
        for name in ("master", "mooncake_config", "store_config", "store_command"):
            value = getattr(deployment.store, name)
            if value is not None:
                yield ("store", "", name), str(value)


def _process(plan: ProcessPlan) -> Iterator[tuple[Key, str]]:
    yield ("model", plan.role, ""), plan.model
    for flag, tokens, _ in plan.arguments:
        yield ("flag", plan.role, flag or tokens[0]), " ".join(tokens[1:])
    for name, value, _ in plan.variables:
        yield ("variable", plan.role, name), value
