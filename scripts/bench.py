"""Measure start-up time, batch speed and memory, against the project's own limits.

    python scripts/bench.py [--corpus FILE --recipes-dir DIR] [--check]

Prints (a) the whole process of a dry run as a multiple of ``python -c pass``, interleaved,
medians; (b) cases a second of one core's time for ``resolve --batch``, JSON in and out, loading
excluded; (c) the peak resident memory of a dry run; (d) how long a deployment of many nodes
takes of one core with all of its parts; (e) the whole process of ``recipes list`` over 200
recipes, those of this project over and over under other names: with an empty cache, and beyond an
empty interpreter with a full one. ``--check`` exits 1 over a limit.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vllm_launch.batch import answers
from vllm_launch.catalog.library import bundled
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.commands.resolve import Resolvers
from vllm_launch.model.choice import Pool, Pools, Request
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.placeholders import meanings, unfilled
from vllm_launch.resolve.resolver import Resolver

ROOT = Path(__file__).resolve().parent.parent
MODEL = "MiniMaxAI/MiniMax-M3.1-Flash"
MAX_START_RATIO = 2.5
MIN_CASES_A_SECOND = 12_000
MAX_PEAK_MIB = 64
MAX_LARGE_MS = 50
NODES = (16, 128)
LISTED = 200
MAX_LIST_COLD_MS = 250
MAX_LIST_WARM_MS = 60  # beyond an empty interpreter


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="JSON lines with recipe and input, or .gz")
    parser.add_argument("--recipes-dir", type=Path, help="the recipes that the corpus is about")
    parser.add_argument("--runs", type=int, default=41, help="process starts of each kind")
    parser.add_argument("--check", action="store_true", help="exit 1 where a limit is missed")
    options = parser.parse_args()
    corpus, recipes = _corpus(options.corpus, options.recipes_dir)
    ratio, peak = _start_up(options.runs)
    rate = _batch(corpus, recipes)
    large = _large()
    cold, warm = _list(options.runs)
    within = [ratio <= MAX_START_RATIO, rate >= MIN_CASES_A_SECOND, peak <= MAX_PEAK_MIB]
    within += [large <= MAX_LARGE_MS, cold <= MAX_LIST_COLD_MS, warm <= MAX_LIST_WARM_MS]
    return 1 if options.check and not all(within) else 0


def _corpus(corpus: Path | None, recipes: Path | None) -> tuple[Path, Path | None]:
    """The corpus asked for, else the recorded one beside the checkout, else the golden file."""
    if corpus is not None:
        return corpus, recipes
    recorded = ROOT.parent / "shared" / "conformance" / "resolve.public.jsonl.gz"
    if recorded.exists():
        return recorded, ROOT.parent / "shared" / "reference" / "upstream"
    return ROOT / "tests" / "resolve" / "golden.jsonl", None


def _start_up(runs: int) -> tuple[float, float]:
    """The dry run's time over an empty interpreter's, and its peak memory in MiB."""
    empty = [sys.executable, "-c", "pass"]
    dry_run = [*_launcher(), "serve", MODEL, "--hardware", "b300", "--dry-run"]
    _run(dry_run)
    times: dict[str, list[float]] = {"empty": [], "dry run": []}
    peak = 0.0
    for _ in range(runs):
        times["empty"].append(_run(empty)[0])
        seconds, peak_kib = _run(dry_run)
        times["dry run"].append(seconds)
        peak = max(peak, peak_kib / 1024)
    base, ours = (statistics.median(times[key]) for key in ("empty", "dry run"))
    ratio = ours / base
    print(
        f"(a) dry run {ours * 1e3:.1f} ms, python -c pass {base * 1e3:.1f} ms: "
        f"{ratio:.2f} times (at most {MAX_START_RATIO})"
    )
    print(f"(c) peak memory of a dry run {peak:.1f} MiB (at most {MAX_PEAK_MIB})")
    return ratio, peak


def _launcher() -> list[str]:
    command = Path(sys.executable).with_name("vllm-launch")
    return [str(command)] if command.exists() else [sys.executable, "-m", "vllm_launch"]


def _list(runs: int) -> tuple[float, float]:
    """Milliseconds of a list without a cache, and of one with it beyond an empty interpreter."""
    with tempfile.TemporaryDirectory() as place:
        recipes, cache = Path(place, "recipes"), Path(place, "cache")
        _write_recipes(recipes)
        command = [*_launcher(), "--recipes-dir", str(recipes), "recipes", "list"]
        variables = {"XDG_CACHE_HOME": str(cache), "XDG_CONFIG_HOME": place}
        times: dict[str, list[float]] = {"empty": [], "cold": [], "warm": []}
        _run(command, variables)
        for _ in range(runs):
            shutil.rmtree(cache)
            times["cold"].append(_run(command, variables)[0])
            times["empty"].append(_run([sys.executable, "-c", "pass"])[0])
            times["warm"].append(_run(command, variables)[0])
    # The best of them: what else the machine is doing can only add to a process's time.
    empty, cold, warm = (1e3 * min(each) for each in times.values())
    print(
        f"(e) recipes list over {LISTED} recipes: cold {cold:.1f} ms (at most "
        f"{MAX_LIST_COLD_MS}), warm {warm:.1f} ms, {warm - empty:.1f} beyond an empty "
        f"interpreter (at most {MAX_LIST_WARM_MS}); {cold / empty:.1f} and {warm / empty:.1f} "
        "times an empty one"
    )
    return cold, warm - empty


def _write_recipes(directory: Path) -> None:
    """As many recipes as are to be listed: this project's under other owners' names."""
    originals = sorted((ROOT / "recipes" / "models").glob("*/*.yaml"))
    for number, original in zip(range(LISTED), itertools.cycle(originals), strict=False):
        owner = original.parent.name
        text = original.read_text(encoding="utf-8")
        path = directory / "models" / f"{owner}{number}" / original.name
        path.parent.mkdir(parents=True)
        path.write_text(text.replace(f"{owner}/", f"{owner}{number}/"), encoding="utf-8")


def _run(command: list[str], variables: dict[str, str] | None = None) -> tuple[float, int]:
    """One process: wall seconds and peak resident KiB. Bytecode is kept, as once installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= variables or {}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} exits {process.returncode}")
    return seconds, usage.ru_maxrss


def _batch(corpus: Path, recipes: Path | None) -> float:
    """Cases a second, the best of five passes over the corpus."""
    lines = [json.dumps({"recipe": c["recipe"], "input": c["input"]}) for c in _cases(corpus)]
    resolvers = Resolvers(Shelf([str(recipes)] if recipes else []))
    for line in lines:
        resolvers(json.loads(line)["recipe"])
    gc.freeze()
    rates = []
    for _ in range(5):
        start = time.process_time()
        answered = sum(1 for _ in answers(lines, resolvers))
        rates.append(answered / (time.process_time() - start))
    print(
        f"(b) {max(rates):,.0f} cases a second over {len(lines)} cases, median "
        f"{statistics.median(rates):,.0f} (at least {MIN_CASES_A_SECOND:,})"
    )
    return max(rates)


def _large() -> float:
    """The most milliseconds for a deployment of many nodes, its parts and placeholders."""
    library = bundled()
    recipe = library.recipe("MiniMaxAI/MiniMax-M3")
    resolver = Resolver(recipe, library)
    took = {}
    for nodes in NODES:
        pool = Pool(nodes=nodes // 2, parallelism="dep")
        for strategy, pools in (
            ("multi_node_dep", None),
            ("pd_cluster", Pools(prefill=pool, decode=pool)),
        ):
            request = Request(
                hardware="h200", strategy=strategy, nodes=None if pools else nodes, pools=pools
            )
            took[f"{strategy} on {nodes} nodes"] = min(
                _resolved(resolver, request) for _ in "12345"
            )
    shown = ", ".join(f"{what} {ms:.1f}" for what, ms in took.items())
    print(f"(d) milliseconds with all parts: {shown} (at most {MAX_LARGE_MS})")
    return max(took.values())


def _resolved(resolver: Resolver, request: Request) -> float:
    start = time.process_time()
    deployment = resolver.resolve(resolver.choose(request))
    all_parts = parts(deployment)
    meanings({name for part in all_parts for name in unfilled(part)}, deployment, all_parts)
    return (time.process_time() - start) * 1e3


def _cases(corpus: Path) -> list[dict[str, object]]:
    opener = gzip.open if corpus.suffix == ".gz" else open
    with opener(corpus, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
