"""Commands that differ in nothing but their node's number, written once."""

from __future__ import annotations

from ...model.record import Record
from .words import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .commands import Command
    from .words import Piece, Word

NODE = "SLURM_NODEID"
OWN = "NODE_IP"  # the address of the node that a command runs on


class Group(Record):
    """One command for each of several nodes in a row, or for a single one."""

    command: Command  # the first node's, with what differs as arithmetic of the node's number
    name: str  # what its logs are called, as bash text
    first: int
    last: int
    title: str


def groups(commands: Sequence[Command], nodes_of: Mapping[str, int]) -> tuple[Group, ...]:
    """The commands in their order, each run of alike ones as one.

    ``nodes_of`` says whose node's address a placeholder is.
    """
    found: list[Group] = []
    at = 0
    while at < len(commands):
        run = _run(commands, at, nodes_of)
        found.append(run)
        at += run.last - run.first + 1
    return tuple(found)


def _run(commands: Sequence[Command], at: int, nodes_of: Mapping[str, int]) -> Group:
    """The longest run of alike commands from a place on."""
    first = commands[at]
    members = [first]
    for command in commands[at + 1 :]:
        if command.node != members[-1].node + 1 or not _alike(first, command):
            break
        members.append(command)
    while len(members) > 1:
        merged = _merged(members, nodes_of)
        if merged is not None:
            return merged
        members = members[: len(members) // 2]
    return Group(
        command=first, name=first.name, first=first.node, last=first.node, title=first.name
    )


def _alike(one: Command, other: Command) -> bool:
    return (
        one.role == other.role
        and len(one.words) == len(other.words)
        and [name for name, _ in one.env] == [name for name, _ in other.env]
        and one.waits == other.waits
        and one.files == other.files
        and one.text == other.text
        and one.finds_program == other.finds_program
    )


def _merged(members: Sequence[Command], nodes_of: Mapping[str, int]) -> Group | None:
    """One command for all members; None where some word is not of its node's number."""
    first, last = members[0], members[-1]
    name = _name([command.name for command in members], [command.node for command in members])
    if name is None:
        return None
    words = _common_words([command.words for command in members], members, nodes_of)
    values = _common_words(
        [tuple(value for _, value in command.env) for command in members], members, nodes_of
    )
    if words is None or values is None:
        return None
    env = tuple((key, value) for (key, _), value in zip(first.env, values, strict=True))
    return Group(
        command=first.replace(words=words, env=env),
        name=name,
        first=first.node,
        last=last.node,
        title=f"{first.name} to {last.name}",
    )


def _name(names: Sequence[str], nodes: Sequence[int]) -> str | None:
    """The names' common form: what they begin with, and their node's number in arithmetic."""
    stems = {name.rpartition("-")[0] for name in names}
    counted = _as_arithmetic([name.rpartition("-")[2] for name in names], nodes)
    if len(stems) != 1 or counted is None:
        return None
    return written((("text", f"{stems.pop()}-"), _piece(counted)))


def _piece(counted: str) -> Piece:
    return ("name", NODE) if counted == NODE else ("sum", counted)


def _common_words(
    rows: Sequence[tuple[Word, ...]], members: Sequence[Command], nodes_of: Mapping[str, int]
) -> tuple[Word, ...] | None:
    """The words of all members, place by place."""
    found = []
    nodes = [command.node for command in members]
    for column in zip(*rows, strict=True):
        word = _common_word(column, nodes, nodes_of)
        if word is None:
            return None
        found.append(word)
    return tuple(found)


def _common_word(
    column: Sequence[Word], nodes: Sequence[int], nodes_of: Mapping[str, int]
) -> Word | None:
    """One word that is each member's on its node."""
    if all(word == column[0] for word in column):
        return column[0]
    if all(len(word) == 1 and word[0][0] == "text" for word in column):
        counted = _as_arithmetic([word[0][1] for word in column], nodes)
        return None if counted is None else (_piece(counted),)
    own = [_own(word, node, nodes_of) for word, node in zip(column, nodes, strict=True)]
    return own[0] if all(word == own[0] for word in own) else None


def _own(word: Word, node: int, nodes_of: Mapping[str, int]) -> Word:
    """A word with the address of its own node under the one name that every node has for it."""
    return tuple(
        ("name", OWN) if kind == "name" and nodes_of.get(text) == node else (kind, text)
        for kind, text in word
    )


def _as_arithmetic(texts: Sequence[str], nodes: Sequence[int]) -> str | None:
    """Arithmetic that gives each text from its node's number, or None."""
    if not all(text.isascii() and text.isdecimal() and len(text) < 10 for text in texts):
        return None
    numbers = [int(text) for text in texts]
    step = numbers[1] - numbers[0]
    base = numbers[0] - step * nodes[0]
    fits = all(str(base + step * node) == text for text, node in zip(texts, nodes, strict=True))
    return _arithmetic(step, base) if fits else None


def _arithmetic(step: int, base: int) -> str:
    text = NODE if step == 1 else f"{NODE} * {step}"
    if base == 0:
        return text
    return f"{text} {'+' if base > 0 else '-'} {abs(base)}"
