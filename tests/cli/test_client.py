"""client: how the running server is asked."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from .launcher import Operator

M3 = "MiniMaxAI/MiniMax-M3"
QWEN = "Qwen/Qwen3.6-35B-A3B"
SETTINGS = {"temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "presence_penalty": 1.5}


def curled(operator: Operator, tmp_path: Path, *words: str, **env: str) -> list[str]:
    """The words that a shell hands to curl."""
    ran = operator.run("client", *words, "--output", "curl", **env)
    recorder = tmp_path / "curl"
    recorder.write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n')
    recorder.chmod(0o755)
    told = subprocess.run(
        ["bash", "-c", ran.out],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.split("\0")[:-1]


def created_in(program: str) -> dict[str, Any]:
    """The body that a program's call of create() sends."""
    calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    created = next(c for c in calls if getattr(c.func, "attr", "") == "create")
    given = {str(word.arg): ast.literal_eval(word.value) for word in created.keywords}
    return given.pop("extra_body") | given


def test_curl_is_given_the_recipes_settings(operator: Operator, tmp_path: Path) -> None:
    words = curled(operator, tmp_path, QWEN, "--url", "http://node7:9000/v1/")
    assert words[0] == "http://node7:9000/v1/chat/completions"
    body = json.loads(words[-1])
    assert body.pop("messages")[0]["role"] == "user"
    assert body == {"model": QWEN, **SETTINGS}


def test_python_hands_what_openais_client_does_not_know_to_extra_body(operator: Operator) -> None:
    ran = operator.run("client", QWEN, "--output", "python")
    given = created_in(ran.out)
    assert given.pop("messages")
    assert given == {"model": QWEN, **SETTINGS}
    assert "    extra_body={'top_k': 20, 'min_p': 0.0},\n" in ran.out


def test_a_system_prompt_is_the_first_message_and_no_field(
    operator: Operator, tmp_path: Path
) -> None:
    system = {
        "role": "system",
        "content": "You are a helpful assistant. Your name is MiniMax-M3 and is built by MiniMax.",
    }
    user = {"role": "user", "content": "Say in one sentence what you are."}
    settings = {
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": 40,
        "chat_template_kwargs": {"thinking_mode": "adaptive"},
    }
    body = {"model": M3, "messages": [system, user], **settings}
    assert json.loads(curled(operator, tmp_path, M3)[-1]) == body
    assert created_in(operator.run("client", M3, "--output", "python").out) == body


def test_a_key_stands_there_by_its_name(operator: Operator, tmp_path: Path) -> None:
    ran = operator.run("client", M3, env={"VLLM_API_KEY": "sesame"})
    assert "sesame" not in ran.out + ran.err
    assert '-H "Authorization: Bearer $VLLM_API_KEY"' in ran.out
    assert 'api_key=os.environ["VLLM_API_KEY"]' in ran.out


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("jinaai/jina-embeddings-v5-text-small", "/v1/embeddings"),
        ("openai/whisper-large-v3", "/v1/audio/transcriptions"),
    ],
)
def test_other_tasks_are_asked_at_their_own_address(
    operator: Operator, model: str, path: str
) -> None:
    ran = operator.run("client", model)
    assert f"curl http://localhost:8000{path}" in ran.out
    ast.parse(ran.out[ran.out.index("from openai") :])


def test_the_name_is_the_variants_checkpoint_or_the_one_given(operator: Operator) -> None:
    first = operator.run("client", M3, "--variant", "nvfp4", "--output", "json").json
    assert first["client"]["body"]["model"] == "nvidia/MiniMax-M3-NVFP4"
    named = operator.run("client", M3, "--model-name", "m3", "--output", "json").json
    assert named["client"]["body"]["model"] == "m3"


def test_a_server_that_is_kept_is_the_one_that_is_asked(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm_launch.running import state
    from vllm_launch.running.process import identity_of

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    here = identity_of(os.getpid())
    for name, model in (("one", M3), ("other", QWEN)):
        url = f"http://127.0.0.1:9{len(name)}00"
        kept = state.Kept(name=name, model=model, url=url, since=0.0, server=here)
        state.claim(kept, lambda _: True, exactly=True)
    ran = operator.run("client", M3, "--output", "curl", env={"XDG_STATE_HOME": str(tmp_path)})
    assert "curl http://127.0.0.1:9300/v1/chat/completions" in ran.out


def test_what_is_no_address_is_refused(operator: Operator) -> None:
    ran = operator.run("client", M3, "--url", "node7:8000")
    assert ran.status == 2
    assert ran.error.splitlines() == [
        "error: --url: found 'node7:8000'; expected http://HOST:PORT",
        "  for example --url http://localhost:8000",
    ]
