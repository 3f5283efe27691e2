"""check --deep: what the very vLLM that will run says of itself, and of the plan's commands."""

from __future__ import annotations

import os

from ..catalog.files import cache_directory, keep, load_kept
from ..host.parser import SECONDS, ask, fingerprint, in_container, natively
from ..host.system.runner import NoAnswer
from ..host.system.server import located
from ..model.flags import long
from ..model.record import Record
from ..model.vllm import Asked
from ..preflight.plan import placeholders
from ..preflight.target import place_of
from ..render.shell import quote
from ..streams import remark, shows_progress
from ..vllm_options.answer import MOST_BYTES, among, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ..host.parser import Question
    from ..model.deployment import ProcessPlan
    from ..model.system import Image, SystemFacts
    from ..preflight import Situation
    from ..vllm_options.answer import Answer

    Refusal: TypeAlias = tuple[str, str] | None
    Words: TypeAlias = tuple[str, ...]

_FORMAT = "1"  # grows with the form of what is kept
_MOST_KEPT = 200  # judgements of commands
_READ_AT_ONCE = ("--config", "--chat-template")  # files whose content a judgement depends on


class Source(Record):
    """A vLLM that can be asked."""

    shown: str  # "/venv/bin/python3.12", "the image X"
    question: Callable[[bytes], Question]
    identity: str  # the same for the same files; "" where that cannot be told
    by_hand: str = ""  # a command that shows why it does not answer
    native: bool


class Unasked(Exception):
    """Why there is nothing to ask, and the command that changes it."""

    def __init__(self, reason: str, command: str = "") -> None:
        super().__init__(reason)
        self.command = command


class Known(Record):
    """What a vLLM has said so far: its answer as it came, and its judgements by command."""

    data: bytes
    answer: Answer
    refusals: Mapping[str, Refusal]


def deepened(situations: Sequence[Situation], seconds: float = SECONDS) -> Iterator[Situation]:
    """Situations with what the target's own parser says; all have the same target."""
    servers = [one for one in situations if one.beside is None]
    if not servers:
        yield from situations
        return
    commands = [_words(one) for one in servers]
    try:
        source = source_of(servers[0])
        known = _known(source, [words for words in commands if words], seconds)
    except Unasked as why:
        unasked = Asked(error=str(why), command=why.command)
        yield from (s if s.beside is not None else s.replace(asked=unasked) for s in situations)
        return
    own = iter(commands)
    for situation in situations:
        yield (
            situation
            if situation.beside is not None
            else _told(situation, source, known, next(own))
        )


def _told(situation: Situation, source: Source, known: Known, words: Words) -> Situation:
    """One server's situation, its options those of the build that answered."""
    options = situation.options
    assert options is not None
    version = known.answer.version
    refusal = known.refusals.get(_digest(words)) if words else None
    name, text = refusal or ("", "")
    return situation.replace(
        options=among(options, known.answer, place_of(options, version)),
        asked=Asked(
            version=version,
            refused=f"{name}: {text}" if name else text,
            # What is no complaint of the parser's own may be one of a machine without GPUs.
            certain=source.native or not name,
        ),
    )


def _words(situation: Situation) -> Words:
    """The words behind vllm that its parser is given; none where another program reads them.

    What is not filled in yet, and a container's files, no parser can judge.
    """
    process = situation.process
    if process.program != ("vllm", "serve") or situation.deployment.recipe.omni is not None:
        return ()
    return ("serve", process.model, *_judged(process, native=situation.native))


def _judged(process: ProcessPlan, *, native: bool) -> Iterator[str]:
    for flag, tokens, _ in process.arguments:
        unfilled = any(placeholders(token) for token in tokens)
        elsewhere = not native and flag.partition("=")[0].partition(".")[0] in _READ_AT_ONCE
        if not (unfilled or elsewhere or flag in process.own_options):
            yield from tokens


def source_of(situation: Situation) -> Source:
    """Whom to ask: the interpreter behind vllm, or the image. Raises Unasked."""
    environ = dict(os.environ)
    if situation.native:
        return _interpreter(situation.system, environ)
    return _image(situation, environ)


def _interpreter(system: SystemFacts, environ: Mapping[str, str]) -> Source:
    vllm = system.vllm
    if vllm is None:
        raise Unasked(system.why_unknown("vllm") or "vLLM was not looked for")
    if not vllm.path:
        raise Unasked("vllm is not on PATH")
    if not vllm.interpreter:
        raise Unasked(f"{vllm.path}: {vllm.error}")
    # Where vLLM is not beside its Python, it is found by what isolation would hide.
    directory = "" if environ.get("PYTHONPATH") else located(vllm.interpreter)
    state = fingerprint(directory) if directory else ""
    interpreter = vllm.interpreter

    def question(given: bytes) -> Question:
        return natively(interpreter, script(), given, environ, isolated=bool(directory))

    return Source(
        shown=interpreter,
        question=question,
        identity=f"{interpreter} {vllm.version} {state}" if state else "",
        by_hand=f"{quote(interpreter)} -c 'import vllm'",
        native=True,
    )


def _image(situation: Situation, environ: Mapping[str, str]) -> Source:
    system, reference = situation.system, situation.deployment.image
    engine, image = system.engine, system.image
    if not reference:
        raise Unasked("no image is known")
    if engine is None or not engine.path:
        raise Unasked(f"{situation.runtime} is not on PATH")
    if image is None:
        raise Unasked(system.why_unknown("image") or engine.error or "no image was looked for")
    if not image.local:
        raise Unasked(
            f"the image {reference} is not on this machine, and is not pulled for this",
            f"{situation.runtime} pull {quote(reference)}",
        )
    if not image.id:
        raise Unasked(f"{situation.runtime} does not say what the image {reference} holds")
    path, content, python = engine.path, image.id, _python_in(image)

    def question(given: bytes) -> Question:
        name = f"vllm-launch-check-{os.getpid()}"
        return in_container(path, content, script(), given, environ, name, python)

    return Source(
        shown=f"the image {reference}", question=question, identity=image.id, native=False
    )


def _python_in(image: Image) -> str:
    """The Python beside the image's vllm, where its entrypoint says where that is."""
    program = image.entrypoint[0] if image.entrypoint else ""
    if program.startswith("/") and os.path.basename(program) == "vllm":
        return os.path.join(os.path.dirname(program), "python3")
    return "python3"


def script() -> str:
    """The collector, which runs in the other's Python."""
    from ..vllm_options import COLLECT

    with open(COLLECT, encoding="utf-8") as file:
        return file.read()


def _known(source: Source, commands: Sequence[Words], seconds: float) -> Known:
    """What is kept of an earlier answer, or what is answered now. Raises Unasked."""
    path = _kept_path(source)
    kept = _kept(path) if path else None
    open_ones = [
        words for words in dict.fromkeys(commands)
        if kept is None or _digest(words) not in kept.refusals or _changes(words)
    ]  # fmt: skip
    if kept is not None and not open_ones:
        return kept
    try:
        data = _ask(source, open_ones, seconds)
        answer = read(data, len(open_ones))
    except (NoAnswer, ValueError) as error:
        raise Unasked(f"{source.shown}: {error}", source.by_hand) from None
    judged = dict(zip(map(_digest, open_ones), answer.refusals, strict=True))
    earlier = dict(kept.refusals) if kept is not None else {}
    known = Known(data=data, answer=answer, refusals={**earlier, **judged})
    if path:
        newest = list(known.refusals.items())[-_MOST_KEPT:]
        keep(path, (_FORMAT, data, len(open_ones), dict(newest)))
    return known


def _ask(source: Source, commands: Sequence[Words], seconds: float) -> bytes:
    """Ask, and say on a terminal that it takes its time. Raises NoAnswer."""
    import json

    asked = {"commands": commands, "thorough": source.native, "seconds": seconds}
    shown = shows_progress()
    said = -1

    def waiting(passed: float) -> None:
        nonlocal said
        if shown and int(passed) > said:
            said = int(passed)
            remark(f"# asking vLLM's own parser, {source.shown}: {said} s ", over=True)

    try:
        question = source.question(json.dumps(asked).encode())
        return ask(question, seconds, MOST_BYTES, waiting)
    finally:
        if said >= 0:
            remark("", over=True)


def _changes(words: Words) -> bool:
    """Whether a judgement depends on more than the words: on what is in a file."""
    return any(long(word).partition("=")[0].partition(".")[0] in _READ_AT_ONCE for word in words)


def _digest(words: Words) -> str:
    from hashlib import sha256

    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()


def _kept_path(source: Source) -> str:
    """The cache's file for the answers of a vLLM in one state; "" where nothing can be kept."""
    directory = cache_directory()
    if not source.identity or not os.path.isabs(directory):
        return ""
    return os.path.join(directory, "parsers", _digest((source.identity, script())))


def _kept(path: str) -> Known | None:
    """What was kept, if it is whole; it has to pass what an answer has to pass."""
    kept = load_kept(path)
    try:
        form, data, count, refusals = kept
        if form != _FORMAT or not isinstance(refusals, dict) or not isinstance(data, bytes):
            return None
        judged = {str(digest): _refusal(one) for digest, one in refusals.items()}
        return Known(data=data, answer=read(data, count), refusals=judged)
    except (TypeError, ValueError):
        return None


def _refusal(kept: object) -> Refusal:
    """Raises ValueError for what was never kept so."""
    if kept is None:
        return None
    if not isinstance(kept, tuple) or len(kept) != 2:
        raise ValueError("no judgement")
    return str(kept[0]), str(kept[1])
