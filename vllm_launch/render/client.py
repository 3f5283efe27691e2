"""A request as a curl command and as Python."""

from __future__ import annotations

import json

from ..resolve.requests import STANDARD
from .shell import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..resolve.requests import Request

_KEY = "VLLM_API_KEY"


def client_text(request: Request, url: str, *, keyed: bool) -> str:
    """Both forms, one below the other."""
    return f"{curl(request, url, keyed=keyed)}\n{python(request, url, keyed=keyed)}"


def curl(request: Request, url: str, *, keyed: bool) -> str:
    """A shell command. A key stands in it by its variable's name."""
    lines = [f"curl {quote(url + request.path)}"]
    if keyed:
        lines.append(f'  -H "Authorization: Bearer ${_KEY}"')
    if request.kind == "transcription":
        lines += [f"  -F file=@{request.body['file']}", f"  -F {quote('model=' + request.model)}"]
    else:
        body = json.dumps({"model": request.model, **request.body}, ensure_ascii=False, indent=2)
        lines += ["  -H 'Content-Type: application/json'", f"  -d {quote(body)}"]
    return "".join(f"# {line}\n" for line in _chosen(request)) + " \\\n".join(lines) + "\n"


def python(request: Request, url: str, *, keyed: bool) -> str:
    """A program for OpenAI's Python client."""
    key = f'os.environ["{_KEY}"]' if keyed else '"none"'
    lines = (
        ["import os\n", "from openai import OpenAI\n"] if keyed else ["from openai import OpenAI\n"]
    )
    lines.append(f"client = OpenAI(base_url={json.dumps(url + '/v1')}, api_key={key})")
    lines += _calls[request.kind](request)
    return "\n".join(lines) + "\n"


def _chat(request: Request) -> list[str]:
    settings = {name: value for name, value in request.body.items() if name != "messages"}
    named = {name: value for name, value in settings.items() if name in STANDARD}
    extra = {name: value for name, value in settings.items() if name not in STANDARD}
    return [
        "answer = client.chat.completions.create(",
        f"    model={json.dumps(request.model)},",
        f"    messages={_literal(request.body['messages'])},",
        *(f"    {name}={_literal(value)}," for name, value in named.items()),
        *([f"    extra_body={_literal(extra)},"] if extra else []),
        *(f"    # {line}" for line in _chosen(request)),
        ")",
        "print(answer.choices[0].message.content)",
    ]


def _embeddings(request: Request) -> list[str]:
    texts = _literal(request.body["input"])
    return [
        f"answer = client.embeddings.create(model={json.dumps(request.model)}, input={texts})",
        "print(len(answer.data), len(answer.data[0].embedding))",
    ]


def _transcription(request: Request) -> list[str]:
    return [
        f'with open({json.dumps(request.body["file"])}, "rb") as file:',
        "    answer = client.audio.transcriptions.create(",
        f"        model={json.dumps(request.model)}, file=file",
        "    )",
        "print(answer.text)",
    ]


_calls = {"chat": _chat, "embeddings": _embeddings, "transcription": _transcription}


def _literal(value: Any) -> str:
    """A JSON value as Python writes it."""
    return repr(value)


def _chosen(request: Request) -> list[str]:
    return [
        f"{name}: {', '.join(str(option) for option in options)}"
        for name, options in request.choices
    ]
