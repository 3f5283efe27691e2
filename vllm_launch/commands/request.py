"""The request that a command line's options make: what is asked for, and by which option."""

from __future__ import annotations

from ..errors import UsageError
from ..model.choice import Pool, Pools, Request
from ..model.source import Source, paired
from .remarks import in_container

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..model.source import Arguments, Variables
    from ..settings import Settings


def request_of(found: Found, invocation: Invocation, settings: Settings, env: Variables) -> Request:
    """What the options ask of a recipe, but for the hardware. Raises UsageError."""
    on, off = _features(settings)
    preset, point = _preset(settings)
    return Request(
        variant=_variant(found, settings),
        strategy=settings["strategy"],
        nodes=settings["nodes"],
        tp=settings["tp"],
        add_features=on,
        drop_features=off,
        kv_offload=settings["kv_offload"],
        instances=settings["instances"],
        pools=_pools(settings),
        preset=preset,
        point=point,
        image=settings["image"],
        args=_operator_arguments(invocation, settings),
        args_role=settings["role"],
        pool_args=_pool_ports(settings),
        env=env,
        model_path=found.model_path,
        set_by=tuple((name, settings.source(name)) for name in ("tp", "image")),
    )


def _variant(found: Found, settings: Settings) -> str | None:
    """The variant asked for, by its name or by its checkpoint. Raises UsageError for two."""
    asked = settings["variant"]
    if asked is not None and found.variant not in (None, asked):
        raise UsageError(
            f"the checkpoint named is variant {found.variant}, and {settings.source('variant')} "
            f"asks for {asked}",
            hint=f"leave one out, or name the recipe: {found.recipe.id}",
        )
    return asked or found.variant


def _features(settings: Settings) -> tuple[tuple[tuple[str, str | None], ...], tuple[str, ...]]:
    """The features to turn on, with their modes, and those to turn off.

    Of one that is in both, what was set nearer to the command line holds. Raises UsageError where
    neither was.
    """
    on = [_feature(text) for text in settings.listed("feature")]
    off = [_plain_feature(text, settings) for text in settings.listed("no_feature")]
    for name in {name for name, _ in on}.intersection(off):
        if settings.outranks("no_feature", "feature"):
            on = [feature for feature in on if feature[0] != name]
        elif settings.outranks("feature", "no_feature"):
            off.remove(name)
        else:
            raise UsageError(
                f"{settings.source('feature')} turns {name} on, and "
                f"{settings.source('no_feature')} turns it off",
                hint="leave one out",
            )
    return tuple(on), tuple(off)


def _feature(text: str) -> tuple[str, str | None]:
    name, _, mode = text.partition("=")
    return name, mode or None


def _plain_feature(text: str, settings: Settings) -> str:
    name, equals, _ = text.partition("=")
    if equals:
        raise UsageError(
            f"{settings.source('no_feature')}: found {text!r}; expected a feature without a mode",
            hint=f"for example --no-feature {name}",
        )
    return name


def _preset(settings: Settings) -> tuple[str | None, str | None]:
    name, colon, point = (settings["preset"] or "").partition(":")
    if colon and not (name and point):
        raise UsageError(
            f"{settings.source('preset')}: found {settings['preset']!r}; expected NAME[:POINT]",
            hint="for example --preset mi355x_agentx:tp4_c1; see vllm-launch recipes show MODEL",
        )
    return name or None, point or None


def _pools(settings: Settings) -> Pools | None:
    """The pools asked for. One that is not keeps the recipe's size; none leaves both to it."""
    if settings["prefill"] is None and settings["decode"] is None:
        return None
    return Pools(prefill=_pool(settings, "prefill"), decode=_pool(settings, "decode"))


def _pool(settings: Settings, role: str) -> Pool:
    text = settings[role]
    if text is None:
        return Pool()
    nodes, _, mode = text.partition(":")
    if not (nodes.isascii() and nodes.isdecimal() and 1 <= len(nodes) < 5 and int(nodes) > 0):
        raise UsageError(
            f"{settings.source(role)}: found {text!r}; expected NODES[:MODE]",
            hint=f"for example --{role} 2:dep",
        )
    if mode not in ("", "tp", "tep", "dep"):
        raise UsageError(
            f"{settings.source(role)}: found the mode {mode!r}; expected tp, tep or dep"
        )
    return Pool(nodes=int(nodes), parallelism=mode or None)


def _pool_ports(settings: Settings) -> tuple[tuple[str, Arguments], ...]:
    """--prefill-port and --decode-port, each for its pool's servers."""
    found = []
    for role in ("prefill", "decode"):
        port = settings[f"{role}_port"]
        if port is not None:
            source = Source(layer="operator", detail=settings.source(f"{role}_port"))
            found.append((role, paired([("--port", source), (str(port), source)])))
    return tuple(found)


def _operator_arguments(invocation: Invocation, settings: Settings) -> Arguments:
    """--port and --host, then what stands behind "--"."""
    own = []
    for name in ("port", "host"):
        value = settings[name]
        if value is not None and not (name == "host" and in_container(settings)):
            source = Source(layer="operator", detail=settings.source(name))
            own += [(f"--{name}", source), (str(value), source)]
    passed = Source(layer="operator", detail="behind --")
    return (*paired(own), *paired((token, passed) for token in invocation.passed))
