"""Where an argument, a variable or a choice came from."""

from __future__ import annotations

from .flags import is_flag, long
from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias


class Source(Record):
    """One layer's place: the key path it stands under, its file and its line."""

    layer: str  # "variants.fp8.extra_args", "operator", …
    file: str = ""  # empty where no file is behind it
    line: int = 0  # 1 is the first
    detail: str = ""  # how a computed value came about

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else ""
        return "  ".join(part for part in (place, self.layer, self.detail) if part)


# Plain tuples, because a plan holds hundreds and the batch resolves thousands a second.
if TYPE_CHECKING:
    # A flag by its long name, with a value that is joined to it; the tokens as they are written.
    # Or a lone token, whose flag is "".
    Argument: TypeAlias = tuple[str, tuple[str, ...], Source]
    Arguments: TypeAlias = tuple[Argument, ...]
    Variable: TypeAlias = tuple[str, str, Source]  # name, value, source
    Variables: TypeAlias = tuple[Variable, ...]


def paired(tokens: Iterable[tuple[str, Source]]) -> Arguments:
    """Group tokens into flags with their values.

    A token is a flag if it starts with ``-`` and is no number; what follows up to the next flag is
    its value.
    """
    found: list[Argument] = []
    for token, source in tokens:
        if is_flag(token):
            found.append((long(token), (token,), source))
        elif not found:
            found.append(("", (token,), source))
        else:
            flag, before, place = found[-1]
            found[-1] = (flag, (*before, token), place)
    return tuple(found)
