"""Placeholders such as $HEAD_IP: which are left, and plans with them filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model.deployment import Deployment, KvStorePlan, ProcessPlan

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
    """Text with the known placeholders replaced; a longer name is never taken for a shorter."""
    if "$" not in text:
        return text
    import re

    return re.sub(_PATTERN, lambda m: values.get(m[1] or m[2], m[0]), text)


def fill(deployment: Deployment, values: Mapping[str, str]) -> Deployment:
    """A deployment with the given placeholders filled, in processes, router and store."""
    if not values:
        return deployment
    router = fill_text(deployment.router, values) if deployment.router else None
    filled = _each_text(deployment, lambda text: fill_text(text, values))
    return filled.replace(router=router, store=_filled_store(deployment.store, values))


def _filled_store(store: KvStorePlan | None, values: Mapping[str, str]) -> KvStorePlan | None:
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


def fill_process(plan: ProcessPlan, values: Mapping[str, str]) -> ProcessPlan:
    """A server's plan with the known placeholders filled."""
    return _changed(plan, lambda text: fill_text(text, values))


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


def _changed(plan: ProcessPlan, change: Callable[[str], str]) -> ProcessPlan:
    arguments = tuple(
        (flag, tuple(change(token) for token in tokens), source)
        for flag, tokens, source in plan.arguments
    )
    variables = tuple((name, change(value), source) for name, value, source in plan.variables)
    if arguments == plan.arguments and variables == plan.variables:
        return plan
    return plan.replace(arguments=arguments, variables=variables)
