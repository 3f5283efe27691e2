"""The standard streams: an answer that has to arrive, and remarks that may get lost."""

from __future__ import annotations

import codecs
import os
import sys

from .errors import LaunchError
from .model.secrets import concealed, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_AS_BYTES = "vllm_launch"
_USUAL_COLUMNS = 80
_DIGITS = 6  # of a number that can be a width
_OVER = "\r\033[K"  # to the line's beginning, and nothing left on it
_SHORTEST_SECRET = 8  # characters: what is shorter stands in other words too


def prepare() -> None:
    """Make the streams take any text, and be there where they were closed.

    What a shell reads back has to be, byte for byte, what would be executed, in any locale.
    """
    codecs.register_error(_AS_BYTES, _as_bytes)
    sys.stdout = sys.stdout or _nowhere(os.O_RDONLY)  # so that an answer is not taken
    sys.stderr = sys.stderr or _nowhere(os.O_WRONLY)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding=sys.getfilesystemencoding(), errors=_AS_BYTES)


def to_bytes(text: str) -> bytes:
    """A word as the system takes it; what the locale has no byte for is UTF-8."""
    return text.encode(sys.getfilesystemencoding(), _AS_BYTES)


def answer(text: str) -> None:
    """Write to the standard output.

    What reads it otherwise than a terminal is given every byte. Raises BrokenPipeError where
    nobody reads it any more, LaunchError where it cannot be written.
    """
    try:
        sys.stdout.write(visible(text, styled=True) if sys.stdout.isatty() else text)
    except OSError as error:
        raise write_error(error) from None


def finish() -> None:
    """Have all of the answer written, while there is somebody to say that it was not."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise write_error(error) from None


def write_error(error: OSError) -> Exception:
    """The error for an answer that cannot be written; what is left of it is let go."""
    _let_go(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return error
    return LaunchError(f"cannot write the answer: {error.strerror}", code="cannot_write")


def remark(text: str, *, as_it_is: bool = False, over: bool = False) -> None:
    """Write to the standard error, if that takes it: the answer does not depend on it.

    Nothing that a terminal obeys and no secret is written, whoever the words are from. On a
    terminal, lines end at its edge; ``as_it_is``: what others wrote is not folded; ``over``: it
    takes the place of the line that was begun.
    """
    try:
        text = visible(without_secrets(text))
        if not (as_it_is or over) and sys.stderr.isatty():
            from .folding import folded

            text = folded(text, columns(sys.stderr))
        sys.stderr.write(_OVER + text if over else text)
        sys.stderr.flush()
    except OSError:
        _let_go(sys.stderr)


def without_secrets(text: str) -> str:
    """A text without secrets: those that are known by their form, and the environment's own."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SECRET and value in text and is_secret(name):
            text = text.replace(value, "…")
    return concealed(text)


def visible(text: str, *, styled: bool = False, kept: str = "") -> str:
    """A text with escapes for what a terminal obeys, but for line ends and tabs.

    ``styled``: colours and bold letters stay; ``kept``: so do these characters.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    import re

    style = "\033\\[[0-9;]*m|" if styled else ""
    obeyed = f"{style}[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"

    def escaped(match: re.Match[str]) -> str:
        found = match[0]
        return found if len(found) > 1 or found in kept else ascii(found)[1:-1]

    return re.sub(obeyed, escaped, text)


def is_dumb() -> bool:
    """Whether a terminal obeys nothing: no colours, and no line is written over."""
    return os.environ.get("TERM", "") in ("", "dumb")


def shows_progress() -> bool:
    """Whether the standard error can have a line that is written over."""
    return sys.stderr.isatty() and not is_dumb()


def columns(stream: TextIO) -> int:
    """How wide a terminal is: what COLUMNS says, else the terminal itself, else 80."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and len(said) < _DIGITS and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def _nowhere(mode: int) -> TextIO:
    return open(os.open(os.devnull, mode), "w", encoding="utf-8", closefd=False)


def _let_go(stream: TextIO) -> None:
    """Point a stream at nothing, so that flushing it at exit is no second fault."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _as_bytes(error: UnicodeError) -> tuple[bytes, int]:
    """A codec's way out: the byte that a surrogate stands for, UTF-8 for all else."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end].encode("utf-8", "surrogateescape"), error.end
