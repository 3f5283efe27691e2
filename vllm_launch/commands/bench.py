"""bench: the recipe's benchmark against a running server, its results kept with a lock."""

from __future__ import annotations

import json
import os
import sys

from ..drift import drift
from ..errors import CheckFailed, LaunchError, MissingProgram, UsageError, not_json
from ..render.shell import command
from ..resolve.benchmark import bench_argv, compared
from ..running.place import make_directory, state_directory
from ..streams import answer, remark
from .client import asked_name, asked_server, served_name, server_url
from .find import find_model
from .secrets import refuse_secret_arguments

_RESULT = "give a --label, a file that bench wrote, or one of vllm bench serve --save-result"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from ..commandline import Invocation
    from ..running.state import Kept
    from ..settings import Settings
    from .plan import Plan


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the benchmark, run it, or compare two of its results."""
    if settings["compare"]:
        return _compare(invocation.argument, settings)
    if invocation.argument is None:
        raise UsageError("bench needs a model", hint="or two results: --compare FIRST --compare …")
    refuse_secret_arguments(invocation.passed)
    found = find_model(invocation.argument, settings)
    kept = asked_server(settings, found.recipe.id)
    url = server_url(settings, kept)
    named = asked_name(found, settings, kept)
    model = _checkpoint(kept) or served_name(found, settings)
    argv = bench_argv(found.recipe.benchmark, model, named, url, invocation.passed)
    as_json = settings["output"] == "json"
    if settings["dry_run"]:
        answer(_record(argv) if as_json else command(argv, ()) + "\n")
        return 0
    directory = _directory(found.recipe.id)
    name = _name(settings)
    argv += ["--save-result", "--result-dir", directory, "--result-filename", f"{name}.json"]
    result, beside = (os.path.join(directory, f"{name}{end}") for end in (".json", ".lock.json"))
    if os.path.lexists(result):
        raise UsageError(f"{result} is there already", hint="give another --label, or delete it")
    status = _measured(argv, _environment(url), sys.stderr if as_json else None)
    there = status == 0 and os.path.exists(result)
    locked = there and _keep_lock(kept, invocation, settings, beside)
    if there:
        remark(f"# result: {result}\n" + (f"# its lock: {beside}\n" if locked else ""))
        _demand_answers(result)
    if as_json:
        answer(_record(argv, status, result if there else None, beside if locked else None))
    return status


def _record(
    argv: list[str],
    status: int | None = None,
    result: str | None = None,
    lock: str | None = None,
) -> str:
    """The benchmark for programs; ``status`` is None where it was not run."""
    from ..render.envelope import envelope

    measured = _json(result) if result is not None else None
    body = {"argv": argv, "status": status, "result": result, "lock": lock, "measured": measured}
    return envelope("benchmark", body)


def _demand_answers(path: str) -> None:
    """Raise CheckFailed where requests failed: vLLM's benchmark calls that a success."""
    found = _json(path)
    failed = found.get("failed") if isinstance(found, dict) else None
    if failed:
        raise CheckFailed(
            f"{failed} of {failed + found.get('completed', 0)} requests failed: the result "
            "says less than it seems to",
            hint="its first errors stand above; vllm-launch verify tests the server",
        )


def _environment(url: str) -> dict[str, str]:
    """The benchmark's variables: the server's key, and no proxy before the server."""
    from urllib.parse import urlsplit

    environment = dict(os.environ)
    if environment.get("VLLM_API_KEY"):
        environment.setdefault("OPENAI_API_KEY", environment["VLLM_API_KEY"])
    direct = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    direct = ",".join(filter(None, (direct, urlsplit(url).hostname)))
    return environment | {"no_proxy": direct, "NO_PROXY": direct}


def _directory(recipe_id: str) -> str:
    """Where a recipe's results are kept."""
    path = os.path.join(state_directory(), "bench", recipe_id.replace("/", "--"))
    try:
        make_directory(path)
    except OSError as error:
        raise UsageError(
            f"cannot keep results in {path}: {error.strerror}", hint="set XDG_STATE_HOME"
        ) from None
    return path


def _name(settings: Settings) -> str:
    """The result's name: the operator's, else the time in UTC."""
    from datetime import datetime, timezone

    asked = settings["label"]
    if asked is not None and (
        not asked.isprintable()
        or os.sep in asked
        or asked.startswith(".")
        or asked.endswith((".json", ".lock"))  # names of what is kept under others
    ):
        raise UsageError(
            f"{settings.source('label')}: found {asked!r}; expected a file's name",
            hint="for example --label tp8",
        )
    return str(asked or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%SZ"))


def _checkpoint(kept: Kept | None) -> str:
    """What a kept server was started with; "" where that is not known."""
    from ..running.reality import from_record

    intent = from_record(kept.intent) if kept is not None else None
    return intent.model if intent is not None else ""


def _keep_lock(kept: Kept | None, invocation: Invocation, settings: Settings, path: str) -> bool:
    """Write what the server stands on beside the result, as far as it resolves here.

    A kept server is the one that its own command line makes, of another nothing is known but
    what is chosen now. A client's machine may have no GPU: then there is no lock, and it is said.
    """
    from .container import container_setup
    from .lock import lock_of, save
    from .plan import make_plan

    try:
        if kept is not None:
            plan, settings = _started(kept)
        else:
            plan = make_plan(invocation.replace(passed=()), settings)
        save(path, lock_of(plan, container_setup(plan, settings), settings))
    except LaunchError as error:
        remark(f"# no lock is kept with the result: {error.message}\n")
        return False
    return True


def _started(kept: Kept) -> tuple[Plan, Settings]:
    """The plan that a kept server was started by, and its settings.

    Raises LaunchError where its command line makes another one by now.
    """
    from ..commandline import parse, split
    from ..running.reality import from_record
    from ..settings import settle
    from .answering import intent_for
    from .plan import make_plan

    words, passed = split(kept.line)
    invocation = parse(words)
    if invocation is None:
        raise UsageError(f"the command line of {kept.name} cannot be read")
    settings = settle(invocation.command.options, invocation.given, os.environ)
    plan = make_plan(invocation.replace(passed=tuple(passed or ())), settings)
    if intent_for(plan) != from_record(kept.intent):
        raise UsageError(f"the command line of {kept.name} makes another plan by now")
    return plan, settings


def _measured(argv: list[str], environment: dict[str, str], stdout: TextIO | None) -> int:
    """Run the benchmark and return its status; Ctrl-C is its own to answer."""
    import subprocess

    from ..launch import program_path

    try:
        program = program_path(argv[0], os.environ.get("PATH"))
    except MissingProgram as error:
        hint = "install vLLM in this environment: the benchmark is a command of its own"
        raise MissingProgram(error.message, hint=hint) from None
    with subprocess.Popen([program, *argv[1:]], env=environment, stdout=stdout) as child:
        while True:
            try:
                status = child.wait()
                break
            except KeyboardInterrupt:
                continue  # the child is in the same group, and has had it too
    return status if status >= 0 else 128 - status


def _compare(only: str | None, settings: Settings) -> int:
    names = [*([only] if only else []), *settings.listed("compare")]
    if len(names) != 2:
        raise UsageError(
            f"--compare: found {', '.join(names)}; expected two results",
            hint="for example vllm-launch bench --compare first.json --compare second.json",
        )
    first, second = (_result(_kept_result(name)) for name in names)
    metrics = list(compared(first[0], second[0]))
    if not metrics:
        raise UsageError(f"{names[0]} and {names[1]} have no metric in common")
    differences = list(drift(first[1], second[1])) if first[1] and second[1] else None
    if settings["output"] == "json":
        from ..render.envelope import envelope

        body: dict[str, Any] = {
            "metrics": [
                {"name": m.name, "first": m.first, "second": m.second, "ratio": m.ratio}
                for m in metrics
            ],
            "locks": None
            if differences is None
            else [
                {"field": field, "first": one, "second": other} for field, one, other in differences
            ],
        }
        answer(envelope("comparison", body))
        return 0
    from ..render.comparison import comparison

    answer(comparison(names, metrics, differences))
    return 0


def _kept_result(name: str) -> str:
    """The path of a result: a file's, or a label's. Raises UsageError for one of several models."""
    from glob import escape, glob

    if os.sep in name or os.path.exists(name):
        return name
    file = f"{name.removesuffix('.json')}.json"
    found = sorted(glob(os.path.join(escape(state_directory()), "bench", "*", escape(file))))
    if len(found) > 1:
        raise UsageError(
            f"--compare: several results are called {name}: {', '.join(found)}", hint=_RESULT
        )
    return found[0] if found else name


def _result(path: str) -> tuple[dict[str, Any], Any]:
    """A result and the lock beside it, if there is one. Raises UsageError."""
    result = _json(path)
    if not isinstance(result, dict):
        raise UsageError(f"{path} is no result: it is other JSON", hint=_RESULT)
    beside = path.removesuffix(".json") + ".lock.json"
    lock = _json(beside) if os.path.exists(beside) else None
    return result, lock.get("lock") if isinstance(lock, dict) else None


def _json(path: str) -> Any:
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        return json.loads(content, parse_constant=lambda _: None)  # NaN is no number
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=_RESULT) from None
    except (ValueError, RecursionError) as error:
        told = f"{path} is no result: {not_json(content, error)}"
        raise UsageError(told, hint=_RESULT) from None
