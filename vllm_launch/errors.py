"""One family of errors: what is wrong, where, and what to do about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .model.problem import Problem


class LaunchError(Exception):
    """An error that an operator is told about, never with a traceback.

    ``code`` is stable for scripts, ``exit_status`` is the process's, ``hint``
    says what to do next.
    """

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code:
            self.code = code


class UsageError(LaunchError):
    """Something asked for does not exist or contradicts something else asked for."""

    code = "usage"
    exit_status = 2


class UnknownRecipe(UsageError):
    """There is no recipe of a model."""


class RecipeError(LaunchError):
    """A recipe, or a file beside it, is not valid; ``problems`` holds every fault found."""

    code = "bad_recipe"
    exit_status = 2

    def __init__(self, message: str, *, problems: Sequence[Problem] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class NothingFits(LaunchError):
    """No hardware, or no way to run what was asked on it."""

    code = "nothing_fits"
    exit_status = 3


class CheckFailed(LaunchError):
    """A check, a test of a server or a lock did not hold: nothing was started, or it was ended."""

    code = "check_failed"
    exit_status = 4

    def __init__(self, message: str, *, problems: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class MissingProgram(LaunchError):
    """A program that the plan needs is not there."""

    code = "missing_program"
    exit_status = 5


_CANDIDATES = 1000  # a list that is longer is somebody's attack on who reads it


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that is most like a word; "" where none is near. Case does not matter."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in list(names)[:_CANDIDATES]}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else ""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """ "did you mean …?", or nothing where no name is near."""
    near = nearest(word, names)
    return f"did you mean {near!r}?" if near else ""


def instead(word: str, what: str, names: Iterable[str]) -> str:
    """A hint for a name that is none: the nearest, and all that there are."""
    names = list(names)
    all_of_them = f"{what}: {', '.join(names) or 'none'}"
    return " ".join(filter(None, (did_you_mean(word, names), all_of_them)))


def first_of(names: Sequence[str], most: int) -> list[str]:
    """Names to be told: all, or the first ``most`` and how many more there are."""
    left = len(names) - most
    return [*names[:most], f"and {left} more"] if left > 0 else list(names)


def not_json(content: str | bytes, error: Exception) -> str:
    """Why a content is not JSON, with the place, in an operator's words."""
    if not content.strip():
        return "it is empty"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
    what = str(getattr(error, "msg", "") or error)
    return f"line {line}, column {column}: {what[:1].lower()}{what[1:]}"


def of_a_newer(found: object, ours: int) -> str:
    """The beginning of a hint for a file of another format: "" where it is none of later."""
    newer = type(found) is int and found > ours
    return "a newer vllm-launch wrote it: use that one, or " if newer else ""
