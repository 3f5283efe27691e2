"""Parts with their placeholders filled in, for engines whose addresses are known beforehand."""

from __future__ import annotations

from ..errors import UsageError
from ..resolve.endpoints import names_in
from ..resolve.parts import parts as parts_of
from ..resolve.placeholders import fill_part, meaning, on_one_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.part import ConfigFile, Part
    from . import Brief

OPERATOR = "operator"  # the layer of words in which a dollar sign is a dollar sign


def filled_parts(brief: Brief, directory: str) -> tuple[Part, ...]:
    """The parts that can be started, with every placeholder filled; files are in ``directory``.

    On one machine all reach each other over the loopback address, or the one that a server
    listens on; of several machines the operator gives the addresses. Raises UsageError for what
    nobody gave.
    """
    if not startable(brief):
        raise UsageError(
            f"the recipe's command for the {brief.parts[0].title} needs a shell",
            hint="vllm-launch serve --dry-run prints it, to be run by hand",
        )
    everything = parts_of(brief.deployment)
    alone = len({part.node for part in everything}) == 1
    found, unfilled = [], []
    for part in startable(brief):
        values = {}
        for name in recipe_names(part):
            stands = meaning(name, brief.deployment, everything)
            stands = on_one_machine(stands, everything) if alone else stands
            if stands.kind == "file":
                values[name] = f"{directory}/{file_name(part, name)}"
            elif stands.default is not None:
                values[name] = stands.default
            else:
                unfilled.append(name)
        found.append(fill_part(part.replace(files=used_files(part)), values))
    _refuse(tuple(dict.fromkeys(unfilled)))
    return tuple(found)


def startable(brief: Brief) -> tuple[Part, ...]:
    """The parts that are one plain command each; what needs a shell is started by hand."""
    return tuple(part for part in brief.parts if part.argv)


def by_hand(brief: Brief) -> tuple[str, ...]:
    """Comment lines about the parts that only a shell could start."""
    lines = []
    for part in brief.parts:
        if not part.argv:
            lines += ["", f"To be started by hand, the {part.title}:"]
            lines += [f"  {line}" for line in part.text.splitlines()]
    return tuple(lines)


def recipe_names(part: Part) -> tuple[str, ...]:
    """The placeholders in a part's recipe text and files, each once."""
    texts = list(_recipe_texts(part))
    texts += [text for file in part.files for text in _texts_in(file.content)]
    return tuple(dict.fromkeys(name for text in texts for name in names_in(text)))


def used_files(part: Part) -> tuple[ConfigFile, ...]:
    """The files that a part reads where its placeholders say; none that the operator named."""
    names = {name for text in _recipe_texts(part) for name in names_in(text)}
    return tuple(file for file in part.files if file.placeholder in names)


def file_name(part: Part, placeholder: str) -> str:
    """The name of the file that a placeholder stands for."""
    return next(file.name for file in part.files if file.placeholder == placeholder)


def file_text(file: ConfigFile) -> str:
    """A configuration file as JSON."""
    import json

    return json.dumps(file.content, indent=2, ensure_ascii=False) + "\n"


def has_foreign_path(part: Part) -> bool:
    """Whether a recipe sets PATH: it may not choose which program is run."""
    if part.plan is None:
        return any(name == "PATH" for name, _ in part.env)
    return any(n == "PATH" and s.layer != OPERATOR for n, _, s in part.plan.variables)


def _recipe_texts(part: Part) -> Iterator[str]:
    """A part's words and values, without those that are the operator's own."""
    if part.plan is None:
        yield from part.argv
        yield from (value for _, value in part.env)
        return
    for _, tokens, source in part.plan.arguments:
        yield from tokens if source.layer != OPERATOR else ()
    yield from (value for _, value, source in part.plan.variables if source.layer != OPERATOR)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts_in(each)


def _refuse(unfilled: tuple[str, ...]) -> None:
    if unfilled:
        options = " ".join(f"--endpoint {name}=…" for name in unfilled)
        raise UsageError(
            f"not filled in: {', '.join('$' + name for name in unfilled)}", hint=f"give {options}"
        )
