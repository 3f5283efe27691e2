"""The algebra of arguments and environments, by the laws that it keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolve.build import arguments
from vllm_launch.model.source import Source, paired
from vllm_launch.resolve.arguments import (
    deep_merge,
    first_place_last_value,
    last_wins,
    merge_json,
    without,
)

HERE = Source(layer="here")
THERE = Source(layer="there")

# Few names, so that they meet.
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
flags = st.sampled_from(["--a", "--b", "--c", "-d", "--a=1", "--b=2", ""])
values = words.filter(lambda word: not word.startswith("-"))
argument = st.tuples(flags, values, st.sampled_from([HERE, THERE])).map(
    lambda parts: (parts[0], (parts[0] or "word", parts[1]), parts[2])
)
argument_lists = st.lists(argument, max_size=12).map(tuple)
variable_lists = st.lists(
    st.tuples(st.sampled_from("ABCD"), words, st.sampled_from([HERE, THERE])), max_size=12
).map(tuple)

scalars = st.none() | st.booleans() | st.integers(-9, 9) | words
keys = st.sampled_from("abcd")
json_values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(keys, json_values, max_size=4)


def bare(flag: str) -> str:
    return flag.partition("=")[0]


class TestPaired:
    @pytest.mark.parametrize(
        ("tokens", "expected"),
        [
            pytest.param([], [], id="nothing"),
            pytest.param(["--a", "1", "--b"], [("--a", "1"), ("--b",)], id="a value or none"),
            pytest.param(["--a", "1", "2"], [("--a", "1", "2")], id="several values"),
            pytest.param(["--a", "--b"], [("--a",), ("--b",)], id="a flag is no value"),
            pytest.param(["-tp", "4"], [("-tp", "4")], id="a single dash"),
            pytest.param(["--a=1", "x"], [("--a=1", "x")], id="an equals sign"),
            pytest.param(["x", "y", "--a"], [("x", "y"), ("--a",)], id="words before any flag"),
            pytest.param(["--a", "-1", "--b"], [("--a", "-1"), ("--b",)], id="a negative number"),
        ],
    )
    def test_tokens_go_to_the_flag_before_them(
        self, tokens: list[str], expected: list[tuple[str, ...]]
    ) -> None:
        assert [found for _, found, _ in arguments(*tokens)] == expected

    @pytest.mark.parametrize(
        ("token", "flag"),
        [
            ("--max-model-len", "--max-model-len"),
            ("--max_model_len=8_000", "--max-model-len=8_000"),
            ("-tp", "--tensor-parallel-size"),
            ("-tp=4", "--tensor-parallel-size=4"),
            ("-cc.cudagraph_mode=FULL_A", "--compilation-config.cudagraph_mode=FULL_A"),
            ("--compilation_config.pass_config+", "--compilation-config.pass_config+"),
            ("--device_memory_utilization", "--gpu-memory-utilization"),
            ("-O3", "-O3"),
            ("-n2", "-n2"),
        ],
    )
    def test_a_flag_has_its_long_name_however_it_is_written(self, token: str, flag: str) -> None:
        assert arguments(token) == ((flag, (token,), arguments(token)[0][2]),)

    @given(st.lists(words, max_size=12))
    def test_no_token_is_lost_or_moved(self, tokens: list[str]) -> None:
        pairs = paired((token, HERE) for token in tokens)
        assert [token for _, group, _ in pairs for token in group] == tokens


class TestLastWins:
    @given(argument_lists)
    def test_it_keeps_one_of_each_flag_the_last(self, given_: Any) -> None:
        held = last_wins(given_)
        last = {bare(a[0]): a for a in given_}
        assert {bare(a[0]): a for a in held} == last
        assert len(held) == len(last)

    @given(argument_lists)
    def test_what_is_kept_stands_in_the_order_given(self, given_: Any) -> None:
        places = [max(i for i, a in enumerate(given_) if a is kept) for kept in last_wins(given_)]
        assert places == sorted(places)

    @given(argument_lists)
    def test_doing_it_twice_changes_nothing(self, given_: Any) -> None:
        assert last_wins(last_wins(given_)) == last_wins(given_)

    @given(argument_lists, argument_lists)
    def test_layers_can_be_reduced_one_by_one(self, first: Any, second: Any) -> None:
        assert last_wins((*last_wins(first), *second)) == last_wins((*first, *second))


class TestWithout:
    @given(argument_lists, st.sets(st.sampled_from(["--a", "--b", "--c"])))
    def test_it_takes_these_flags_away_and_no_other(self, given_: Any, gone: set[str]) -> None:
        assert without(given_, gone) == tuple(a for a in given_ if bare(a[0]) not in gone)


class TestFirstPlaceLastValue:
    @given(variable_lists)
    def test_names_stand_where_they_came_first(self, given_: Any) -> None:
        names = [name for name, _, _ in first_place_last_value(given_)]
        assert names == list(dict.fromkeys(name for name, _, _ in given_))

    @given(variable_lists)
    def test_values_and_sources_are_the_last(self, given_: Any) -> None:
        last = {name: (value, source) for name, value, source in given_}
        assert {n: (v, s) for n, v, s in first_place_last_value(given_)} == last

    @given(variable_lists)
    def test_doing_it_twice_changes_nothing(self, given_: Any) -> None:
        once = first_place_last_value(given_)
        assert first_place_last_value(once) == once


def typed(depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings in which the same key always holds the same kind: a scalar, or a mapping."""
    plain = st.dictionaries(keys, st.integers(-9, 9), max_size=3)
    if depth == 0:
        return plain
    below = st.dictionaries(st.sampled_from("ABC"), typed(depth - 1), max_size=2)
    return st.tuples(plain, below).map(lambda parts: {**parts[0], **parts[1]})


class TestDeepMerge:
    @pytest.mark.parametrize(
        ("present", "over", "expected"),
        [
            pytest.param({"a": 1}, {"a": None}, {}, id="null takes a key away"),
            pytest.param({"a": 1}, {"b": None}, {"a": 1}, id="or does nothing"),
            pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}, {"a": {"y": 2}}, id="deep"),
            pytest.param({"a": 1}, {"a": {"x": 1}}, {"a": {"x": 1}}, id="a mapping for a scalar"),
            pytest.param({"a": {"x": 1}}, {"a": 2}, {"a": 2}, id="a scalar for a mapping"),
            pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced whole"),
            pytest.param({}, {"a": {"x": None}}, {"a": {}}, id="no null is left behind"),
            pytest.param({"a": None}, {"b": 1}, {"a": None, "b": 1}, id="a null there stays"),
        ],
    )
    def test_one_mapping_is_laid_over_another(
        self, present: dict[str, Any], over: dict[str, Any], expected: dict[str, Any]
    ) -> None:
        assert deep_merge(present, over) == expected

    @given(mappings, mappings)
    def test_doing_it_twice_changes_nothing(self, a: Any, b: Any) -> None:
        assert deep_merge(deep_merge(a, b), b) == deep_merge(a, b)

    @given(mappings)
    def test_nothing_laid_over_changes_nothing(self, a: Any) -> None:
        assert deep_merge(a, {}) == a

    @given(typed(), typed(), typed())
    def test_layers_may_be_merged_in_any_grouping(self, a: Any, b: Any, c: Any) -> None:
        # Where the last layer deletes nothing and no key changes its kind; else it does not hold.
        assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))

    @given(mappings, mappings)
    def test_neither_mapping_is_changed(self, a: Any, b: Any) -> None:
        before = json.dumps([a, b])
        deep_merge(a, b)
        assert json.dumps([a, b]) == before

    @given(mappings, mappings)
    def test_keys_that_were_there_keep_their_order(self, a: Any, b: Any) -> None:
        merged = list(deep_merge(a, b))
        assert merged == [
            *(key for key in a if b.get(key, "") is not None),
            *(key for key in b if key not in a and b[key] is not None),
        ]


class TestMergeJson:
    UNTIDY = '{ "a" : 1.50,\t"b":{"x":[1,  2]} , "a2": "\\u00e9" }'

    @given(mappings.filter(bool))
    def test_other_flags_stay_byte_for_byte(self, over: Any) -> None:
        before = arguments("--other", self.UNTIDY, "--config", "{}", "--last")
        after = merge_json(before, "--config", over, THERE)
        assert after[0] is before[0]
        assert after[2] is before[2]

    @given(mappings, mappings)
    def test_the_merged_value_is_compact_with_keys_in_order(self, a: Any, b: Any) -> None:
        (merged,) = merge_json(arguments("--config", json.dumps(a)), "--config", b, THERE)
        expected = json.dumps(deep_merge(a, b), separators=(",", ":"), ensure_ascii=False)
        assert merged == ("--config", ("--config", expected), THERE)

    def test_it_stays_at_its_place(self) -> None:
        before = arguments("--first", "--config", '{"a": 1}', "--last")
        after = merge_json(before, "--config", {"b": 2}, THERE)
        assert [tokens for _, tokens, _ in after] == [
            ("--first",), ("--config", '{"a":1,"b":2}'), ("--last",),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("over", "written"), [({"a": {"b": 1, "c": None}}, '{"a":{"b":1}}'), ({"a": None}, "{}")]
    )
    def test_a_missing_flag_is_appended(self, over: dict[str, Any], written: str) -> None:
        after = merge_json(arguments("--first"), "--config", over, THERE)
        assert after[1:] == (("--config", ("--config", written), THERE),)

    def test_a_value_behind_an_equals_sign_is_merged_too(self) -> None:
        (merged,) = merge_json(arguments('--config={"a": 1}'), "--config", {"b": 2}, THERE)
        assert merged == ("--config", ("--config", '{"a":1,"b":2}'), THERE)

    @pytest.mark.parametrize(
        ("tokens", "held"),
        [
            pytest.param(["--config", "[1]"], "'[1]'", id="a list"),
            pytest.param(["--config", "high"], "'high'", id="no JSON"),
            pytest.param(["--config", "{", "}"], "'{ }'", id="several words"),
            pytest.param(["--config"], "''", id="no value"),
            pytest.param(["--config=x"], "'x'", id="behind an equals sign"),
        ],
    )
    def test_what_is_no_mapping_is_refused(self, tokens: list[str], held: str) -> None:
        with pytest.raises(ValueError, match="which is no JSON mapping") as caught:
            merge_json(arguments(*tokens), "--config", {"a": 1}, THERE)
        assert str(caught.value) == f"--config holds {held}, which is no JSON mapping"
