"""--lock and --locked: a launch written down, and demanded again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.drift import drift

if TYPE_CHECKING:
    from pathlib import Path

    from .launcher import Operator

M3 = "MiniMaxAI/MiniMax-M3"
PLAN = ("serve", M3, "--hardware", "h200", "--dry-run")


@pytest.fixture
def lock(operator: Operator, tmp_path: Path) -> Path:
    path = tmp_path / "m3.lock"
    ran = operator.run(*PLAN, "--lock", str(path))
    assert (ran.status, ran.err.splitlines()[0]) == (0, f"# wrote the lock {path}")
    return path


def test_a_lock_holds_what_the_launch_stands_on(lock: Path) -> None:
    document = json.loads(lock.read_text())
    assert (document["kind"], document["format"]) == ("lock", 1)
    held = document["lock"]
    assert list(held) == [
        "recipe", "choice", "runtime", "processes", "image", "vllm", "model", "hardware",
    ]  # fmt: skip
    assert held["recipe"]["digest"].startswith("sha256:")
    assert held["processes"][0]["argv"][:3] == ["vllm", "serve", M3]


def test_the_same_launch_holds_its_lock(operator: Operator, lock: Path) -> None:
    ran = operator.run(*PLAN, "--locked", str(lock))
    assert ran.status == 0
    assert ran.out.startswith("vllm serve")


def test_every_field_that_differs_is_named_and_nothing_is_printed(
    operator: Operator, lock: Path
) -> None:
    ran = operator.run(*PLAN, "--locked", str(lock), "--no-feature", "reasoning", "-e", "A=1")
    assert (ran.status, ran.out) == (4, "")
    told = ran.error.splitlines()
    assert (
        told[0] == f"error: this launch is not the one that {lock} holds, and nothing was started"
    )
    assert told[1:4] == [
        "  choice.features: locked tool_calling, reasoning, here tool_calling",
        "  processes.server-0.argv --reasoning-parser: locked minimax_m3, here —",
        "  processes.server-0.environment: locked —, here A",
    ]
    assert told[-1] == f"  mend what differs, or write the lock anew: --lock {lock}"


def test_a_changed_value_of_a_variable_shows_without_being_told(
    operator: Operator, tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    operator.run(*PLAN, "-e", "A=first", "--lock", str(path))
    assert "first" not in path.read_text()
    ran = operator.run(*PLAN, "-e", "A=second", "--locked", str(path))
    assert ran.status == 4
    assert "processes.server-0.values: locked sha256:" in ran.error


NO_LOCKS = {
    "not there": (None, "cannot read {}: No such file or directory"),
    "no JSON": ("{", "{} is no lock: "),
    "other JSON": ("{}", "{} is no lock"),
    "of another format": ('{"kind": "lock", "format": 9}', "{}: found the format 9; expected 1"),
}


@pytest.mark.parametrize(("text", "told"), NO_LOCKS.values(), ids=NO_LOCKS)
def test_what_is_no_lock_is_refused(
    operator: Operator, tmp_path: Path, text: str | None, told: str
) -> None:
    path = tmp_path / "lock"
    if text is not None:
        path.write_text(text)
    ran = operator.run(*PLAN, "--locked", str(path))
    assert (ran.status, ran.out) == (2, "")
    assert ran.error.startswith(f"error: {told.replace('{}', str(path), 1)}")


def test_a_flag_that_moved_alone_is_a_change_of_order() -> None:
    one, other = {"argv": ["a", "--x", "1", "--y"]}, {"argv": ["a", "--y", "--x", "1"]}
    assert list(drift(one, other)) == [("argv (order)", "a --x 1 --y", "a --y --x 1")]


TAMPERED = {
    "words that are none": ({"argv": ["a", 7, None]}, ("argv", "a, 7, —", "a, --x")),
    "no words": ({"argv": "a --x"}, ("argv", "a --x", "a, --x")),
    "an escape": ({"argv": ["a", "--x"], "d": "\x1b[31mred"}, ("d", "[31mred", "—")),
    "a field with an escape": ({"argv": ["a", "--x"], "\x1b[2J": 1}, ("[2J", "1", "—")),
}


@pytest.mark.parametrize(("locked", "told"), TAMPERED.values(), ids=TAMPERED)
def test_a_lock_that_somebody_wrote_by_hand_does_no_harm(
    locked: dict[str, object], told: tuple[str, str, str]
) -> None:
    assert list(drift(locked, {"argv": ["a", "--x"]})) == [told]


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        (0, "write it anew with --lock"),
        (2, "a newer vllm-launch wrote it: use that one, or write it anew with --lock"),
    ],
    ids=["older", "newer"],
)
def test_a_lock_of_another_version_says_what_to_do(
    operator: Operator, lock: Path, form: int, hint: str
) -> None:
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"format": form}))
    ran = operator.run(*PLAN, "--locked", str(lock))
    assert ran.error == f"error: {lock}: found the format {form}; expected 1\n  {hint}\n"


VALUES = st.recursive(
    st.integers() | st.sampled_from(["a", "--x", "a b", ""]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["argv", "name", "env"]), below, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_whatever_two_locks_hold_what_differs_is_told(locked: object, here: object) -> None:
    assert bool(list(drift(locked, here))) is (locked != here)
