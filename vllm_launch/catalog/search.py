"""Which recipes are wanted, and in which order: pure functions of what the index knows."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model.entry import Entry

_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
# What a word counts for, by where it was found; the place where it counts most holds.
_WHOLE, _PIECE, _START, _WITHIN = 100, 50, 30, 20  # of an id or checkpoint
_IN_TITLE, _IN_KIND, _IN_TEXT, _IN_TEXT_SOMEWHERE = 15, 12, 5, 2


class Wanted(Record):
    """What a list is narrowed to; an empty field leaves it open."""

    providers: tuple[str, ...] = ()  # any of these
    tasks: tuple[str, ...] = ()  # any of these
    verified: tuple[str, ...] = ()  # on all of these profiles
    least: float = 0  # parameters
    most: float = 0  # parameters; 0 is no limit


def parameters(text: str) -> float | None:
    """A number of parameters, "1.55B"; None for what is none, such as "Undisclosed"."""
    text = text.strip().upper()
    unit = _UNITS.get(text[-1:], 0)
    number = text[:-1] if unit else text
    whole, _, fraction = number.partition(".")
    if not (whole.isascii() and whole.isdecimal() and len(number) < 16):
        return None
    if "." in number and not (fraction.isascii() and fraction.isdecimal()):
        return None
    return float(number) * (unit or 1)


def is_wanted(entry: Entry, wanted: Wanted) -> bool:
    """Whether a recipe is among those asked for. One of unknown size has no size asked for."""
    if wanted.verified and not entry.verified.issuperset(wanted.verified):
        return False
    owner = entry.id.partition("/")[0]
    if wanted.providers and not any_of(wanted.providers, (owner, entry.provider)):
        return False
    if wanted.tasks and not any_of(wanted.tasks, entry.tasks):
        return False
    if not wanted.least and not wanted.most:
        return True
    size = parameters(entry.parameter_count)
    return size is not None and wanted.least <= size <= (wanted.most or size)


def any_of(words: Iterable[str], there: Iterable[str]) -> bool:
    """Whether one of some words is there; case and punctuation do not matter."""
    return not {_plain(word) for word in words}.isdisjoint(map(_plain, there))


def ranked(entries: Iterable[Entry], words: Sequence[str]) -> list[Entry]:
    """The recipes that have every word somewhere, the best match first."""
    asked = [word for text in words for word in text.split() if _plain(word)]
    scored = [(_score(entry, asked), entry) for entry in entries]
    found = [pair for pair in scored if pair[0]]
    return [entry for _, entry in sorted(found, key=lambda pair: (-pair[0], pair[1].id.lower()))]


def _score(entry: Entry, words: Sequence[str]) -> int:
    """How well a recipe answers to all of some words; 0 where it lacks one."""
    names = dict.fromkeys((entry.id, *(variant.checkpoint for variant in entry.variants)))
    scores = [_word(entry, tuple(names), word) for word in words]
    return sum(scores) if all(scores) else 0


def _word(entry: Entry, names: Sequence[str], word: str) -> int:
    """Where a word counts most; 0 where it is nowhere."""
    plain = _plain(word)
    best = max(_in_name(name, plain) for name in names)
    if best >= _WITHIN:
        return best
    if plain in _plain(entry.title):
        return _IN_TITLE
    if any(plain in _plain(kind) for kind in (entry.provider, *entry.tasks)):
        return _IN_KIND
    about = (entry.description, *(v.id for v in entry.variants))
    about += tuple(variant.description for variant in entry.variants)
    if any(plain in map(_plain, _pieces(text)) for text in about):
        return _IN_TEXT
    return _IN_TEXT_SOMEWHERE if any(plain in _plain(text) for text in about) else 0


def _in_name(name: str, plain: str) -> int:
    """How well a word answers to an id, of which the model's own name is the last part."""
    whole, own = _plain(name), _plain(name.rpartition("/")[2])
    if plain in (whole, own):
        return _WHOLE
    if plain not in whole:
        return 0
    pieces = [_plain(piece) for piece in _pieces(name)]
    if plain in pieces:
        return _PIECE
    return _START if own.startswith(plain) else _WITHIN


def _pieces(text: str) -> list[str]:
    """A text's words; a version such as "4.7" is one."""
    return "".join(char if char.isalnum() or char == "." else " " for char in text).split()


def _plain(text: str) -> str:
    """A text by which "GLM-4.7", "glm 4.7" and "glm47" are the same."""
    return "".join(char for char in text.lower() if char.isalnum())
