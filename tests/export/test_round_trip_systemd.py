"""What systemd would start out of an export is what the plan says, word for word."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.export import real_systemd
from tests.export.cases import (
    LAYOUTS,
    ODD,
    brief,
    expected,
    layout,
    needs_recorded,
    recorded,
    spelt,
)
from tests.export.unit_reader import process
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.systemd import files

PROGRAMS = {
    name: f"/opt/vllm/bin/{name}"
    for name in ("vllm", "vllm-router", "lmcache", "mooncake_master", "python3")
}
OPTIONS = {"programs": PROGRAMS}
DIRECTORY = "/etc/vllm-launch/model"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
needs_systemd = pytest.mark.skipif(
    real_systemd.MANAGER is None and not os.environ.get("CI"), reason="systemd is not installed"
)


def units(plan: Brief) -> dict[str, str]:
    """The services of an export."""
    return {file.name: file.text for file in files(plan) if file.name.endswith(".service")}


def planned(plan: Brief) -> dict[str, tuple[list[bytes], dict[bytes, bytes]]]:
    """What each unit has to start: the plan's words, by the program's whole path."""
    found = {}
    several = len(plan.parts) > 1
    for part in plan.parts:
        if not part.argv:
            continue
        argv, env = expected(part, plan, DIRECTORY)
        words = [os.fsencode(word) for word in (PROGRAMS[argv[0]], *argv[1:])]
        values = {"PATH": f"/opt/vllm/bin:{_SYSTEM_PATH}", **env}
        suffix = f"-{part.name}" if several else ""
        found[f"vllm-model{suffix}.service"] = (
            words,
            {os.fsencode(name): os.fsencode(value) for name, value in values.items()},
        )
    return found


def native(name: str) -> Brief:
    return brief(layout(name), setup=None, options=OPTIONS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_process_is_the_plans(name: str) -> None:
    plan = native(name)
    assert {unit: process(text) for unit, text in units(plan).items()} == planned(plan)


@needs_recorded
def test_every_recorded_command_comes_back() -> None:
    count = 0
    for case, found in recorded():
        plan = brief(found, setup=None, options=OPTIONS)
        read = {unit: process(text) for unit, text in units(plan).items()}
        assert read == planned(plan), case
        count += 1
    assert count >= 550


words = st.text(st.characters(exclude_characters="\0"), max_size=20).map(
    lambda text: text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
)
values = st.text(
    st.characters(exclude_characters="\x7f", exclude_categories=("Cs",), min_codepoint=32)
    | st.sampled_from("\t\n"),
    max_size=20,
)


def own(argv: list[str], value: str) -> Brief:
    return spelt(argv, value, setup=None, options=OPTIONS)


@given(argv=st.lists(words, max_size=4), value=values)
@example(argv=ODD, value="a \"b\" 'c' %n $HOME ${X} \\ \\n ; é 😀\n\t#")
def test_any_words_and_values_of_the_operator_come_back(argv: list[str], value: str) -> None:
    plan = own(argv, value)
    assert {unit: process(text) for unit, text in units(plan).items()} == planned(plan)


@pytest.mark.parametrize("character", ["\x1b", "\r", "\x7f", "\udc80"])
def test_what_systemd_would_leave_out_of_a_variable_is_refused(character: str) -> None:
    with pytest.raises(UsageError) as caught:
        files(own([], f"a{character}"))
    assert caught.value.message == (
        f"OWN: {character!a} is no character that systemd takes in a variable"
    )


def test_nul_is_refused() -> None:
    with pytest.raises(UsageError, match="NUL character"):
        files(own(["a\0"], ""))


@given(line=st.text(max_size=20))
def test_a_header_stays_a_comment(line: str) -> None:
    plan = brief(layout("one server"), setup=None, options=OPTIONS, header=(line, "last\\"))
    assert {unit: process(text) for unit, text in units(plan).items()} == planned(plan)


@needs_systemd
def test_systemd_itself_reads_the_same() -> None:
    """All at once: every layout, odd words, and every word that a byte can make odd."""
    plans = [native(name) for name in LAYOUTS]
    plans += [own(ODD, "".join(c for c in "".join(ODD) if c.isprintable()))]
    plans += [own([f"a{chr(n)}b", f"{chr(n)}"], "") for n in (*range(1, 256), 0x3042, 0xDC80)]
    plans += [own([bytes([n]).decode("utf-8", "surrogateescape")], "") for n in range(128, 256)]
    given_units, wanted = {}, {}
    for number, plan in enumerate(plans):
        given_units |= {f"n{number}-{name}": text for name, text in units(plan).items()}
        wanted |= {f"n{number}-{name}": each for name, each in planned(plan).items()}
    found = real_systemd.loaded(given_units)
    assert found.keys() == wanted.keys()
    for name, (argv, env) in wanted.items():
        assert found[name][0] == argv, name
        assert found[name][1] == [b"=".join(pair) for pair in env.items()], name
