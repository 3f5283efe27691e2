#!/usr/bin/env python3
"""Measure recipes lint: files, combinations, seconds of one core.

    bench_lint.py [DIRECTORY] [--limit SECONDS]

DIRECTORY is a recipes directory; without one, the bundled one. Exits 1 over the limit.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from vllm_launch.catalog.shelf import Shelf
from vllm_launch.commands.lint import faults_in
from vllm_launch.commands.lint_files import files_of
from vllm_launch.vllm_options import load


def main() -> int:
    """Lint every file once, and say what took how long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--limit", type=float, help="seconds of processor time")
    options = parser.parse_args()
    shelf = Shelf()
    library = shelf.directory(str(options.directory)) if options.directory else shelf.bundled
    start = time.process_time()
    jobs, tables, tried = list(files_of(library)), load(), 0
    slowest: list[tuple[float, str]] = []
    for job in jobs:
        before = time.process_time()
        tried += faults_in(job, tables)[1]
        slowest.append((time.process_time() - before, job[1]))
    seconds = time.process_time() - start
    print(f"{len(jobs)} files, {tried:,} combinations, {seconds:.1f} s of one core")
    for took, path in sorted(slowest, reverse=True)[:3]:
        print(f"  {took:5.2f} s  {path}")
    return 1 if options.limit is not None and seconds > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
