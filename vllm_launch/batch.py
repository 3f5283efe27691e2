"""Many choices in, many deployments out: JSON lines, in the portable form."""

from __future__ import annotations

import json

from .errors import LaunchError, UsageError
from .model.choice import Pool, Pools, Request
from .render.records import deployment_record, error_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .model.deployment import Deployment
    from .resolve.resolver import Resolver

# ASCII, because a name in an error may be text that no encoding can write.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_MOST = 100_000
_KNOWN = {
    "hardware", "variant", "strategy", "nodes", "features", "kv_offload", "instances", "pd",
    "preset", "point", "host_facts",
}  # fmt: skip


def answers(lines: Iterable[str], resolver_of: Callable[[str], Resolver]) -> Iterator[str]:
    """One line of JSON for each line of JSON; a line that fails answers with its error."""
    for line in lines:
        if line.strip():
            try:
                yield _encode(_answer(line, resolver_of))
            except LaunchError as error:
                yield _encode(error_record(error))


def _answer(line: str, resolver_of: Callable[[str], Resolver]) -> dict[str, Any]:
    try:
        case = json.loads(line.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not valid JSON: {error}") from None
    if not isinstance(case, dict) or not isinstance(case.get("recipe"), str):
        raise UsageError('expected {"recipe": "org/repo", "input": {…}}')
    if not case.keys() <= {"recipe", "input"}:
        unknown = ", ".join(sorted(case.keys() - {"recipe", "input"}))
        raise UsageError(f"unknown key: {unknown}", hint="known: recipe, input")
    resolver = resolver_of(case["recipe"])
    given = case.get("input")
    request = request_of({} if given is None else given)
    if given and given.get("host_facts") is not None:
        deployment = _on_host(request, given["host_facts"], resolver)
    else:
        deployment = resolver.resolve(resolver.choose(request))
    return deployment_record(deployment)


def _on_host(request: Request, facts: Any, resolver: Resolver) -> Deployment:
    """The deployment on a host whose saved facts stand in the line, as --host-facts plans it."""
    from .host.facts_file import from_dict
    from .resolve.on_host import deployment_on, host_of, request_for_host

    if request.hardware is not None:
        raise UsageError("input.hardware and input.host_facts each name a machine")
    saved = from_dict(facts, "input.host_facts")
    host = host_of(saved, resolver.taxonomy.hardware_profiles, {}, saved=True)
    return deployment_on(host, resolver, request_for_host(host, request, None))


def request_of(given: dict[str, Any]) -> Request:
    """A batch input as a request. Raises UsageError for a key or value that cannot be."""
    if not isinstance(given, dict):
        raise UsageError("input must be a mapping")
    if not given.keys() <= _KNOWN:
        unknown = ", ".join(sorted(given.keys() - _KNOWN))
        raise UsageError(
            f"unknown input key: {unknown}", hint=f"known: {', '.join(sorted(_KNOWN))}"
        )
    return Request(
        hardware=_name(given, "hardware"),
        variant=_name(given, "variant"),
        strategy=_name(given, "strategy"),
        nodes=_count(given, "nodes", "input"),
        features=_features(given),
        drop_features=_left_off(given),
        kv_offload=_name(given, "kv_offload"),
        instances=_count(given, "instances", "input"),
        pools=_pools(given),
        preset=_name(given, "preset"),
        point=_name(given, "point"),
    )


def _name(given: dict[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise UsageError(f"input.{key} must be a name, found {value!r}")


def _count(given: dict[str, Any], key: str, path: str) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= _MOST:
        raise UsageError(f"{path}.{key} must be a whole number from 1 to {_MOST}, found {value!r}")
    return value


def _features(given: dict[str, Any]) -> tuple[tuple[str, str | None], ...] | None:
    """``true`` turns a feature on, a text picks its mode, ``false`` leaves it off."""
    features = given.get("features")
    if features is None:
        return None
    if not isinstance(features, dict):
        raise UsageError("input.features must be a mapping from names to true or a mode")
    on: list[tuple[str, str | None]] = []
    for name, value in features.items():
        if value is True:
            on.append((name, None))
        elif isinstance(value, str):
            on.append((name, value))
        elif value is not False and value is not None:
            raise UsageError(f"input.features.{name} must be true or a mode, found {value!r}")
    return tuple(on)


def _left_off(given: dict[str, Any]) -> tuple[str, ...]:
    """The features that are given as ``false``: they must exist too."""
    features = given.get("features")
    if not isinstance(features, dict):
        return ()
    return tuple(name for name, value in features.items() if value is False)


def _pools(given: dict[str, Any]) -> Pools | None:
    """``null`` means both pools on one node; a missing key leaves both to the recipe."""
    if "pd" not in given:
        return None
    pd = given["pd"]
    if pd is None:
        return Pools(shared=True)
    if not isinstance(pd, dict) or not pd.keys() <= {"prefill", "decode"}:
        raise UsageError('input.pd must be null or {"prefill": {…}, "decode": {…}}')
    return Pools(
        prefill=_pool(pd.get("prefill"), "prefill"), decode=_pool(pd.get("decode"), "decode")
    )


def _pool(given: Any, role: str) -> Pool:
    if given is None:
        return Pool()
    if not isinstance(given, dict) or not given.keys() <= {"nodes", "rank", "parallelism"}:
        raise UsageError(f"input.pd.{role} takes nodes, rank and parallelism")
    nodes = _count(given, "nodes", f"input.pd.{role}")
    rank = given.get("rank")
    if rank is not None and (type(rank) is not int or rank < 0):
        raise UsageError(f"input.pd.{role}.rank must be a whole number from 0, found {rank!r}")
    mode = given.get("parallelism")
    if mode not in (None, "tp", "tep", "dep"):
        raise UsageError(f"input.pd.{role}.parallelism must be tp, tep or dep, found {mode!r}")
    return Pool(nodes=nodes, rank=rank, parallelism=mode)
