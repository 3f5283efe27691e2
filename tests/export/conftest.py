"""The operator of the command line's tests."""

from __future__ import annotations

from tests.cli.conftest import cache, operator

__all__ = ["cache", "operator"]
