"""What a client sends to a model: its address under the server's, and the recipe's settings."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model.recipe import Recipe

# What OpenAI's own clients take by name; the rest goes into their extra_body.
STANDARD = (
    "temperature",
    "top_p",
    "max_tokens",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "n",
)
_SYSTEM = "system_prompt"
_PROMPT = "Say in one sentence what you are."


class Request(Record):
    """One request as a client sends it."""

    kind: str  # "chat", "embeddings" or "transcription"
    path: str  # under the server's address
    model: str
    body: Mapping[str, Any]  # without the model
    choices: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # settings with the values they may have


def request_for(recipe: Recipe, model: str) -> Request:
    """The request that shows a recipe's model and its settings."""
    if "embedding" in recipe.meta.tasks:
        body = {"input": ["one text", "another text"]}
        return Request(kind="embeddings", path="/v1/embeddings", model=model, body=body)
    if "whisper" in recipe.id.lower():
        return Request(
            kind="transcription",
            path="/v1/audio/transcriptions",
            model=model,
            body={"file": "speech.wav"},
        )
    settings, choices = _settings(recipe.client)
    messages = [{"role": "user", "content": _PROMPT}]
    system = settings.pop(_SYSTEM, None)  # no field of a request: vLLM would ignore it
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return Request(
        kind="chat",
        path="/v1/chat/completions",
        model=model,
        body={"messages": messages, **settings},
        choices=choices,
    )


def _settings(
    client: Any, path: str = ""
) -> tuple[dict[str, Any], tuple[tuple[str, tuple[Any, ...]], ...]]:
    """The values to send, and those that a caller chooses among, by their dotted name."""
    values: dict[str, Any] = {}
    choices: list[tuple[str, tuple[Any, ...]]] = []
    for name, value in (client or {}).items() if isinstance(client, dict) else ():
        below = f"{path}.{name}" if path else str(name)
        if not isinstance(value, dict):
            values[name] = value
        elif "options" in value or "default" in value:
            if "default" in value:
                values[name] = value["default"]
            if isinstance(value.get("options"), list):
                choices.append((below, tuple(value["options"])))
        else:
            inner, more = _settings(value, below)
            choices += more
            if inner:
                values[name] = inner
    return values, tuple(choices)
