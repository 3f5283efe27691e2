"""What reading a cached recipe may cost: the slow modules are imported only when needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = "dataclasses enum functools json pathlib re typing yaml difflib zlib importlib.util"
SCRIPT = f"""
import sys
from vllm_launch.catalog.shelf import Shelf
found = Shelf().find("MiniMaxAI/MiniMax-M3")
found.library.strategy("single_node_tp")
print(*sorted(set({SLOW!r}.split()) & set(sys.modules)))
"""


def imported() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT],
        env={"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_a_recipe_from_the_cache_imports_nothing_slow(tmp_path: Path) -> None:
    """Without third-party packages too: -S leaves site-packages out, PyYAML among them."""
    from vllm_launch.catalog.shelf import Shelf

    found = Shelf().find("MiniMaxAI/MiniMax-M3")
    found.library.strategy("single_node_tp")
    assert imported() == []
