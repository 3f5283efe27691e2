"""Right and wrong are told apart, on each thing that a server can do wrong."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest

from tests.running.conftest import Playing
from tests.running.player import CALL, MODEL
from vllm_launch.running import answers, http
from vllm_launch.running.address import parsed
from vllm_launch.running.promise import Promise
from vllm_launch.running.smoke import run

ALL = Promise(models=(MODEL,), tools=True, reasoning=True, image=True)
KEY = "the-right-key"
STREAM = b'{"model": "m", "stream": true}'
NAMES = ["model", "completion", "streaming", "tool call", "reasoning", "image"]


def results(url: str, promise: Promise = ALL, key: str | None = None, seconds: float = 60) -> Any:
    return {each.test: each for each in run(parsed(url), promise, key, seconds)}


def test_a_server_that_does_all_it_promised_holds(play: Playing) -> None:
    server = play()
    found = results(server.url)
    assert [(name, each.held) for name, each in found.items()] == [(name, True) for name in NAMES]
    assert found["tool call"].what == "get_weather(city=Paris)"
    assert found["reasoning"].what == "13 characters of reasoning, then 391"
    assert found["streaming"].what == "2 pieces: Hey"
    assert found["image"].what == "Red"


def test_what_is_not_promised_is_not_asked(play: Playing) -> None:
    server = play()
    assert list(results(server.url, Promise())) == ["model", "completion", "streaming"]
    assert not any("tools" in body for _, _, body in server.asked)


def call(**function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("told", "test", "what"),
    [
        pytest.param({"models": ["org/other"]}, "model",
                     f"serves org/other, and not {MODEL}", id="another model"),
        pytest.param({"models": []}, "model", "the answer lists no models", id="no model"),
        pytest.param({"no_json": "/v1/models"}, "model",
                     "the answer is no JSON: <html>502 Bad Gateway</html>", id="a proxy's page"),
        pytest.param({"half": "/v1/models"}, "model",
                     "the connection ended in the middle of the answer", id="half an answer"),
        pytest.param({"redirect": "http://127.0.0.1:1/"}, "model",
                     "307, a redirect to http://127.0.0.1:1/", id="a redirect"),
        pytest.param({"key": KEY}, "model", "401: it asks for a key", id="a key is on"),
        pytest.param({"text": ""}, "completion", "the answer is empty", id="an empty answer"),
        pytest.param({"text": "!" * 32}, "completion", "the answer is '!' over and over",
                     id="numbers overflow"),
        pytest.param({"half": "/v1/chat/completions"}, "completion",
                     "the connection ended in the middle of the answer", id="half a completion"),
        pytest.param({"cut": 2}, "streaming",
                     "the stream is cut off after 2 pieces: the connection ended in the middle "
                     "of the answer", id="a stream is cut off"),
        pytest.param({"no_done": True}, "streaming",
                     "the stream is cut off after 2 pieces: no [DONE] came", id="no end"),
        pytest.param({"endless": True}, "streaming",
                     "the stream says of no choice why it ended", id="no reason"),
        pytest.param({"words": []}, "streaming", "the answer is empty", id="an empty stream"),
        pytest.param({"stream_type": "application/json"}, "streaming",
                     "no stream of events: application/json", id="no stream"),
        pytest.param({"events": ["{"]}, "streaming", "an event of the stream is no JSON: {",
                     id="an event is no JSON"),
        pytest.param({"events": ['{"error": {"message": "EngineDeadError"}}']}, "streaming",
                     'the stream has an error in it: {"message": "EngineDeadError"}',
                     id="an error in the stream"),
        pytest.param({"call": {"content": '<tool_call>{"name": "get_weather"}'}}, "tool call",
                     'the call came as text: <tool_call>{"name": "get_weather"}',
                     id="a call as text"),
        pytest.param({"call": {"content": "It is sunny."}}, "tool call",
                     "no call, but: It is sunny.", id="no call"),
        pytest.param({"call": {"content": None, "tool_calls": []}}, "tool call",
                     "no call, but: nothing", id="nothing at all"),
        pytest.param({"call": call(name="get_wether", arguments="{}")}, "tool call",
                     "a call of get_wether, not of get_weather", id="another tool"),
        pytest.param({"call": call(name="get_weather", arguments='{"city": "Par')}, "tool call",
                     'the call\'s arguments are no JSON: {"city": "Par', id="half of them"),
        pytest.param({"call": call(name="get_weather", arguments='{"town": 1}')}, "tool call",
                     "the call lacks the argument city: {'town': 1}", id="other arguments"),
        pytest.param({"call": call(name="get_weather", arguments='{"city": ""}')}, "tool call",
                     "the call lacks the argument city: {'city': ''}", id="an empty argument"),
        pytest.param({"thought": {"content": "<think>17 * 23</think>391"}}, "reasoning",
                     "thoughts stand in the answer: <think>17 * 23</think>391",
                     id="thoughts in the answer"),
        pytest.param({"thought": {"content": "391"}}, "reasoning", "the answer has no reasoning",
                     id="no thoughts"),
        pytest.param({"thought": {"reasoning": "391", "content": None}}, "reasoning",
                     "all of the answer is reasoning", id="all is thought"),
        pytest.param({"picture": ({"error": {"message": "not a multimodal model"}}, 400)}, "image",
                     "400: not a multimodal model", id="no images"),
    ],
)  # fmt: skip
def test_each_misbehaviour_is_told(
    play: Playing, told: dict[str, Any], test: str, what: str
) -> None:
    found = results(play(**told).url)
    assert (found[test].held, found[test].what) == (False, what)
    others = {each.held for name, each in found.items() if name != test}
    assert others == {None} if test == "model" else "half" in told or others == {True}


def test_the_older_name_of_reasoning_counts(play: Playing) -> None:
    server = play(thought={"reasoning": "", "reasoning_content": "by ten first", "content": "391"})
    assert results(server.url)["reasoning"].held


def test_a_model_that_thinks_when_it_is_told_to_is_told_to(play: Playing) -> None:
    server = play(thinks_when_told=True)
    assert results(server.url)["reasoning"].held


def test_a_model_without_a_chat_template_completes_a_text(play: Playing) -> None:
    found = results(play(no_template=True).url, Promise(models=(MODEL,)))
    assert found["completion"].what == "John (/v1/completions)"
    assert found["streaming"].held


def test_a_wrong_chat_is_not_made_good_by_a_right_text(play: Playing) -> None:
    server = play(cut=1)
    assert not results(server.url)["streaming"].held
    assert "/v1/completions" not in [path for path, _, _ in server.asked]


# Keys.


def test_a_key_that_is_asked_for_holds(play: Playing) -> None:
    server = play(key=KEY)
    found = results(server.url, Promise(models=(MODEL,)), KEY)
    assert [each.held for each in found.values()] == [True] * 5
    assert found["wrong key"].what == found["no key"].what == "refused with 401"
    assert {key for _, key, _ in server.asked} == {
        None, f"Bearer {KEY}", "Bearer not-the-key-of-this-server",
    }  # fmt: skip


def test_a_server_that_takes_any_key_is_told(play: Playing) -> None:
    found = results(play().url, Promise(models=(MODEL,)), KEY)
    for name in ("no key", "wrong key"):
        assert (found[name].held, found[name].what) == (False, "200: not refused")


def test_no_key_follows_a_redirect(play: Playing) -> None:
    other = play()
    server = play(redirect=f"{other.url}/v1/models")
    assert not results(server.url, ALL, KEY)["model"].held
    assert other.asked == []


# Other tasks.


@pytest.mark.parametrize(
    ("vector", "held", "what"),
    [
        pytest.param([0.5, -1], True, "2 dimensions", id="a vector"),
        pytest.param(
            [0.5, float("nan")], False, "the vector has what is no number in it", id="NaN"
        ),
        pytest.param([0, 0], False, "the vector is all zeros", id="zeros"),
        pytest.param([], False, "the answer has no vector", id="none"),
        pytest.param("AAAA", False, "the answer has no vector", id="base64"),
    ],
)
def test_embeddings(play: Playing, vector: Any, held: bool, what: str) -> None:
    found = results(play(vector=vector).url, Promise(models=(MODEL,), task="embedding"))
    assert list(found) == ["model", "embedding"]
    assert (found["embedding"].held, found["embedding"].what) == (held, what)


def test_a_transcription_of_silence_need_not_say_anything(play: Playing) -> None:
    server = play()
    found = results(server.url, Promise(models=(MODEL,), task="transcription"))
    assert found["transcription"].what == "nothing is heard in silence"
    assert server.asked[-1][2]["form"] > 32_000


# Time.


@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions"])
def test_after_a_silence_nothing_more_is_asked(play: Playing, path: str) -> None:
    found = results(play(hangs=path).url, seconds=2)
    test = "model" if path == "/v1/models" else "completion"
    assert found[test].what == "took the request, and did not answer in 2 s"
    rest = NAMES[NAMES.index(test) + 1 :]
    assert {found[name].what for name in rest} == {"not tested: the server hangs"}


def test_a_stream_that_stalls_has_an_end(play: Playing) -> None:
    found = results(play(stalls=1).url, seconds=2)
    assert found["streaming"].what == (
        "the stream is cut off after 1 pieces: the answer was not whole after 2 s"
    )


def test_an_end_by_the_sockets_own_clock_is_the_same(
    play: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_deadline", lambda *_: nullcontext(threading.Event()))
    reply = http.exchange(
        parsed(play(stalls=1).url),
        http.Asked(method="POST", path="/v1/completions", body=STREAM),
        1,
    )
    assert reply.cut == "the answer was not whole after 1 s"


@pytest.mark.parametrize(
    ("most", "what", "remedy"),
    [
        (http.MOST, http._ENDED, "look for its death in the log"),
        (10, "the answer is longer than 0 MiB", ""),
    ],
    ids=["broken off", "too long"],
)
def test_a_death_is_looked_for_where_the_server_broke_off(
    play: Playing, most: int, what: str, remedy: str
) -> None:
    told = {"half": "/v1/models"} if most == http.MOST else {}
    reply = http.exchange(parsed(play(**told).url), http.Asked(path="/v1/models"), 60, most)
    with pytest.raises(answers.DoesNotHold) as raised:
        answers.document(reply)
    assert (raised.value.what, raised.value.remedy) == (what, remedy)


def test_words_of_a_model_do_no_harm_to_a_terminal(play: Playing) -> None:
    found = results(play(text="\x1b[2Jgone\nand\rover \u202e" + "x" * 99).url)
    assert found["completion"].what == "[2Jgone and over " + "x" * 42 + "…"


def test_a_tool_call_beside_words_is_one(play: Playing) -> None:
    assert results(play(call={**CALL, "content": "Let me look."}).url)["tool call"].held


@pytest.mark.parametrize(("length", "most"), [(512, 256), (40960, 2048)])
def test_no_more_is_asked_for_than_the_context_has_room_for(
    play: Playing, length: int, most: int
) -> None:
    server = play(length=length)
    results(server.url)
    assert max(body.get("max_tokens", 0) for _, _, body in server.asked) == most
