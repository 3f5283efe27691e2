"""client: the recipe's settings as a request to the running server."""

from __future__ import annotations

import os

from ..errors import UsageError, instead
from ..resolve.requests import request_for
from ..streams import answer
from .find import find_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..running.state import Kept
    from ..settings import Settings

_URL = "http://localhost:8000"


def run(invocation: Invocation, settings: Settings) -> int:
    """Print how the model is asked."""
    found = find_model(invocation.argument or "", settings)
    kept = asked_server(settings, found.recipe.id)
    url = server_url(settings, kept)
    request = request_for(found.recipe, asked_name(found, settings, kept))
    keyed = bool(os.environ.get("VLLM_API_KEY"))
    form = settings["output"] or "text"
    if form == "json":
        from ..render.envelope import envelope

        body = {"url": url + request.path, "body": {"model": request.model, **request.body}}
        answer(envelope("client", {**body, "choices": dict(request.choices)}))
        return 0
    from ..render import client

    writers = {"text": client.client_text, "curl": client.curl, "python": client.python}
    answer(writers[form](request, url, keyed=keyed))
    return 0


def server_url(settings: Settings, kept: Kept | None) -> str:
    """The server's address, without a slash at its end: the one given, else the kept server's.

    Raises UsageError for what is none.
    """
    if settings["url"] is None:
        return kept.url if kept is not None else _URL
    url = str(settings["url"]).rstrip("/").removesuffix("/v1")
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise UsageError(
            f"{settings.source('url')}: found {settings['url']!r}; expected http://HOST:PORT",
            hint=f"for example --url {_URL}",
        )
    return url


def asked_server(settings: Settings, recipe_id: str) -> Kept | None:
    """The recipe's one server that this launcher started and that runs: of --url, where given."""
    from ..running import state
    from ..running.condition import condition

    place = None if settings["url"] is None else server_url(settings, None)
    running = [
        each
        for each in filter(None, map(state.read, state.names()))
        if each.model == recipe_id
        and (each.url.startswith("http") if place is None else each.url == place)
        and condition(each).runs
    ]
    return running[0] if len(running) == 1 else None


def asked_name(found: Found, settings: Settings, kept: Kept | None) -> str:
    """What the server calls the model: as --model-name says, or the server's own record."""
    from ..running.promise import from_record

    named = from_record(kept.promise).models if kept is not None else ()
    if named and settings["variant"] is None:
        return settings["model_name"] or named[0]
    return settings["model_name"] or served_name(found, settings)


def served_name(found: Found, settings: Settings) -> str:
    """The name that a server has for the model, where --served-model-name says no other."""
    recipe = found.recipe
    name = settings["variant"] or found.variant or next(iter(recipe.variants))
    variant = recipe.variants.get(name)
    if variant is None:
        raise UsageError(
            f"{recipe.id} has no variant {name!r}",
            hint=instead(name, "variants", recipe.variants),
        )
    return found.model_path or variant.model_id or recipe.model.model_id
