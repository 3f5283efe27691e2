"""What is kept by hand of vLLM's names is so in the table of its releases."""

from __future__ import annotations

import re

import pytest

from tests.preflight.build import options
from vllm_launch.model.flags import LONG
from vllm_launch.preflight import json_values, renames

TABLE = options()
NEWEST = 1 << len(TABLE.releases) - 1


def is_there(name: str, among: int) -> bool:
    """Whether any of these releases has a variable, a flag or a flag's dotted key."""
    flag, _, key = name.partition(".")
    if not flag.startswith("-"):
        return bool(TABLE.having("variables", flag) & among)
    of = json_values.CLASSES.get(flag)
    keyed = not key or (of is not None and TABLE.having(f"fields:{of}", key) & among)
    return bool(TABLE.having_flag(flag) & among and keyed)


def named(text: str) -> list[str]:
    return re.findall(r"(?<![\w-])(?:--[a-z][\w.-]*|VLLM_\w+)", text)


def test_flags_whose_value_is_json() -> None:
    flags = {*json_values.CLASSES, *json_values.PLAIN, *json_values.MAYBE}
    assert [flag for flag in flags if not is_there(flag, -1)] == []
    assert set(json_values.STRICT) <= set(json_values.CLASSES)


def test_short_names_are_those_of_the_long_ones() -> None:
    for short, name in LONG.items():
        assert short in TABLE.forms(name)[-1].flags, short


def test_classes_and_what_is_nested_in_them() -> None:
    classes = {*json_values.CLASSES.values(), *json_values.NESTED.values()}
    assert [of for of in classes if not TABLE.names.get(f"fields:{of}")] == []
    assert [key for of, key in json_values.NESTED if not TABLE.having(f"fields:{of}", key)] == []


@pytest.mark.parametrize("table", [renames.FLAGS, renames.VARIABLES], ids=["flags", "variables"])
def test_what_vllm_gave_up_was_gone_once_and_what_does_the_same_is_there(
    table: dict[str, str],
) -> None:
    releases = [1 << number for number in range(len(TABLE.releases))]
    assert [old for old in table if all(is_there(old, each) for each in releases)] == []
    instead = [name for text in table.values() for name in named(text)]
    assert [name for name in instead if not is_there(name, NEWEST)] == []
    assert set(renames.SAME_VALUE) <= {old for old, new in renames.FLAGS.items() if new}


def test_keys_that_vllm_gave_up_are_gone_and_those_that_do_the_same_are_there() -> None:
    for (of, old), new in renames.FIELDS.items():
        assert not TABLE.having(f"fields:{of}", old) & NEWEST, old
        assert not new or TABLE.having(f"fields:{of}", new) & NEWEST, new


def test_what_is_deprecated_is_still_there_in_a_release_that_warns() -> None:
    for name, (since, text) in renames.DEPRECATED.items():
        assert is_there(name, 1 << TABLE.releases.index(since)), name
        assert [word for word in named(text) if not is_there(word, NEWEST)] == []


def test_keys_that_a_connector_reads_up_to_a_release() -> None:
    for (of, _), last in renames.CONNECTOR_KEYS.items():
        assert TABLE.having("kv_connectors", of) & 1 << TABLE.releases.index(last)
