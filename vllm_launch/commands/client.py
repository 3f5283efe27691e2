"""client: the recipe's settings as a request to the running server."""

from __future__ import annotations

import os

from ..catalog.shelf import Shelf
from ..errors import UsageError
from ..resolve.requests import request_for
from ..streams import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..settings import Settings

_URL = "http://localhost:8000"


def run(invocation: Invocation, settings: Settings) -> int:
    """Print how the model is asked."""
    found = Shelf(settings.listed("recipes_dir")).find(invocation.argument or "")
    url = server_url(settings)
    request = request_for(found.recipe, settings["model_name"] or served_name(found, settings))
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


def server_url(settings: Settings) -> str:
    """The server's address, without a slash at its end. Raises UsageError for what is none."""
    url = str(settings["url"] or _URL).rstrip("/").removesuffix("/v1")
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise UsageError(
            f"{settings.source('url')}: found {settings['url']!r}; expected http://HOST:PORT",
            hint=f"for example --url {_URL}",
        )
    return url


def served_name(found: Found, settings: Settings) -> str:
    """The name that a server has for the model, where --served-model-name says no other."""
    recipe = found.recipe
    name = settings["variant"] or found.variant or next(iter(recipe.variants))
    variant = recipe.variants.get(name)
    if variant is None:
        raise UsageError(
            f"{recipe.id} has no variant {name!r}", hint=f"variants: {', '.join(recipe.variants)}"
        )
    return found.model_path or variant.model_id or recipe.model.model_id
