"""What a ready server is asked, one request after the other."""

from __future__ import annotations

import json

from ..model.record import Record
from . import answers
from .answers import DoesNotHold
from .http import Asked, NoReply, exchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .address import Address
    from .http import Reply
    from .promise import Promise

_MOST_TOKENS = 2048  # of an answer that is thought over, where the context has room
_LAST_BREATHS = (0.05, 0.1, 0.2, 0.4)  # seconds
_NO_KEY = "not-the-key-of-this-server"
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, as it is now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city's name."}},
            "required": ["city"],
        },
    },
}


class Result(Record):
    """What came of one test."""

    test: str
    held: bool | None  # None: it was not made
    what: str
    remedy: str = ""
    seconds: float = 0.0
    intent: bool = False  # the plan against what the server reports: a finding, no failure


class Test(Record):
    """One thing to be held: a request, and how its answer is judged.

    ``otherwise`` is asked where the answer says that the question does not suit the model, as one
    without a chat template: never to make good for an answer that is wrong.
    """

    name: str
    asked: Asked
    judge: Callable[[Reply], str]
    otherwise: Asked | None = None
    suits: Callable[[Reply], bool] = lambda _: True


def tests(promise: Promise, model: str, key: str | None, context: int | None) -> Iterator[Test]:
    """What to ask a server that answers to a name; ``context`` is how many tokens it has."""
    if promise.task == "embedding":
        body = {"model": model, "input": "A smoke test."}
        yield Test(name="embedding", judge=answers.embedded,
                   asked=_post("/v1/embeddings", body, key))  # fmt: skip
    elif promise.task == "transcription":
        yield Test(name="transcription", judge=answers.transcribed,
                   asked=_transcription(model, key))  # fmt: skip
    else:
        yield from _chat_tests(promise, model, key, context)
    if key is not None:
        models = Asked(path="/v1/models")
        yield Test(name="no key", judge=answers.refused, asked=models)
        yield Test(name="wrong key", judge=answers.refused, asked=models.replace(key=_NO_KEY))


def _chat_tests(
    promise: Promise, model: str, key: str | None, context: int | None
) -> Iterator[Test]:
    room = min(_MOST_TOKENS, (context or 2 * _MOST_TOKENS) // 2)
    hello = _talk(model, "Say hello in five words.", max_tokens=32)
    bare = {"model": model, "prompt": "Hello, my name is", "max_tokens": 16, "temperature": 0}
    chat, plain = "/v1/chat/completions", "/v1/completions"
    yield Test(
        name="completion", judge=answers.completed,
        asked=_post(chat, hello, key), otherwise=_post(plain, bare, key), suits=answers.chats,
    )  # fmt: skip
    streaming = {"stream": True}
    yield Test(
        name="streaming", judge=answers.streamed,
        asked=_post(chat, hello | streaming, key),
        otherwise=_post(plain, bare | streaming, key), suits=answers.chats,
    )  # fmt: skip
    if promise.tools:
        body = _talk(model, "What is the weather in Paris now? Call the tool.", max_tokens=room)
        body |= {"tools": [_TOOL], "tool_choice": "auto"}
        yield Test(name="tool call", asked=_post(chat, body, key),
                   judge=lambda reply: answers.called(reply, "get_weather", "city"))  # fmt: skip
    if promise.reasoning:
        body = _talk(model, "How much is 17 times 23? Think before you answer.", max_tokens=room)
        think = {"chat_template_kwargs": {"thinking": True, "enable_thinking": True}}
        yield Test(name="reasoning", judge=answers.reasoned, asked=_post(chat, body, key),
                   otherwise=_post(chat, body | think, key), suits=answers.thinks)  # fmt: skip
    if promise.image:
        yield Test(name="image", judge=answers.completed,
                   asked=_post(chat, _picture(model), key))  # fmt: skip


def _talk(model: str, words: Any, max_tokens: int) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": words}],
        "max_tokens": max_tokens,
        "temperature": 0,
    }


def _picture(model: str) -> dict[str, Any]:
    from base64 import b64encode

    from .samples import red_square

    url = "data:image/png;base64," + b64encode(red_square()).decode("ascii")
    words = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "Which colour is this? Answer with one word."},
    ]
    return _talk(model, words, max_tokens=64)


def _post(path: str, body: Any, key: str | None) -> Asked:
    text = json.dumps(body).encode("utf-8", "surrogateescape")
    return Asked(method="POST", path=path, body=text, key=key)


def _transcription(model: str, key: str | None) -> Asked:
    """A form with a file in it."""
    from .samples import second_of_silence

    mark = "vllm-launch-smoke-test"
    head = f'--{mark}\r\nContent-Disposition: form-data; name="'
    parts = [
        f'{head}model"\r\n\r\n{model}\r\n'.encode("utf-8", "surrogateescape"),
        f'{head}file"; filename="silence.wav"\r\nContent-Type: audio/wav\r\n\r\n'.encode(),
        second_of_silence(),
        f"\r\n--{mark}--\r\n".encode(),
    ]
    return Asked(
        method="POST", path="/v1/audio/transcriptions", body=b"".join(parts), key=key,
        content_type=f"multipart/form-data; boundary={mark}",
    )  # fmt: skip


def run(
    address: Address,
    promise: Promise,
    key: str | None,
    seconds: float,
    alive: Callable[[], bool] = lambda: True,
) -> Iterator[Result]:
    """Each test's result, as it comes. After a silence or a death nothing more is asked."""
    first = Test(
        name="model", asked=Asked(path="/v1/models", key=key),
        judge=lambda reply: answers.named(reply, promise.models),
    )  # fmt: skip
    result, reply = _made(address, first, seconds)
    yield result
    over = "" if result.held else _end(reply, alive) or "see the model"
    model = promise.models[0] if promise.models else ""
    if not model and not over:
        model = answers.models(reply)[0][0]
    for test in tests(promise, model, key, None if over else _context(reply, model)):
        if over:
            yield Result(test=test.name, held=None, what=f"not tested: {over}")
            continue
        result, reply = _made(address, test, seconds)
        yield result
        over = "" if result.held else _end(reply, alive)


def _context(reply: Reply, model: str) -> int | None:
    """The tokens that a model's context has, as the list of models says."""
    return next((length for name, _, length in answers.models(reply) if name == model), None)


def _end(reply: Reply | NoReply, alive: Callable[[], bool]) -> str:
    """Why there is no use in asking more; "" where there is."""
    from time import sleep

    cut_off = (isinstance(reply, NoReply) and not reply.silent) or bool(getattr(reply, "cut", ""))
    for pause in _LAST_BREATHS if cut_off else ():
        if not alive():
            break
        sleep(pause)  # a connection ends before its process does
    if not alive():
        return "the server has ended"
    if isinstance(reply, NoReply):
        return "the server hangs" if reply.silent else "the server does not answer"
    return ""


def _made(address: Address, test: Test, seconds: float) -> tuple[Result, Any]:
    """A test's result, and the last answer."""
    from time import monotonic

    began = monotonic()
    asked = test.asked
    reply: Reply | NoReply
    result = Result(test=test.name, held=False, what="")
    try:
        reply = came = exchange(address, asked, seconds)
        if test.otherwise is not None and not test.suits(came):
            asked = test.otherwise
            reply = came = exchange(address, asked, seconds)
        what = test.judge(came)
        how = f" ({asked.path})" if asked.path != test.asked.path else ""
        result = result.replace(held=True, what=what + how)
    except NoReply as error:
        reply = error
        result = result.replace(what=error.what)
    except DoesNotHold as error:
        result = result.replace(what=error.what, remedy=error.remedy)
    return result.replace(seconds=monotonic() - began), reply
