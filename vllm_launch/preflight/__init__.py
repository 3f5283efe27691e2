"""Checks before a launch: pure functions of a situation to findings."""

from __future__ import annotations

from .registry import CHECKS, Review, review, run_checks, unknown_codes
from .report import script
from .situation import Shape, Situation
from .wanted import wanted

__all__ = [
    "CHECKS",
    "Review",
    "Shape",
    "Situation",
    "review",
    "run_checks",
    "script",
    "unknown_codes",
    "wanted",
]
