"""The parts of a deployment as shell text, in the order in which they are started."""

from __future__ import annotations

from .shell import command, exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.part import Part


def block(
    part: Part,
    argv: Sequence[str],
    variables: Mapping[str, str],
    starts: Sequence[int],
    *,
    titled: bool,
) -> str:
    """One part; evaluated by a shell, it gives exactly the words that would run."""
    lines = [f"# {part.title}"] if titled else []
    lines += _files(part)
    lines += exports(variables)
    lines += [command(argv, starts)] if argv else _comment(["by hand:", *part.text.splitlines()])
    return "\n".join(lines) + "\n"


def _files(part: Part) -> list[str]:
    """The files that a part reads, as comments."""
    lines: list[str] = []
    for file in part.files:
        import json

        content = json.dumps(file.content, indent=2, ensure_ascii=False).splitlines()
        head = [f"${file.placeholder} is a file that holds"]
        if file.path:
            head = ["written before it starts, with what follows:", file.path]
        lines += _comment([*head, *content])
    return lines


def _comment(lines: Sequence[str]) -> list[str]:
    return [f"# {line}".rstrip() for line in lines]
