"""The public site's JSON: an index of recipes with each recipe's file beside it, or one recipe."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

from ..catalog.files import parse
from ..catalog.published import is_recipe_id
from ..catalog.tree import child
from ..errors import RecipeError
from .layout import check_names, check_sizes
from .limits import SourceError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..catalog.tree import Node
    from .https import Client

_REVISION = 16  # hexadecimal digits


def fetch(url: str, client: Client, count: Callable[[str], None]) -> tuple[str, dict[str, bytes]]:
    """The revision of what is published, and its files by their paths. Raises SourceError."""
    data = client.get(url)
    root = _parsed(data, url)
    if root[0] == "list":
        files = _listed(url, _ids(root, url), client, count)
    else:
        recipe_id = _id(root, url, "it")
        files = {f"models/{recipe_id}.json": data}
    check_names(files, url)
    check_sizes({path: len(body) for path, body in files.items()}, client.limits, url)
    return revision_of(files), files


def revision_of(files: dict[str, bytes]) -> str:
    """A name for exactly these files."""
    lines = (f"{path} {sha256(body).hexdigest()}\n" for path, body in sorted(files.items()))
    return sha256("".join(lines).encode()).hexdigest()[:_REVISION]


def is_revision(text: str) -> bool:
    """Whether a text has the form of such a name."""
    return len(text) == _REVISION and set(text) <= set("0123456789abcdef")


def _parsed(data: bytes, url: str) -> Node:
    try:
        root, problems = parse(data, url, is_json=True)
    except RecipeError as error:
        raise SourceError(f"{url} is not JSON: {error.problems[0].message}") from None
    if problems:
        raise SourceError(f"{url} cannot be used: {problems[0].message}")
    return root


def _ids(root: Node, url: str) -> list[str]:
    """The recipes that an index lists, without the variants of others that it lists too."""
    entries = enumerate(root[3], 1)
    ids = [_id(e, url, f"entry {i}") for i, e in entries if child(e, "derived_from") is None]
    if not ids:
        raise SourceError(f"{url} lists no recipes")
    check_names((f"models/{each}.json" for each in ids), url)
    return ids


def _id(node: Node, url: str, what: str) -> str:
    """A recipe's id. Raises SourceError for what is none, or leads elsewhere."""
    found = child(node, "hf_id")
    text = found[3] if found is not None and found[0] == "text" else None
    if text is None:
        raise SourceError(
            f"{url} is neither an index of recipes nor a recipe: {what} has no hf_id",
            hint="the public site's index is models.json",
        )
    if not is_recipe_id(text):
        raise SourceError(f"{url}: {what} has the hf_id {shown(repr(text[:100]))}, which is no id")
    return str(text)


def _listed(
    url: str, ids: list[str], client: Client, count: Callable[[str], None]
) -> dict[str, bytes]:
    """The recipes' files, which stand beside the index."""
    if len(ids) > client.limits.files:
        raise SourceError(f"{url} lists {len(ids)} recipes; at most {client.limits.files}")
    base = url.partition("?")[0].rpartition("/")[0]
    files = {}
    for i, recipe_id in enumerate(dict.fromkeys(ids), 1):
        count(f"{i} of {len(ids)} recipes")
        address = f"{base}/{quote(recipe_id)}.json"
        body = client.get(address)
        _refuse_another(body, recipe_id, address, url)
        files[f"models/{recipe_id}.json"] = body
    return files


def _refuse_another(body: bytes, recipe_id: str, address: str, url: str) -> None:
    """Raise SourceError for another recipe than is listed. What cannot be read is told later."""
    import json

    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    found = value.get("hf_id", recipe_id) if isinstance(value, dict) else recipe_id
    if found != recipe_id:
        told = shown(repr(found)[:100])
        raise SourceError(f"{address} is the recipe {told}, and {url} lists {recipe_id} there")
