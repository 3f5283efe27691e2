"""Files of a machine, as a tree that readers are pointed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Tree = Callable[[Mapping[str, str]], str]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files under a new root, and return it. A name that ends in / is a directory."""

    def write(files: Mapping[str, str]) -> str:
        root = tmp_path / f"root{len(list(tmp_path.glob('root*')))}"
        root.mkdir()
        for name, content in files.items():
            path = root / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            if content.startswith("#!"):
                path.chmod(0o755)
        return str(root)

    return write
