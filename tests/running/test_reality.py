"""What a plan wants beside what a server reports: a difference is found, and none is made up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.running.reality import (
    Intent,
    Reported,
    arguments_of,
    cache_labels,
    compare,
    from_record,
    is_same,
    to_record,
)

MODEL = "org/model"
INTENT = Intent(
    model=MODEL, arguments=(("--tensor-parallel-size", "4"),), context=40960, version="0.31.0",
    gpus=4,
)  # fmt: skip
GPUS = tuple((index, f"GPU-{index}") for index in range(4))
GOOD = Reported(
    arguments={"model_tag": MODEL, "tensor_parallel_size": 4}, models=((MODEL, MODEL, 40960),),
    version="0.32.0", cache={"kv_cache_size_tokens": "512000"}, gpus=GPUS,
)  # fmt: skip


def found(intent: Intent, reported: Reported) -> dict[str, tuple[bool | None, str]]:
    return {each.test: (each.held, each.what) for each in compare(intent, reported)}


def test_a_server_that_is_as_planned() -> None:
    assert found(INTENT, GOOD) == {
        "weights": (True, MODEL),
        "context": (True, "40,960 tokens"),
        "version": (True, "vLLM 0.32.0"),
        "arguments": (True, "1 as planned"),
        "KV cache": (True, "512,000 tokens: 12.5 requests of 40,960"),
        "GPUs": (True, "on 0, 1, 2, 3"),
    }


def test_of_what_it_does_not_say_nothing_is_said() -> None:
    assert found(INTENT, Reported()) == {}


@pytest.mark.parametrize(
    ("intent", "reported", "test", "what"),
    [
        pytest.param({}, {"models": ((MODEL, "org/other", 40960),)}, "weights",
                     "of org/other, and the plan is for org/model", id="other weights"),
        pytest.param({}, {"models": ((MODEL, MODEL, 8192),)}, "context",
                     "8,192 tokens, and the recipe gives the model 40,960", id="a short context"),
        pytest.param({"arguments": (("--max-model-len", "16k"),)}, {}, "context",
                     "40,960 tokens, and --max-model-len asks for 16,000", id="another context"),
        pytest.param({}, {"version": "0.30.2"}, "version",
                     "vLLM 0.30.2, and the recipe needs 0.31.0", id="an old release"),
        pytest.param({}, {"arguments": {"tensor_parallel_size": 2}}, "arguments",
                     "--tensor-parallel-size is 2, planned 4", id="another argument"),
        pytest.param({"arguments": (("--gpu-memory-utilization", "0.95"),)},
                     {"cache": {"gpu_memory_utilization": "0.9"}}, "KV cache",
                     "--gpu-memory-utilization is 0.9, planned 0.95", id="another share"),
        pytest.param({"arguments": (("--block-size=128",),)}, {"cache": {"block_size": "16"}},
                     "KV cache", "--block-size is 16, planned 128", id="another block size"),
        pytest.param({}, {"gpus": GPUS[:2]}, "GPUs", "on 2 (0, 1), and the plan is for 4",
                     id="fewer GPUs"),
        pytest.param({"gpus": 2, "devices": ("2", "3")}, {"gpus": GPUS[:2]}, "GPUs",
                     "on 0, 1, and the plan is for 2, 3", id="other GPUs"),
    ],
)  # fmt: skip
def test_a_difference_is_found(
    intent: dict[str, Any], reported: dict[str, Any], test: str, what: str
) -> None:
    results = found(INTENT.replace(**intent), GOOD.replace(**reported))
    assert results[test] == (False, what)
    assert [name for name, (held, _) in results.items() if not held] == [test]


@pytest.mark.parametrize(
    ("intent", "reported"),
    [
        pytest.param({"arguments": (("--max-model-len", "40960"),), "context": 10**6}, {},
                     id="a shorter context that was asked for"),
        pytest.param({"arguments": (("--max-model-len", "auto"),)}, {}, id="an automatic one"),
        pytest.param({"arguments": (("--kv-cache-dtype", "fp8"),)},
                     {"cache": {"cache_dtype": "fp8_ds_mla"}}, id="a form of fp8"),
        pytest.param({"gpus": 2, "devices": ("GPU-1", "0")}, {"gpus": GPUS[:2]}, id="by UUID"),
        pytest.param({"gpus": None}, {}, id="no GPUs planned"),
        pytest.param({}, {"gpus": ()}, id="no process of it that the driver names"),
        pytest.param({"version": ""}, {"version": "0.1"}, id="no release needed"),
        pytest.param({}, {"version": "somebody's build"}, id="a version that is none"),
    ],
)  # fmt: skip
def test_none_is_made_up(intent: dict[str, Any], reported: dict[str, Any]) -> None:
    results = found(INTENT.replace(**intent), GOOD.replace(**reported))
    assert all(held for held, _ in results.values())


@pytest.mark.parametrize(
    ("words", "there", "same"),
    [
        ((), True, True),
        ((), False, False),
        (("false",), False, True),
        (("8",), 8, True),
        (("0.95",), 0.95, True),
        (("4K",), 4096, True),
        (("4k",), 4000, True),
        (("auto",), -1, True),
        (("8",), 4, False),
        (("hermes",), "hermes", True),
        (("hermes",), "qwen3_xml", False),
        (("a", "b"), ["a", "b"], True),
        (("a",), ["a", "b"], False),
        (('{"method":"mtp"}',), {"method": "mtp", "model": None}, True),
        (('{"method":"mtp"}',), {"method": "eagle3"}, False),
        (('{"a": {"b": 1}}',), {"a": {"b": 1, "c": 2}}, True),
        (("{",), {"method": "mtp"}, False),
        (("x",), None, False),
    ],
)
def test_a_flags_words_and_a_reported_value(
    words: tuple[str, ...], there: object, same: bool
) -> None:
    assert is_same(words, there) is same


def test_a_flag_is_compared_under_the_servers_name_for_it() -> None:
    arguments = (("-tp", "8"), ("--no-enable-prefix-caching",), ("--x.y", "1"), ("positional",))
    reported = GOOD.replace(
        arguments={"tensor_parallel_size": 8, "enable_prefix_caching": False, "port": 1}
    )
    assert found(INTENT.replace(arguments=arguments), reported)["arguments"] == (
        True, "2 as planned",
    )  # fmt: skip


def test_arguments_are_read_around_what_is_no_plain_data() -> None:
    text = (
        "{'model_tag': 'org/m', 'compilation_config': {'mode': <Mode.NONE: 0>, 'x': [1, 2]}, "
        "'hf_overrides': {'a': \"it's, {so}\"}, 'served_model_name': ['a', 'b'], 'f': C(x=1), "
        "'enforce_eager': True}"
    )
    assert arguments_of(text) == {
        "model_tag": "org/m",
        "hf_overrides": {"a": "it's, {so}"},
        "served_model_name": ["a", "b"],
        "enforce_eager": True,
    }


TEXT = st.text(alphabet="a,:'\"\\{}[]<é", max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(alphabet="abc_'\"", max_size=6), PLAIN, max_size=5))
def test_what_python_writes_is_read_back(arguments: dict[str, Any]) -> None:
    assert arguments_of(f"{arguments}") == arguments


@given(st.text(alphabet="{}[]<>()'\":, \\a1", max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    arguments_of(text)


def test_the_caches_labels() -> None:
    metrics = (
        "# TYPE vllm:cache_config_info gauge\n"
        'vllm:cache_config_info{block_size="16",engine="0",cpu="a\\"b,c"} 1.0\n'
        'vllm:cache_config_info{block_size="32",engine="1"} 1.0\n'
    )
    assert cache_labels(metrics) == {"block_size": "16", "engine": "0", "cpu": 'a\\"b,c'}
    assert cache_labels("vllm:other 1\n") is None


def test_an_intent_is_kept_whole() -> None:
    assert from_record(to_record(INTENT)) == INTENT


@pytest.mark.parametrize("kept", [None, [], {}, {"arguments": 1}])
def test_what_is_no_intent_is_none(kept: object) -> None:
    assert from_record(kept) is None
