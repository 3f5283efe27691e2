"""One family of errors: what is wrong, where, and what to do about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """A preflight check failed; nothing was started."""

    code = "check_failed"
    exit_status = 4

    def __init__(self, message: str, *, problems: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class MissingProgram(LaunchError):
    """A program that the plan needs is not there."""

    code = "missing_program"
    exit_status = 5
