"""Commands as shell text that bash, dash and zsh read back as the very same words."""

from __future__ import annotations

from ..model.flags import is_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def quote(word: str) -> str:
    """One word, quoted where a shell would otherwise change it."""
    if word and _BARE.issuperset(word) and not (word[0] == "=" or ":=" in word):
        return word  # zsh makes the path of ls out of "=ls", and of "x:=ls" in an export
    return "'" + word.replace("'", "'\"'\"'") + "'"


def one_line(text: str) -> str:
    """A text in which no line of its own can be taken for one of ours."""
    return text.replace("\n", "\\n") if "\n" in text else text


def command(argv: Sequence[str], starts: Collection[int]) -> str:
    """A command with one flag a line; words at ``starts`` begin a line too."""
    lines = [quote(argv[0])]
    for i, word in enumerate(argv[1:], 1):
        if is_flag(word) or i in starts:
            lines.append("  " + quote(word))
        else:
            lines[-1] += " " + quote(word)
    return " \\\n".join(lines)


def exports(variables: Mapping[str, str]) -> list[str]:
    """One export line for each variable."""
    return [f"export {name}={quote(value)}" for name, value in variables.items()]
