"""Reads a configuration file as vLLM's argument parser does, up to the words it goes on with.

After load_config_file and _pull_args_from_config in vllm/utils/argparse_utils.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml


def pulled(argv: list[str], known: frozenset[str] = frozenset()) -> list[str]:
    """The words after ``vllm``, those of the file in their place. ``known``: options there are."""
    assert argv[0] == "serve"
    if "--config" not in argv:
        return argv
    assert argv.count("--config") == 1, "more than one configuration file"
    at = argv.index("--config")
    path = argv[at + 1]
    assert path.rpartition(".")[2] in ("yaml", "yml")
    config = of_mapping(yaml.safe_load(Path(path).read_text(encoding="utf-8")), known)
    assert not argv[1].startswith("-"), "no model"
    return [*argv[:2], *config, *argv[2:at], *argv[at + 2 :]]


def of_mapping(config: dict[str, Any], known: frozenset[str]) -> list[str]:
    words: list[str] = []
    for key, value in config.items():
        option = "--" + key
        if value is True:
            words.append(option)
        elif value is False:
            words += [f"--no-{key}"] if f"--no-{key}" in known else []
        elif isinstance(value, list):
            words += [option, *map(str, value)] if value else []
        elif isinstance(value, dict):
            words += [option, json.dumps(value)]
        else:
            words += [option, str(value)]
    return words
