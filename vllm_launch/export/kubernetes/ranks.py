"""One container for every worker of a group, each rank with exactly its own words."""

from __future__ import annotations

from ...errors import UsageError
from ...model.record import Record
from ..yamltext import Block
from .addresses import values_of, words_of
from .words import expandable, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...model.part import Part
    from .addresses import Addresses

INDEX = "$(LWS_WORKER_INDEX)"  # which the LeaderWorkerSet controller sets in each pod
_RANK_FLAG = "--node-rank"

# Kubernetes puts values into words, but cannot multiply. The words are handed to the shell as its
# arguments: they go through it as they are, and none becomes part of what it runs. (It takes
# "$((" for its own, so a dollar sign more stands there.)
_SCRIPT = Block("""\
# $1 is the flag whose value is a rank's number times what stands there.
flag=$1
shift
before=
for word do
  shift
  if [ "$before" = "$flag" ]; then
    word=$$((word * LWS_WORKER_INDEX))
  fi
  set -- "$@" "$word"
  before=$word
done
exec "$@"
""")


class Run(Record):
    """What a container runs, in Kubernetes' writing."""

    command: tuple[str, ...]
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


def run_of(part: Part, addresses: Addresses, masks: Mapping[str, str]) -> Run:
    """What one part runs. ``masks`` are variables that have other values in a pod."""
    words = _words(part, addresses)
    program = _program(part)
    return Run(command=words[:program], args=words[program:], env=_env(part, addresses, masks))


def _program(part: Part) -> int:
    """How many words are the program; an image may have them as its entrypoint."""
    return len(part.plan.program) if part.plan is not None else 1


def run_of_workers(parts: Sequence[Part], addresses: Addresses, masks: Mapping[str, str]) -> Run:
    """What all workers run: one text, from which each rank's own words come.

    Raises UsageError where ranks differ in something that is not made from their number.
    """
    env = _env(parts[0], addresses, masks)
    for part in parts[1:]:
        if _env(part, addresses, masks) != env:
            raise UsageError(f"{part.title} has variables of its own, and workers share theirs")
    rows = [_words(part, addresses) for part in parts]
    if len({len(row) for row in rows}) > 1:
        raise UsageError(f"{parts[-1].title} has more or fewer words than other workers")
    words, multiplied = _merged(rows, [part.rank for part in parts])
    if not multiplied:
        program = _program(parts[0])
        return Run(command=words[:program], args=words[program:], env=env)
    flag = _flag_of(words, multiplied)
    command = ("/bin/sh", "-c", _SCRIPT, "sh")
    return Run(command=command, args=(flag, *words), env=env)


def _merged(
    rows: Sequence[tuple[str, ...]], ranks: Sequence[int]
) -> tuple[tuple[str, ...], list[int]]:
    """One row for all ranks, and the places whose word is to be multiplied with the rank."""
    words, multiplied = [], []
    for place, column in enumerate(zip(*rows, strict=True)):
        of_rank = place > 0 and rows[0][place - 1] == _RANK_FLAG
        if len(set(column)) == 1 and not (of_rank and column[0] == str(ranks[0])):
            words.append(column[0])
        elif all(word == str(rank) for word, rank in zip(column, ranks, strict=True)):
            words.append(INDEX)
        else:
            words.append(_step(column, ranks))
            multiplied.append(place)
    return tuple(words), multiplied


def _step(column: Sequence[str], ranks: Sequence[int]) -> str:
    """What each rank's number is multiplied with to make its word."""
    first = column[0]
    step = int(first) // ranks[0] if first.isascii() and first.isdecimal() else 0
    if any(word != str(rank * step) for word, rank in zip(column, ranks, strict=True)):
        raise UsageError(
            f"workers differ in {' and '.join(column[:2])}, which is not made from their rank",
            hint="a LeaderWorkerSet starts all workers from one template",
        )
    return str(step)


def _flag_of(words: Sequence[str], multiplied: Sequence[int]) -> str:
    """The only flag whose value is multiplied."""
    flags = {words[place - 1] for place in multiplied}
    flag = flags.pop()
    if flags or [i for i, word in enumerate(words) if word == flag] != [
        place - 1 for place in multiplied
    ]:
        raise UsageError(f"{flag} stands among the words more than once")
    return flag


def _words(part: Part, addresses: Addresses) -> tuple[str, ...]:
    values = addresses.values[part.name]
    return tuple(literal(word) if own else expandable(word, values) for word, own in words_of(part))


def _env(part: Part, addresses: Addresses, masks: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    values = addresses.values[part.name]
    names = [name for name, _ in part.env]
    return tuple(
        (name, masks.get(name) or (literal(value) if own else expandable(value, values)))
        for name, (value, own) in zip(names, values_of(part), strict=True)
    )
