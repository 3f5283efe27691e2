#!/usr/bin/env python3
"""Read what an installed vLLM knows, out of its own parser and sources, as JSON.

    python collect_vllm_options.py > VERSION.json

To be run by the Python of an environment that has vLLM; a GPU is not needed. compact_vllm_options
folds the files of several releases into the one that the launcher ships. What check --deep runs
in a vLLM's own Python is the same file.
"""

from __future__ import annotations

import runpy
from pathlib import Path

COLLECT = Path(__file__).parents[1] / "vllm_launch" / "vllm_options" / "collect.py"

if __name__ == "__main__":
    runpy.run_path(str(COLLECT), run_name="__main__")
