"""resolve --batch: JSON lines in, JSON lines out."""

from __future__ import annotations

import gc
import sys

from ..catalog.shelf import Shelf
from ..errors import LaunchError, UsageError
from ..resolve.resolver import Resolver
from ..streams import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..commandline import Invocation
    from ..settings import Settings

_MOST = 2000  # recipes, and names of none, that are remembered


class Resolvers:
    """One resolver a recipe, made when it is first asked for; a broken one stays broken."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._known: dict[str, Resolver | LaunchError] = {}

    def __call__(self, model: str) -> Resolver:
        found = self._known.get(model)
        if found is None:
            if len(self._known) >= _MOST:  # names without end: there are not so many recipes
                self._known.clear()
            found = self._known[model] = self._make(model)
        if isinstance(found, LaunchError):
            raise found.with_traceback(None)  # which would grow, and keep what it saw, each time
        return found

    def _make(self, model: str) -> Resolver | LaunchError:
        try:
            found = self.shelf.find(model)
            library = found.library
            return Resolver(found.recipe, library)
        except LaunchError as error:
            return error


def run(invocation: Invocation, settings: Settings) -> int:
    """Answer every line; a line that fails answers with its error."""
    source = settings["batch"]
    if source is None:
        raise UsageError(
            "resolve needs --batch FILE, or --batch - for the standard input",
            hint="see vllm-launch resolve --help",
        )
    gc.enable()
    resolvers = Resolvers(Shelf(settings.listed("recipes_dir"), settings.listed("sources")))
    if source == "-":
        if sys.stdin is None:
            raise UsageError("--batch -: the standard input is closed")
        _answer(sys.stdin, resolvers)
        return 0
    try:
        lines = open(source, encoding="utf-8-sig", errors="surrogateescape")  # noqa: SIM115
    except OSError as error:
        raise UsageError(
            f"--batch: cannot read {source}: {error.strerror}", hint="name a file of JSON lines"
        ) from None
    with lines:
        _answer(_read(lines, source), resolvers)
    return 0


def _read(lines: Iterable[str], source: str) -> Iterator[str]:
    """The lines of a file; what fails while reading them is told apart from what fails beside."""
    try:
        yield from lines
    except OSError as error:
        raise UsageError(f"--batch: cannot read {source}: {error.strerror}") from None


def _answer(lines: Iterable[str], resolvers: Resolvers) -> None:
    from ..batch import answers

    for line in answers(lines, resolvers):
        answer(line + "\n")
