"""YAML of many pages, read in a tenth of the time where PyYAML has libyaml."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(text: str) -> list[Any]:
    """Each document of a stream."""
    return list(yaml.load_all(text, _LOADER))
