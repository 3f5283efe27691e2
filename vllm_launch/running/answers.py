"""What a server's answer says: each judgement is of the bytes that came alone. Pure."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .http import Reply

_SHOWN = 60  # characters of a model's words
_OTHER_URL = "no redirect is followed: give the address where it answers itself"
# How models write calls and thoughts where no parser has taken them out of the text.
_CALL_MARKS = (
    "<tool_call", "<|tool_call", "[TOOL_CALLS]", "<function", "<|python_tag|>", "functools[",
    "<minimax:tool_call", "<｜tool▁calls", '{"name": "get_weather"', "to=functions.",
)  # fmt: skip
_THOUGHT_MARKS = ("<think>", "</think>", "<|channel|>analysis", "[THINK]", "<mm:think>", "◁think▷")


class DoesNotHold(Exception):
    """What was promised and is not so; ``remedy`` says what to look at."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def document(reply: Reply) -> Any:
    """An answer's JSON. Raises DoesNotHold for an error, and for what is none or not whole."""
    if reply.status == 401:
        raise DoesNotHold("401: it asks for a key", "export VLLM_API_KEY=…, the server's own")
    if reply.location and 300 <= reply.status < 400:
        raise DoesNotHold(sent_on(reply), _OTHER_URL)
    if reply.status != 200:
        raise DoesNotHold(f"{reply.status}: {_complaint(reply)}".rstrip(": "))
    if reply.cut:
        raise DoesNotHold(reply.cut, "look for its death in the log" if reply.ended else "")
    try:
        read = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise DoesNotHold(f"the answer is no JSON: {shown(_text(reply.body))}") from None
    if not isinstance(read, dict):
        raise DoesNotHold("the answer is no JSON mapping")
    return read


def sent_on(reply: Reply) -> str:
    """A redirect: its status, and where it leads."""
    return f"{reply.status}, a redirect to {shown(reply.location, 200)}"


def models(reply: Reply) -> list[tuple[str, str, int | None]]:
    """Each model that is served: its name, where its weights are from, its context in tokens."""
    cards = document(reply).get("data")
    if not isinstance(cards, list):
        raise DoesNotHold("the answer lists no models")
    found = []
    for card in cards:
        if isinstance(card, dict) and isinstance(card.get("id"), str):
            root, length = card.get("root"), card.get("max_model_len")
            found.append((
                card["id"],
                root if isinstance(root, str) else "",
                length if isinstance(length, int) else None,
            ))  # fmt: skip
    if not found:
        raise DoesNotHold("the answer lists no models")
    return found


def named(reply: Reply, wanted: tuple[str, ...]) -> str:
    """The names that it answers to, where those wanted are among them."""
    names = [name for name, _, _ in models(reply)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise DoesNotHold(
            f"serves {', '.join(map(shown, names[:4]))}, and not {', '.join(missing)}",
            "is it another server's address? else see --served-model-name",
        )
    return shown(", ".join(wanted or names))


def message(reply: Reply) -> tuple[dict[str, Any], str]:
    """The first choice's message, and why it ended."""
    choices = document(reply).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise DoesNotHold("the answer has no choices")
    found = first.get("message")
    if isinstance(first.get("text"), str):
        found = {"content": first["text"]}
    if not isinstance(found, dict):
        raise DoesNotHold("the answer has no message")
    return found, str(first.get("finish_reason") or "")


def thought(of: dict[str, Any]) -> str:
    """What a message has of reasoning, under either of its names."""
    both = (of.get(name) for name in ("reasoning", "reasoning_content"))
    return next((text for text in both if isinstance(text, str) and text), "")


def content(of: dict[str, Any]) -> str:
    """What a message says."""
    return of["content"] if isinstance(of.get("content"), str) else ""


def completed(reply: Reply) -> str:
    """What a completion says, of whatever sort its words are."""
    said, _ = message(reply)
    return _words(content(said) + thought(said))


def chats(reply: Reply) -> bool:
    """Whether a model takes a conversation: one without a chat template does not."""
    said = reply.body.lower()
    return not (reply.status == 404 or (reply.status == 400 and b"chat template" in said))


def thinks(reply: Reply) -> bool:
    """Whether there is anything of a thought in an answer: some models think only when told to."""
    try:
        said, _ = message(reply)
    except DoesNotHold:
        return True
    text = content(said)
    return bool(thought(said).strip()) or any(mark in text for mark in _THOUGHT_MARKS)


def streamed(reply: Reply) -> str:
    """What a stream says, where it is one and has its end."""
    if reply.status != 200:
        document(reply)
    if reply.kind != "text/event-stream":
        raise DoesNotHold(f"no stream of events: {shown(reply.kind or 'of no type')}")
    text, pieces, ended, done = "", 0, False, False
    for data in events(reply.body):
        if data == "[DONE]":
            done = True
            continue
        for choice in _choices(data):
            delta = choice.get("delta")
            piece = content(delta) + thought(delta) if isinstance(delta, dict) else ""
            piece = piece or (choice["text"] if isinstance(choice.get("text"), str) else "")
            text, pieces = text + piece, pieces + bool(piece)
            ended = ended or bool(choice.get("finish_reason"))
    if reply.cut or not done:
        why = reply.cut or "no [DONE] came"
        remedy = "look for its death in the log, or for a proxy's timeout"
        raise DoesNotHold(
            f"the stream is cut off after {pieces} pieces: {why}",
            remedy if reply.ended or not reply.cut else "",
        )
    if not ended:
        raise DoesNotHold("the stream says of no choice why it ended")
    return f"{pieces} pieces: {_words(text)}"


def events(body: bytes) -> Iterator[str]:
    """The data of each server-sent event."""
    for block in _text(body).replace("\r\n", "\n").split("\n\n"):
        lines = (line for line in block.split("\n") if line.startswith("data:"))
        data = "\n".join(line[5:].removeprefix(" ") for line in lines)
        if data:
            yield data


def _choices(data: str) -> list[dict[str, Any]]:
    try:
        read = json.loads(data)
    except (ValueError, RecursionError):
        raise DoesNotHold(f"an event of the stream is no JSON: {shown(data)}") from None
    if isinstance(read, dict) and "error" in read:
        raise DoesNotHold(f"the stream has an error in it: {shown(json.dumps(read['error']))}")
    found = read.get("choices") if isinstance(read, dict) else None
    return [each for each in found or () if isinstance(each, dict)]


def called(reply: Reply, tool: str, argument: str) -> str:
    """The call that a model makes, where it is of the tool that it was given."""
    said, ended = message(reply)
    calls = said.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    if call is None:
        _no_call(content(said), ended)
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or function.get("name") != tool:
        raise DoesNotHold(f"a call of {shown(str((function or {}).get('name')))}, not of {tool}")
    try:
        arguments = json.loads(function.get("arguments") or "")
    except (TypeError, ValueError, RecursionError):
        raise DoesNotHold(
            f"the call's arguments are no JSON: {shown(str(function.get('arguments')))}",
            "the tool call parser does not fit the model, or its output was cut",
        ) from None
    given = arguments.get(argument) if isinstance(arguments, dict) else None
    if not isinstance(given, str) or not given.strip():
        raise DoesNotHold(f"the call lacks the argument {argument}: {shown(str(arguments))}")
    return f"{tool}({argument}={shown(given)})"


def _no_call(text: str, ended: str) -> None:
    if any(mark in text for mark in _CALL_MARKS):
        raise DoesNotHold(
            f"the call came as text: {shown(text)}",
            "--tool-call-parser does not fit the model, or is not on",
        )
    if ended == "length":
        raise DoesNotHold("no call in as many tokens as were allowed")
    raise DoesNotHold(
        f"no call, but: {shown(text) or 'nothing'}",
        "see --tool-call-parser and the chat template",
    )


def reasoned(reply: Reply) -> str:
    """How a model's thoughts are kept apart from its answer."""
    said, ended = message(reply)
    text, thoughts = content(said), thought(said).strip()
    if any(mark in text for mark in _THOUGHT_MARKS):
        raise DoesNotHold(
            f"thoughts stand in the answer: {shown(text)}",
            "--reasoning-parser does not fit the model",
        )
    if not thoughts:
        raise DoesNotHold(
            "the answer has no reasoning", "see --reasoning-parser; does the model think unasked?"
        )
    if not text.strip() and ended != "length":
        raise DoesNotHold(
            "all of the answer is reasoning", "--reasoning-parser does not fit the model"
        )
    rest = f", then {shown(text)}" if text.strip() else ", and was not done with it"
    return f"{len(thoughts)} characters of reasoning{rest}"


def refused(reply: Reply) -> str:
    """That a request without the right key is refused."""
    if reply.status in (401, 403):
        return f"refused with {reply.status}"
    raise DoesNotHold(
        f"{reply.status}: not refused",
        "the server has no VLLM_API_KEY: anybody who reaches it is answered",
    )


def embedded(reply: Reply) -> str:
    """How long a text's vector is, where it is one."""
    from math import isfinite

    data = document(reply).get("data")
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    if not isinstance(vector, list) or not vector:
        raise DoesNotHold("the answer has no vector")
    if not all(isinstance(number, (int, float)) and isfinite(number) for number in vector):
        raise DoesNotHold("the vector has what is no number in it", "see --dtype")
    if not any(vector):
        raise DoesNotHold("the vector is all zeros", "are these the model's weights?")
    return f"{len(vector)} dimensions"


def transcribed(reply: Reply) -> str:
    """What was heard: of silence, nothing is right."""
    text = document(reply).get("text")
    if not isinstance(text, str):
        raise DoesNotHold("the answer has no text")
    return shown(text.strip()) or "nothing is heard in silence"


def _words(text: str) -> str:
    """Text to be shown. Raises DoesNotHold where it is none, or one character without end."""
    bare = "".join(text.split())
    if not bare:
        raise DoesNotHold("the answer is empty")
    if len(bare) >= 16 and len(set(bare)) == 1:
        raise DoesNotHold(
            f"the answer is {bare[0]!r} over and over",
            "numbers overflow: see --dtype, --kv-cache-dtype and the attention backend",
        )
    return shown(text)


def _complaint(reply: Reply) -> str:
    """What an error says of itself."""
    try:
        read = json.loads(reply.body)
    except (ValueError, RecursionError):
        return shown(_text(reply.body))
    error = read.get("error", read) if isinstance(read, dict) else read
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return shown(str(error), 200)


def shown(text: str, most: int = _SHOWN) -> str:
    """One short line that does no harm to a terminal."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line if len(line) <= most else line[: most - 1] + "…"


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")
