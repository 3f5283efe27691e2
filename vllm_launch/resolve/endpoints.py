"""Placeholders such as $HEAD_IP: which are left, and plans with them filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model.deployment import Deployment, KvStorePlan, ProcessPlan

_VERSION_6 = frozenset("0123456789abcdefABCDEF:.")
_PATTERN = r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))"


def placeholders(plan: ProcessPlan) -> tuple[str, ...]:
    """The names of the placeholders in a process's arguments and variables, each once."""
    texts = [token for _, tokens, _ in plan.arguments for token in tokens]
    texts += [value for _, value, _ in plan.variables]
    names: dict[str, None] = {}
    for text in texts:
        if "$" in text:
            names.update(dict.fromkeys(names_in(text)))
    return tuple(names)


def names_in(text: str) -> list[str]:
    """The names of the placeholders in a text."""
    if "$" not in text:
        return []
    import re

    return [braced or bare for braced, bare in re.findall(_PATTERN, text)]


def pieces(text: str) -> list[tuple[str, bool]]:
    """A text taken apart: what stands there as it is, and (True) names of placeholders."""
    import re

    found: list[tuple[str, bool]] = []
    end = 0
    for match in re.finditer(_PATTERN, text):
        found += [(text[end : match.start()], False), (match[1] or match[2], True)]
        end = match.end()
    return [*found, (text[end:], False)]


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Text with the known placeholders replaced; a longer name is never taken for a shorter.

    An IPv6 address with a port behind it is put in brackets.
    """
    if "$" not in text:
        return text
    import re

    def value(match: re.Match[str]) -> str:
        found = values.get(match[1] or match[2], match[0])
        before_port = match.string.startswith(":", match.end())
        return f"[{found}]" if before_port and _is_version_6(found) else found

    return re.sub(_PATTERN, value, text)


def fill_host(text: str, values: Mapping[str, str]) -> str:
    """A word of a URL with the known placeholders replaced: an IPv6 address is in brackets."""
    found = fill_text(text, values)
    return f"[{found}]" if found != text and _is_version_6(found) else found


def _is_version_6(text: str) -> bool:
    """Whether a value is an IPv6 address: nothing else has two colons and is made of these."""
    digits = text.partition("%")[0]
    return digits.count(":") > 1 and frozenset(digits) <= _VERSION_6


def fill(deployment: Deployment, values: Mapping[str, str]) -> Deployment:
    """A deployment with the given placeholders filled, in processes, router and store."""
    if not values:
        return deployment
    router = fill_text(deployment.router, values) if deployment.router else None
    filled = _each_text(deployment, lambda text: fill_text(text, values))
    return filled.replace(router=router, store=fill_store(deployment.store, values))


def fill_store(store: KvStorePlan | None, values: Mapping[str, str]) -> KvStorePlan | None:
    """A store's commands and files with the known placeholders filled."""
    if store is None:
        return None
    return store.replace(
        master=fill_text(store.master, values) if store.master else None,
        store_command=fill_text(store.store_command, values) if store.store_command else None,
        mooncake_config=fill_json(store.mooncake_config, values),
        store_config=fill_json(store.store_config, values),
    )


def fill_json(value: object, values: Mapping[str, str]) -> object:
    """A JSON value with the known placeholders filled in its texts."""
    if isinstance(value, str):
        return fill_text(value, values)
    if isinstance(value, dict):
        return {key: fill_json(each, values) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [fill_json(each, values) for each in value]
    return value


def names_in_json(value: object) -> list[str]:
    """The names of the placeholders in a JSON value's texts."""
    if isinstance(value, str):
        return names_in(value)
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list, tuple)):
        return []
    return [name for each in inside for name in names_in_json(each)]  # type: ignore[attr-defined]


def fill_process(plan: ProcessPlan, values: Mapping[str, str]) -> ProcessPlan:
    """A server's plan with the known placeholders filled, but for the operator's own words."""
    return _changed(plan, lambda text: fill_text(text, values), but="operator")


def expand_home(deployment: Deployment, home: str) -> Deployment:
    """A deployment with a leading ~ in values as the home directory, as a shell would have it."""

    def expanded(text: str) -> str:
        return home + text[1:] if text == "~" or text.startswith("~/") else text

    return _each_text(deployment, expanded)


def _each_text(deployment: Deployment, change: Callable[[str], str]) -> Deployment:
    """A deployment with each token and value changed; where none is, the very same."""
    processes = tuple(_changed(plan, change) for plan in deployment.processes)
    if all(new is old for new, old in zip(processes, deployment.processes, strict=True)):
        return deployment
    return deployment.replace(processes=processes)


def _changed(plan: ProcessPlan, change: Callable[[str], str], but: str = "") -> ProcessPlan:
    """A plan with its texts changed, but for those of one layer."""
    arguments = tuple(
        one if one[2].layer == but else (one[0], tuple(change(word) for word in one[1]), one[2])
        for one in plan.arguments
    )
    variables = tuple(
        one if one[2].layer == but else (one[0], change(one[1]), one[2]) for one in plan.variables
    )
    if arguments == plan.arguments and variables == plan.variables:
        return plan
    return plan.replace(arguments=arguments, variables=variables)
