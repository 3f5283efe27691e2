"""Words as unit files have them: systemd takes them apart by rules of its own."""

from __future__ import annotations

from ...errors import UsageError
from ...model.flags import is_flag

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@+=:,./-")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "%": "%%"}
_NOT_IN_PATHS = frozenset("\"'\\$%")


def quoted(text: str) -> str:
    """One word of a list, as in Environment=, where a dollar sign means nothing.

    Raises UsageError for NUL, which no process can be handed.
    """
    if text and _BARE.issuperset(text):
        return text
    # Escapes mean the same in both kinds of quotes. JSON reads better in single ones.
    mark = "'" if '"' in text and "'" not in text else '"'
    return mark + "".join(_character(each, mark) for each in text) + mark


def _character(each: str, mark: str) -> str:
    if each == "\0":
        raise UsageError("a word of the deployment has a NUL character in it")
    if each == mark:
        return f"\\{each}"
    if each in _ESCAPES:
        return _ESCAPES[each]
    if each.isprintable():
        return each
    return "".join(f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape"))


def argument(text: str) -> str:
    """One word of a command, where a dollar sign would begin a variable."""
    return quoted(text).replace("$", "$$")


def assignment(name: str, value: str) -> str:
    """One variable of Environment=. Raises UsageError for what systemd would leave out."""
    plain = name.replace("_", "a")
    if not (plain.isascii() and plain.isalnum()) or name[0].isdigit():
        raise UsageError(f"{name!r} is no name that systemd takes for a variable")
    bad = next((c for c in value if not _is_of_values(c)), None)
    if bad is not None:
        raise UsageError(
            f"{name}: {bad!a} is no character that systemd takes in a variable",
            hint="leave it out, or set the variable in a script that starts vLLM",
        )
    return quoted(f"{name}={value}")


def _is_of_values(character: str) -> bool:
    if "\ud800" <= character <= "\udfff":  # a byte that is no UTF-8
        return False
    return character in "\t\n" or (character >= " " and character != "\x7f")


def program(path: str) -> str:
    """The path of a command's program. Raises UsageError for one that systemd refuses."""
    named = all(each.isprintable() and each not in _NOT_IN_PATHS for each in path)
    if path.startswith("/") and named and "/../" not in path and not path.endswith("/"):
        return quoted(path)
    raise UsageError(
        f"systemd takes no program called {path!r}",
        hint="give a whole path without quotes, dollar and percent signs: --program-dir DIR",
    )


def plain(text: str) -> str:
    """Text for people, such as a description, in one line."""
    kept = "".join(c if c.isprintable() and c != "\\" else " " for c in text)
    return " ".join(kept.split()).replace("%", "%%")


def command(argv: list[str]) -> str:
    """A command's words, one flag with its value a line, the program's path first."""
    lines = [program(argv[0])]
    for word in argv[1:]:
        if is_flag(word):
            lines.append("    " + argument(word))
        else:
            lines[-1] += " " + argument(word)
    return " \\\n".join(lines)
