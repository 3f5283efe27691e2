"""Print what importing a module costs, as a multiple of an empty interpreter's start.

    python scripts/startup.py [MODULE …]

Interleaved runs, medians. To compare releases of Typer, install one and run this again.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

MODULES = ("typer", "yaml", "json", "re", "typing", "dataclasses", "vllm_launch.commands.serve")
RUNS = 21


def main() -> int:
    codes = {"(nothing)": "pass"} | {m: f"import {m}" for m in sys.argv[1:] or MODULES}
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(RUNS):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times[name].append(time.perf_counter() - start)
    empty = statistics.median(times["(nothing)"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name:28} {median * 1e3:6.1f} ms  {median / empty:5.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
