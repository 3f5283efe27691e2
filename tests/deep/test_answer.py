"""What a vLLM said, among the releases that are known."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deep.stand_in import RECORDED
from tests.preflight.build import options
from vllm_launch.preflight.target import place_of
from vllm_launch.vllm_options.answer import among, read

ANSWER = read(RECORDED.read_bytes(), 0)
TABLE = options()


def test_the_recorded_answer() -> None:
    assert ANSWER.version == "0.32.0+cpu"
    assert len(ANSWER.options) > 300
    assert "AttentionConfig" in {kind.removeprefix("fields:") for kind in ANSWER.names}


def test_the_build_has_a_place_of_its_own() -> None:
    place = place_of(TABLE, ANSWER.version)
    found = among(TABLE, ANSWER, place)
    assert found.releases[place - 1 : place + 2] == ("0.32.0", "0.32.0+cpu", "0.33.0")
    assert found.asked == place


def test_a_build_of_a_release_knows_what_the_table_says_of_it() -> None:
    """0.32.0 for CPUs against 0.32.0 as it was published: every kind of name is the same."""
    place = place_of(TABLE, ANSWER.version)
    found = among(TABLE, ANSWER, place)
    release, build = 1 << place - 1, 1 << place
    for kind in found.names:
        assert sorted(found.known(kind, build)) == sorted(found.known(kind, release)), kind


@pytest.mark.parametrize("place", [0, 5, 10])
def test_what_releases_have_does_not_change(place: int) -> None:
    found = among(TABLE, ANSWER, place)
    for number in range(len(TABLE.releases)):
        before = 1 << number
        after = before if number < place else before << 1
        for kind in TABLE.names:
            assert TABLE.known(kind, before) == found.known(kind, after)
        for flag in TABLE.options:
            forms = [(f.kind, f.type, bool(f.deprecated & before)) for f in TABLE.forms(flag)
                     if f.releases & before]  # fmt: skip
            assert forms == [
                (f.kind, f.type, bool(f.deprecated & after))
                for f in found.forms(flag)
                if f.releases & after
            ]


def test_commands_that_were_not_judged() -> None:
    with pytest.raises(ValueError, match="its answer judges 0 commands of 2"):
        read(RECORDED.read_bytes(), 2)


def test_a_refusal_is_one_short_line() -> None:
    told = json.loads(RECORDED.read_text(encoding="utf-8"))
    text = (
        "argument --x: bad\nvalue\x1b[31m\n  For further information visit https://x\n" + "y" * 999
    )
    told["refusals"] = [["", text], None, ["KeyError", ""]]
    first, second, third = read(json.dumps(told).encode(), 3).refusals
    assert first is not None
    assert first[1].startswith("argument --x: bad value[31m yyy")
    assert len(first[1]) == 400
    assert second is None
    assert third == ("KeyError", "without a word")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["build", "options", "env", "config_fields", "attention_backends", "kv_connectors",
             "tool_parsers", "reasoning_parsers", "refusals", "flags", "kind", "nargs", "type"]
        ),
        below,
        max_size=9,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JSON.filter(lambda told: not (isinstance(told, dict) and told.get("options"))))
def test_whatever_comes_is_read_or_refused_with_a_reason(told: object) -> None:
    with pytest.raises(ValueError, match=r"^its answer "):
        read(json.dumps(told).encode(), 0)


WORD = st.text(max_size=5) | st.none() | st.integers()
OPTION = st.fixed_dictionaries(
    {"flags": st.lists(st.sampled_from(["--a", "-b", "--no-a", "c", "", "\n"]) | WORD, max_size=3)},
    optional={"kind": st.sampled_from(["value", "bool", "flag", "x"]), "nargs": WORD,
              "type": WORD, "choices": st.lists(WORD, max_size=2) | WORD, "deprecated": WORD},
)  # fmt: skip


@given(OPTION)
def test_an_option_is_put_among_the_others_or_refused(option: dict[str, object]) -> None:
    told = {name: [] for name in json.loads(RECORDED.read_text(encoding="utf-8"))}
    told |= {"build": "9.9", "config_fields": {}, "options": [option]}  # type: ignore[dict-item]
    try:
        answer = read(json.dumps(told).encode(), 0)
    except ValueError as error:
        reason = str(error)
        holds = reason.startswith("its answer ")
    else:
        found = among(TABLE, answer, len(TABLE.releases))
        holds = all(found.having_flag(flag) for flag in answer.options[0].flags)
    assert holds


@given(st.binary(max_size=50))
def test_whatever_bytes_come(data: bytes) -> None:
    with pytest.raises(ValueError, match="its answer is no "):
        read(data, 0)


@pytest.mark.parametrize("field", json.loads(RECORDED.read_text(encoding="utf-8")))
def test_every_field_is_needed(field: str) -> None:
    told = json.loads(RECORDED.read_text(encoding="utf-8"))
    del told[field]
    if field == "vllm":  # for the tables of releases alone
        read(json.dumps(told).encode(), 0)
        return
    with pytest.raises(ValueError, match=field):
        read(json.dumps(told).encode(), 0)
