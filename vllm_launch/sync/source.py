"""One source, synced: fetched, placed, read, and only then made to hold."""

from __future__ import annotations

import os

from ..catalog.sources import Current, SourceSpec, current_of
from ..errors import UsageError
from ..model.record import Record
from . import store
from .limits import Limits, SourceError, within
from .published import fetch, is_revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Wish(Record):
    """What an operator wants of a sync."""

    pin: str = ""  # stay at this from now on
    unpin: bool = False  # follow the newest again
    ca: str | None = None  # a file of certificates to trust beside the system's


class Outcome(Record):
    """What came of a sync."""

    name: str
    current: Current
    changed: bool
    kept_pin: bool  # nothing was fetched: it is pinned
    broken: dict[str, str]  # the recipes that cannot be read, and why


class Telling(Record):
    """Where to say what goes on: lines that stay, steps, and counts within a step."""

    line: Callable[[str], None]
    step: Callable[[str], None]
    count: Callable[[str], None]


def sync(spec: SourceSpec, wish: Wish, limits: Limits, telling: Telling) -> Outcome:
    """Fetch a source's newest revision, or the one it is pinned to. Raises LaunchError.

    Where anything goes wrong, what the source had before stays and holds.
    """
    if wish.unpin and spec.pin:
        raise UsageError(
            f"the settings pin {spec.url} to {spec.pin}", hint="change them; --unpin cannot"
        )
    with store.locked(spec.name, telling.line) as directory:
        before = current_of(spec.name)
        if before is not None and before.url != spec.url:
            raise UsageError(
                f"{spec.name} is the name of {before.url}",
                hint=f"give this one a name of its own: OTHER={spec.url}",
            )
        stays = _stays(before, spec, wish)
        pin = wish.pin or spec.pin
        if before is not None and stays and os.path.isdir(os.path.join(directory, before.revision)):
            return _outcome(spec, before, False, {}, kept_pin=True)
        if before is not None and not pin and not wish.unpin:
            pin = before.pin
        return _renewed(spec, before, pin, directory, (wish, limits, telling))


def _stays(before: Current | None, spec: SourceSpec, wish: Wish) -> bool:
    """Whether a source is pinned already, and nothing else is asked for."""
    if before is None or not before.pin or wish.unpin or wish.pin:
        return False
    return spec.pin in ("", before.pin)


def _renewed(
    spec: SourceSpec,
    before: Current | None,
    pin: str,
    directory: str,
    how: tuple[Wish, Limits, Telling],
) -> Outcome:
    """Fetch, place, read and let hold."""
    kind = "json" if spec.url.partition("?")[0].endswith(".json") else "git"
    revision, files = _fetched(spec, kind, pin, directory, how)
    store.prune(directory, spec.name)  # what a sync that was ended left takes no room
    path, new = store.place(directory, revision, files, how[2].line)
    try:
        count, broken = store.verdict(path, spec.url)
    except SourceError:
        if new:
            store.remove(path)
        raise
    changed = before is None or before.revision != revision
    current = Current(
        revision=revision,
        url=spec.url,
        kind=kind,
        pin=pin,
        previous=_previous(before, changed),
        synced=store.now(),
        recipes=count,
        broken=len(broken),
    )
    store.make_current(directory, current)
    store.prune(directory, spec.name)
    return _outcome(spec, current, changed, broken)


def _previous(before: Current | None, changed: bool) -> str:
    if before is None:
        return ""
    return before.revision if changed else before.previous


def _fetched(
    spec: SourceSpec, kind: str, pin: str, directory: str, how: tuple[Wish, Limits, Telling]
) -> tuple[str, dict[str, bytes]]:
    """A revision and its files; none of these where the revision is there already."""
    wish, limits, telling = how
    if kind == "json" and is_revision(pin) and os.path.isdir(os.path.join(directory, pin)):
        return pin, {}
    with within(limits.seconds, spec.url):
        if kind == "git":
            from .repository import Repository

            objects = os.path.join(directory, "git")
            return Repository(spec.url, objects, limits, wish.ca).fetch(pin, telling.step)
        from .https import Client

        client = Client(limits, os.path.join(directory, "http"), wish.ca)
        try:
            telling.step("fetching")
            revision, files = fetch(spec.url, client, telling.count)
            client.cache.forget_unused()
        finally:
            client.close()
    if pin and revision != pin:
        raise SourceError(f"{spec.url} is at {revision}, and {pin} is not kept here")
    return revision, files


def _outcome(
    spec: SourceSpec,
    current: Current,
    changed: bool,
    broken: dict[str, str],
    kept_pin: bool = False,
) -> Outcome:
    return Outcome(
        name=spec.name, current=current, changed=changed, broken=broken, kept_pin=kept_pin
    )
