"""What a plan promises of the server that it starts. Pure."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.deployment import Deployment, ProcessPlan

_NOT_CHAT = {"embedding": "embedding", "transcription": "transcription"}
_TOOLS = ("--enable-auto-tool-choice", "--dyn-tool-call-parser")
_REASONING = ("--reasoning-parser", "--dyn-reasoning-parser")
_NO_IMAGES = ("--language-model-only",)
_SEEING = ("multimodal", "omni")


class Promise(Record):
    """What has to hold once a server is ready."""

    models: tuple[str, ...] = ()  # names that it answers to; none: whatever it says
    task: str = "chat"  # "embedding", "transcription"
    tools: bool = False
    reasoning: bool = False
    image: bool = False
    recipe: str = ""  # "": no recipe says what else there is


def promised(deployment: Deployment, process: ProcessPlan) -> Promise:
    """What a recipe says of a process, and its flags: what the operator took away is not held."""
    flags = {flag.partition("=")[0] for flag, _, _ in process.arguments}
    on = {name for name, _ in deployment.choice.features}
    tasks = deployment.recipe.meta.tasks
    task = next((_NOT_CHAT[each] for each in tasks if each in _NOT_CHAT), "chat")
    chat = task == "chat"
    return Promise(
        models=served_names(process),
        task=task,
        tools=chat and not flags.isdisjoint(_TOOLS),
        reasoning=chat and not flags.isdisjoint(_REASONING),
        image=chat
        and any(each in tasks for each in _SEEING)
        and "text_only" not in on
        and flags.isdisjoint(_NO_IMAGES),
        recipe=deployment.recipe.id,
    )


def served_names(process: ProcessPlan) -> tuple[str, ...]:
    """The names that a server answers to: those given, else its model's."""
    for flag, tokens, _ in process.arguments:
        name, equals, value = flag.partition("=")
        if name == "--served-model-name":
            return (value,) if equals else tokens[1:] or (process.model,)
    return (process.model,)


def to_record(promise: Promise) -> dict[str, Any]:
    """As plain data, to be kept beside a server's state."""
    return {
        "models": list(promise.models),
        "task": promise.task,
        "tools": promise.tools,
        "reasoning": promise.reasoning,
        "image": promise.image,
        "recipe": promise.recipe,
    }


def from_record(kept: Any) -> Promise:
    """A promise out of plain data; what is not of the form is no promise."""
    if not isinstance(kept, dict):
        return Promise()
    models = kept.get("models")
    return Promise(
        models=tuple(m for m in models if isinstance(m, str)) if isinstance(models, list) else (),
        task=_NOT_CHAT.get(str(kept.get("task")), "chat"),
        tools=kept.get("tools") is True,
        reasoning=kept.get("reasoning") is True,
        image=kept.get("image") is True,
        recipe=str(kept.get("recipe") or ""),
    )
