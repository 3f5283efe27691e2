"""The launcher's command that a log is of."""

from __future__ import annotations

from ..model.secrets import concealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STARTED_AS = "# started as: "  # how the launcher begins the line that says its own command
_ARGUMENTS = "non-default args:"  # how vLLM begins the line that says what it was given
_MODEL = (
    r"'model_tag': '([^']+)'",
    r"'model': '([^']+)'",
    r"\bvllm serve ([\w./-]+)",
    r"\bdynamo\.vllm --model ([\w./-]+)",
    r"\bmodel='([^']+)'",
)


def started_by(lines: Iterable[str]) -> tuple[str, ...]:
    """The command that a log is of: the launcher's own line, else "serve", the model and port.

    Empty where the log names neither.
    """
    import re
    import shlex

    model, port = "", None
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
        if _ARGUMENTS in line:
            port = re.search(r"'port': (\d{1,5})\b", line) or port
    return ("serve", model, *(("--port", port[1]) if port else ())) if model else ()
