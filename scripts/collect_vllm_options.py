#!/usr/bin/env python3
"""Read what an installed vLLM knows, out of its own parser and sources, as JSON.

    python collect_vllm_options.py > VERSION.json

To be run by the Python of an environment that has vLLM; a GPU is not needed. compact_vllm_options
folds the files of several releases into the one that the launcher ships.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Where releases keep the parser of vllm serve, the newest first.
PARSERS = ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.openai.cli_args")
PARSER_CLASSES = ("vllm.utils.argparse_utils", "vllm.utils")


def main() -> int:
    """Print the record of the installed vLLM."""
    settle_platform()
    package = Path(str(import_module("vllm").__file__)).parent
    record = {
        "vllm": version("vllm").partition("+")[0],
        "options": [option(action) for action in actions() if action.option_strings],
        "env": sorted(import_module("vllm.envs").environment_variables),
        "config_fields": dict(fields(package / "config")),
        "attention_backends": attention_backends(),
        "kv_connectors": sorted(kv_connectors()),
        "tool_parsers": sorted(registered("vllm.tool_parsers", "ToolParserManager")),
        "reasoning_parsers": sorted(registered("vllm.reasoning", "ReasoningParserManager")),
    }
    json.dump(record, sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


def settle_platform() -> None:
    """Without a GPU, be the CPU: the parser's defaults ask which device there is."""
    platforms = import_module("vllm.platforms")
    if not platforms.current_platform.device_type:
        cpu = import_module("vllm.platforms.cpu").CpuPlatform()
        setattr(platforms, "_current_platform", cpu)  # noqa: B010 - a module has no such name


def first(modules: Iterable[str], name: str) -> Any:
    """A name from the first module that has it."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"this vLLM has no {name} where it is looked for")


def actions() -> list[argparse.Action]:
    """The parser's actions of vllm serve."""
    parser = first(PARSER_CLASSES, "FlexibleArgumentParser")(prog="vllm serve")
    found: list[argparse.Action] = first(PARSERS, "make_arg_parser")(parser)._actions
    return found


def option(action: argparse.Action) -> dict[str, Any]:
    """One option as plain data."""
    kind = "bool" if isinstance(action, argparse.BooleanOptionalAction) else "value"
    if kind == "value" and action.nargs == 0:
        kind = "flag"
    choices = None if action.choices is None else [str(choice) for choice in action.choices]
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "kind": kind,
        "nargs": None if action.nargs is None else str(action.nargs),
        "type": None if action.type is None else getattr(action.type, "__name__", "?"),
        "choices": choices,
        "deprecated": bool(getattr(action, "deprecated", False)),
    }


def fields(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """The annotated fields of every class in the configuration's sources."""
    for path in sorted(directory.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                names = [
                    line.target.id
                    for line in node.body
                    if isinstance(line, ast.AnnAssign)
                    and isinstance(line.target, ast.Name)
                    and "ClassVar" not in ast.unparse(line.annotation)
                ]
                if names:
                    yield node.name, names


def attention_backends() -> list[str]:
    """Names that --attention-backend takes."""
    modules = ("vllm.v1.attention.backends.registry", "vllm.attention.backends.registry")
    return list(first(modules, "AttentionBackendEnum").__members__)


def kv_connectors() -> list[str]:
    """Names that kv_connector takes."""
    module = "vllm.distributed.kv_transfer.kv_connector.factory"
    return list(first((module,), "KVConnectorFactory")._registry)


def registered(module: str, manager: str) -> set[str]:
    """The parsers of a manager, those that are imported on demand included."""
    found = first((module,), manager)
    names: set[str] = set()
    for attribute in ("lazy_parsers", "tool_parsers", "reasoning_parsers"):
        names |= set(getattr(found, attribute, {}))
    return names


if __name__ == "__main__":
    sys.exit(main())
