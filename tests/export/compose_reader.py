"""Reads compose.yaml as Docker Compose does: what each service's process is started with."""

from __future__ import annotations

import re
from typing import Any

from tests.fast_yaml import documents

_VARIABLE = re.compile(r"\$(?:(\$)|(\{)?[A-Za-z_])")


def services(text: str) -> dict[str, dict[str, Any]]:
    """The services, with dollar signs as Compose hands them on."""
    (data,) = documents(text)
    assert list(data) == ["services"]
    return {name: interpolated(service) for name, service in data["services"].items()}


def interpolated(value: Any) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(_dollar, value)
    if isinstance(value, list):
        return [interpolated(each) for each in value]
    if isinstance(value, dict):
        return {key: interpolated(each) for key, each in value.items()}
    return value


def _dollar(match: re.Match[str]) -> str:
    assert match[1], f"{match.string}: Compose finds a variable in it"
    return "$"


def process(service: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """A service's words and the variables that have values; of vLLM's image the entry point."""
    argv = [*service.get("entrypoint", ["vllm", "serve"]), *service["command"]]
    pairs = (entry.split("=", 1) for entry in service.get("environment", ()) if "=" in entry)
    return argv, dict(pairs)
