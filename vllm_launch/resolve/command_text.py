"""A recipe's shell text as plain words, where it is one plain command.

The text is untrusted: it is taken apart into words, and never handed to a shell.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Command: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]

_OPERATORS = "();<>|&"
_PATTERNS = "*?[]{}"  # what a shell makes other words of


def words(text: str) -> Command | None:
    """The words and variables of one command; None for what only a shell could run.

    Comments are left out, and leading ``NAME=VALUE`` and ``export`` lines are its variables.
    """
    import shlex

    env: list[tuple[str, str]] = []
    found: tuple[str, ...] = ()
    for line in _lines(text):
        if _needs_shell(line):
            return None
        try:
            tokens = shlex.split(line, comments=True)
        except ValueError:  # an open quotation
            return None
        exported = tokens[:1] == ["export"]
        tokens = tokens[1:] if exported else tokens
        while tokens and _is_assignment(tokens[0]):
            name, _, value = tokens.pop(0).partition("=")
            env.append((name, value))
        if tokens and (found or exported):
            return None
        found = found or tuple(tokens)
    return (found, tuple(env)) if found else None


def _lines(text: str) -> list[str]:
    """The lines of a text without comments, those that a backslash joins as one."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(kept).replace("\\\n", " ")
    return [line for line in joined.split("\n") if line.strip()]


def _needs_shell(line: str) -> bool:
    """Whether a shell would do more with a line than take it apart into words."""
    quotation, before = "", ""
    for character in line.replace("\\'", "").replace('\\"', ""):
        if quotation != "'" and (character == "`" or (before == "$" and character == "(")):
            return True
        if not quotation and character in _OPERATORS:
            return True
        if not quotation and character in _PATTERNS and not _in_placeholder(line, character):
            return True
        if not quotation and character == "#" and before in ("", " ", "\t"):
            return False
        if character in "'\"" and quotation in ("", character):
            quotation = "" if quotation else character
        before = character
    return False


def _in_placeholder(line: str, character: str) -> bool:
    """Whether every such brace belongs to a ${NAME}."""
    return character in "{}" and line.count("{") == line.count("${") == line.count("}")


def _is_assignment(token: str) -> bool:
    name, equals, _ = token.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()
