"""verify, as an operator runs it against a server that plays vLLM."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.running.player import MODEL, Play

from .launcher import COMMAND, FLASH, Operator

Playing = Callable[..., Play]
TESTS = ["model", "completion", "streaming", "tool call", "reasoning"]


def test_what_held_is_a_table(operator: Operator, play: Playing) -> None:
    server = play()
    ran = operator.run("verify", MODEL, "--url", server.url)
    assert ran.status == 0, ran.err
    head, *rows = ran.out.splitlines()
    assert head.startswith(f"{server.url}, ready after 0.")
    assert rows == [
        f"held     model       {MODEL}",
        "held     completion  Hello there, how are you?",
        "held     streaming   2 pieces: Hey",
        "held     tool call   get_weather(city=Paris)",
        "held     reasoning   13 characters of reasoning, then 391",
    ]


def test_what_did_not_is_told_with_what_to_look_at(operator: Operator, play: Playing) -> None:
    server = play(call={"content": '<tool_call>\n{"name": "get_weather", "arguments": {}}'})
    ran = operator.run("verify", MODEL, "--url", server.url)
    assert ran.status == 4
    assert ran.out.splitlines()[4:7] == [
        'FAILED   tool call   the call came as text: <tool_call> {"name":',
        '                     "get_weather", "arguments": {}}',
        "                     --tool-call-parser does not fit the model, or is not on",
    ]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.err.endswith("# 1 of 5 did not hold, 0 were not tested\n")


def test_the_json_has_every_test(operator: Operator, play: Playing) -> None:
    server = play(cut=1)
    ran = operator.run("verify", MODEL, "--url", server.url, "--output", "json")
    assert ran.status == 4
    found = ran.json["verification"]
    assert (found["url"], found["recipe"], found["holds"], found["ready"]) == (
        server.url, MODEL, False, True,
    )  # fmt: skip
    assert [(each["test"], each["held"]) for each in found["tests"]] == [
        (name, name != "streaming") for name in TESTS
    ]


def test_the_recipe_is_found_by_what_the_server_serves(operator: Operator, play: Playing) -> None:
    server = play(models=["qwen"], root=MODEL)
    ran = operator.run("verify", "--url", server.url)
    assert ran.status == 0, ran.out
    assert f"# by its name, the recipe is {MODEL}\n" in ran.err
    assert "tool call" in ran.out
    assert {body.get("model") for _, _, body in server.asked if body} == {"qwen"}


def test_a_model_without_a_recipe_is_asked_what_any_model_can(
    operator: Operator, play: Playing
) -> None:
    ran = operator.run("verify", "--url", play(models=["org/unknown"]).url)
    assert (ran.status, ran.err) == (0, "")
    assert [line[9:19].strip() for line in ran.out.splitlines()[1:]] == TESTS[:3]


def test_without_an_address_the_plans_own_is_asked(operator: Operator, play: Playing) -> None:
    port = str(urlsplit(play().url).port)
    ran = operator.run("verify", MODEL, "--hardware", "h200", "--port", port, "--host", "0.0.0.0")
    assert ran.status == 0, ran.err
    assert ran.out.startswith(f"http://127.0.0.1:{port}, ready after ")


def test_a_feature_that_is_off_is_not_promised(operator: Operator, play: Playing) -> None:
    server = play(call={"content": "no"})
    ran = operator.run("verify", MODEL, "--url", server.url, "--no-feature", "tool_calling")
    assert ran.status == 0
    assert "tool call" not in ran.out


@pytest.mark.parametrize(("options", "seen"), [((), True), (("-f", "text_only"), False)])
def test_an_image_is_promised_where_the_model_sees(
    operator: Operator, play: Playing, options: tuple[str, ...], seen: bool
) -> None:
    ran = operator.run("verify", FLASH, "--url", play(models=[FLASH]).url, *options)
    assert ran.status == 0
    assert ("image" in ran.out) is seen


# Keys.


@pytest.mark.parametrize(
    ("theirs", "ours", "status", "said"),
    [
        pytest.param("sesame-1", "sesame-1", 0, "wrong key   refused with 401", id="right"),
        pytest.param("sesame-1", "sesame-2", 4, "401: it asks for a key", id="wrong"),
        pytest.param("sesame-1", "", 4, "export VLLM_API_KEY=", id="none"),
        pytest.param("", "sesame-1", 4, "FAILED   wrong key   200: not refused", id="not asked"),
    ],
)
def test_keys(
    operator: Operator, play: Playing, theirs: str, ours: str, status: int, said: str
) -> None:
    env = {"VLLM_API_KEY": ours} if ours else {}
    ran = operator.run("verify", MODEL, "--url", play(key=theirs).url, env=env)
    assert (ran.status, said in ran.out) == (status, True), ran.out
    assert "sesame" not in ran.out + ran.err


def test_no_proxy_is_asked(operator: Operator, play: Playing) -> None:
    env = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")
    assert operator.run("verify", "--url", play(models=["m"]).url, env=env).status == 0


# Waiting.


def test_a_server_that_is_not_there_fails_when_the_time_is_up(operator: Operator) -> None:
    ran = operator.run("verify", "--url", "http://127.0.0.1:1", "--timeout", "1")
    assert ran.status == 4
    assert ran.error.splitlines()[0] == (
        "error: http://127.0.0.1:1: not ready after 1 s: nothing listens there"
    )


def test_the_json_of_one_that_is_not_ready_says_why(operator: Operator, play: Playing) -> None:
    ran = operator.run("verify", "--url", play(hangs="/health").url, "--request-timeout", "1",
                       "--output", "json")  # fmt: skip
    assert ran.status == 4
    found = ran.json["verification"]
    assert (found["ready"], found["tests"]) == (False, [])
    assert found["what"] == "it hangs: for 1 s, took the request, and did not answer in 1 s"


def test_interrupted_it_leaves_the_server_as_it_is(operator: Operator, play: Playing) -> None:
    server = play(not_ready_looks=10**9)
    process = operator.start("verify", "--url", server.url, stderr=subprocess.PIPE)
    while not server.looks:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param((), "error: verify needs a server", id="nothing"),
        pytest.param(
            ("--url", "localhost"), "--url: found 'localhost'; expected http", id="no URL"
        ),
        pytest.param(
            ("no/such", "--url", "http://h"),
            "error: there is no recipe for 'no/such'",
            id="no recipe",
        ),
    ],
)
def test_usage(operator: Operator, words: tuple[str, ...], said: str) -> None:
    ran = operator.run("verify", *words)
    assert ran.status == 2
    assert said in ran.error


def test_on_a_terminal_there_is_a_table_and_no_control_characters_of_the_model(
    operator: Operator, play: Playing
) -> None:
    out = _in_a_terminal(operator, "verify", "--url", play(models=["m"], text="a\x1b[31mb").url)
    assert "what" in out
    assert "a[31mb" in out


def _in_a_terminal(operator: Operator, *words: str) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(operator.cwd)
        os.execve(COMMAND[0], [*COMMAND, *words], operator.env | {"TERM": "xterm"})
    chunks = list(_read(terminal))
    assert os.waitpid(pid, 0)[1] == 0, chunks
    os.close(terminal)
    return b"".join(chunks).decode()


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


# What is intended.


def test_a_server_that_is_not_as_planned_is_told(operator: Operator, play: Playing) -> None:
    server = play(length=8192, version="0.8.2", cache={"gpu_memory_utilization": "0.9"})
    words = ("verify", MODEL, "--url", server.url, "--hardware", "h200")
    passed = ("--", "--gpu-memory-utilization", "0.95")
    ran = operator.run(*words, *passed)
    assert ran.status == 0
    assert ran.out.splitlines()[6:] == [
        f"is       weights     {MODEL}",
        "DIFFERS  context     8,192 tokens, and the recipe gives the model 40,960",
        "DIFFERS  version     vLLM 0.8.2, and the recipe needs 0.8.5",
        "DIFFERS  KV cache    --gpu-memory-utilization is 0.9, planned 0.95",
    ]
    assert ran.err == "# 3 not as planned; --strict makes that fail\n"
    strict = operator.run(*words, "--strict", *passed)
    assert (strict.status, strict.err) == (4, "# 3 not as planned\n")
    found = operator.run(*words, "-o", "json", *passed).json["verification"]
    assert {each["test"] for each in found["tests"] if each["kind"] == "intent"} == {
        "weights", "context", "version", "KV cache",
    }  # fmt: skip


def test_of_anybodys_server_nothing_is_intended(operator: Operator, play: Playing) -> None:
    ran = operator.run("verify", MODEL, "--url", play(length=16).url)
    assert (ran.status, "context" in ran.out) == (0, False)
