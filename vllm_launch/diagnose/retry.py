"""The command to try next, out of the one that failed and what is to be changed of it."""

from __future__ import annotations

from ..model.secrets import concealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .symptom import Try

STARTED_AS = "# started as: "  # how the launcher begins the line that says its own command
_MANY = ("--env", "-e", "--endpoint", "--feature", "-f", "--no-feature", "--skip")
_MODEL = (
    r"'model_tag': '([^']+)'",
    r"'model': '([^']+)'",
    r"\bvllm serve ([\w./-]+)",
    r"\bdynamo\.vllm --model ([\w./-]+)",
    r"\bmodel='([^']+)'",
)


def started_by(lines: Iterable[str]) -> tuple[str, ...]:
    """The command that a log is of: the launcher's own line, else "serve" and the model.

    Empty where the log names neither.
    """
    import re
    import shlex

    model = ""
    for line in lines:
        if STARTED_AS in line:
            try:
                words = shlex.split(line.partition(STARTED_AS)[2])
            except ValueError:
                continue
            return tuple(map(concealed, words[1:]))
        if not model and ("model" in line or "vllm serve" in line):
            found = (re.search(pattern, line) for pattern in _MODEL)
            model = next((match[1] for match in found if match), "")
    return ("serve", model) if model else ()


def retried(words: Sequence[str], step: Try) -> tuple[str, ...]:
    """The words of the launcher's command that takes a step; none where the step is another's."""
    if step.instead or not (step.options or step.flags or step.subcommand != "serve"):
        return ()
    if step.subcommand == "detect":
        return ("detect",)
    own, passed = _halves(words)
    command, *rest = own or ["serve"]
    rest = rest or ["MODEL"]
    if step.subcommand != "serve":
        passed = () if step.subcommand == "fit" else passed
        rest = rest[:1] if step.subcommand == "fit" else rest
        command = step.subcommand
    rest = [*_without(rest, step.options), *step.options]
    passed = (*_without(passed, step.flags), *step.flags)
    return (command, *rest, *(("--", *passed) if passed else ()))


def _halves(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """What is the launcher's and what is vLLM's."""
    if "--" not in words:
        return list(words), ()
    at = list(words).index("--")
    return list(words[:at]), tuple(words[at + 1 :])


def _without(words: Sequence[str], changed: Sequence[str]) -> list[str]:
    """Words without the options that are given anew."""
    anew = {word for word in changed if word.startswith("-") and word not in _MANY}
    kept: list[str] = []
    dropping = False
    for word in words:
        if word.startswith("-"):
            dropping = word.partition("=")[0] in anew
        if not dropping:
            kept.append(word)
        elif "=" in word or not word.startswith("-"):
            dropping = False
    return kept
