"""The table of codes in the documents is what lint tells."""

from __future__ import annotations

from pathlib import Path

from tests.lint.recipes import RECIPES
from tests.lint.test_written import ARGUMENTS
from vllm_launch.lint import CODES

TEXT = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| `LINT_")
]
LINES = [line for _, lines in (*ARGUMENTS.values(), *RECIPES.values()) for line in lines]
ORDER = ("error", "warning", "note")
# Seen where a whole directory is linted, and where there is no end of combinations.
ELSEWHERE = {
    "LINT_UNRESOLVED": {"error"},
    "LINT_TOO_MANY": {"warning"},
    "LINT_IGNORED": {"warning"},
}


def seen() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {code: set(where) for code, where in ELSEWHERE.items()}
    for line in LINES:
        _, severity, code, _ = line.split(" ", 3)
        found.setdefault(code, set()).add(severity)
    return found


def test_every_code_with_what_it_looks_at() -> None:
    assert [(row[0], row[1]) for row in ROWS] == [
        (f"`{code}`", about) for code, about in CODES.items()
    ]


def test_every_code_is_seen_in_every_severity_that_is_named() -> None:
    named = {row[0].strip("`"): set(row[2].split(", ")) for row in ROWS}
    assert named == seen()
