"""What an option and a command are, and how an option's value is read."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_DIGITS = 8
_YES = ("1", "true", "yes", "on")
_NO = ("0", "false", "no", "off", "")


class Option(Record):
    """One option. Its environment variable is VLLM_LAUNCH_NAME, its config key NAME."""

    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    # "text", "count" (1 or more), "rank" (0 or more), "port", "flag", "source", "size"
    kind: str = "text"
    many: bool = False  # may be given several times
    choices: tuple[str, ...] = ()
    completes: str = ""  # what a shell completes its value with

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"VLLM_LAUNCH_{self.name.upper()}"


class Command(Record):
    """One command: what it takes, and where its function is."""

    name: str  # "serve", "recipes list"
    help: str
    module: str  # of vllm_launch.commands
    argument: str = ""  # its positional argument
    argument_required: bool = True
    argument_many: bool = False  # it may be given several times
    argument_help: str = ""
    options: tuple[Option, ...] = ()
    passes_on: bool = False  # what follows "--" is handed to vLLM
    examples: tuple[str, ...] = ()


def checked(option: Option, text: str) -> Any:
    """An option's value out of text. Raises ValueError with what was expected."""
    if option.kind == "flag":
        return _truth(text)
    if option.kind in ("count", "rank"):
        return _number(text, 1 if option.kind == "count" else 0)
    if option.kind == "port":
        return _port(text)
    if option.kind == "size":
        return _size(text)
    if option.kind == "source":
        from ..catalog.sources import parse

        parse(text)
    if option.choices and text not in option.choices:
        raise ValueError(", ".join(option.choices))
    if "\0" in text:
        raise ValueError("text without NUL characters")
    return text


def _truth(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError("1 or 0")
    return text.lower() in _YES


def _number(text: str, least: int) -> int:
    plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    if not plain or int(text) < least:
        too_long = text.isascii() and text.isdecimal() and len(text) > _MOST_DIGITS
        most = f", {_MOST_DIGITS} digits at most" if too_long else ""
        raise ValueError(f"a whole number of {least} or more{most}")
    return int(text)


def _port(text: str) -> int:
    plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    if not plain or not 0 < int(text) < 2**16:
        raise ValueError("a port, 1 to 65535")
    return int(text)


def _size(text: str) -> float:
    from ..catalog.search import parameters

    size = parameters(text)
    if size is None:
        raise ValueError("a number of parameters, such as 70B or 1.5T")
    return size
