"""How far a server is, read off its log. Pure: lines in, stages out."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern

# In their order. A later one that is seen says that the earlier ones are over.
STAGES = ("start", "weights", "compile", "kv cache", "graphs", "server", "ready")
_LONGEST = 1 << 16  # characters of a line that are looked at: the arguments may be long
_ARGUMENTS = "non-default args:"

# Behind the prefix of its own line: what clients say stands in a log as well.
_BOUND = r"^(?:\[[^]]*\]\s*)*[^]]*\] Starting vLLM (?:API )?server(?: \d+)? on (?P<a>https?://\S+)"

# Stage, a part of every such line, the pattern, and what is said of it.
_SIGNS = (
    ("start", "vLLM API server version", r"vLLM API server version (?P<a>\S+)", "vLLM {a}"),
    ("start", "Initializing a V1 LLM engine", r"LLM engine \(v(?P<a>[^)]+)\)", "vLLM {a}"),
    ("weights", "Starting to load model", r"Starting to load model (?P<a>.+?)\.\.\.", "{a}"),
    (
        "weights", "checkpoint shards",
        r"checkpoint shards.*?\s(?P<done>\d+)/(?P<of>\d+)", "{done} of {of} files",
    ),
    ("weights", "Loading weights took", r"weights took (?P<a>[\d.]+) seconds", "read in {a} s"),
    (
        "weights", "Model loading took",
        r"loading took (?P<a>[\d.]+) (?:GiB memory|GiB) and (?P<b>\d+)", "{a} GiB in {b} s",
    ),
    ("compile", "Warming up model", r"Warming up model for the compilation()", "torch.compile"),
    ("compile", "Starting torch.compile", r"Starting torch\.compile()", "torch.compile"),
    ("compile", "torch.compile took", r"compile took (?P<a>[\d.]+) s", "compiled in {a} s"),
    ("kv cache", "Available KV cache memory", r"memory: (?P<a>[\d.]+) GiB", "{a} GiB"),
    ("kv cache", "KV cache size:", r"size: (?P<a>[\d,]+) tokens", "{a} tokens"),
    (
        "graphs", "Capturing CUDA graphs",
        r"Capturing CUDA graphs.*?\s(?P<done>\d+)/(?P<of>\d+)", "{done} of {of}",
    ),
    ("graphs", "Graph capturing finished", r"finished in (?P<a>\d+) secs", "captured in {a} s"),
    ("server", "init engine", r"took (?P<a>[\d.]+) s(?:econds)?", "engine made in {a} s"),
    ("server", "Starting vLLM ", _BOUND, "{a}"),
    ("ready", "Application startup complete", r"startup complete()", ""),
)  # fmt: skip


class Progress(Record):
    """How far a server is."""

    stage: str = ""  # one of STAGES; "" before the first sign
    detail: str = ""
    done: int = 0  # of ``of`` steps within the stage, where it counts them
    of: int = 0


class Reader:
    """Takes a log's lines one by one, and knows how far the server is."""

    def __init__(self) -> None:
        import re

        self._signs: list[tuple[str, str, Pattern[str], str]] = [
            (stage, hint, re.compile(pattern), text) for stage, hint, pattern, text in _SIGNS
        ]
        self.progress = Progress()
        self.bound = ""  # the address that it says it listens on, first
        self.arguments = ""  # as the server wrote them, first
        self.cache_tokens: int | None = None

    def take(self, line: str) -> bool:
        """Read one line; whether there is something new to be said.

        Several workers tell the same: a stage that is over does not begin again.
        """
        text = line[:_LONGEST]
        if not self.arguments and _ARGUMENTS in text:
            self.arguments = text.partition(_ARGUMENTS)[2].strip()
        for stage, hint, pattern, words in self._signs:
            if hint not in text:
                continue
            match = pattern.search(text)
            if match is not None:
                return self._saw(stage, match, words)
        return False

    def _saw(self, stage: str, match: Match[str], words: str) -> bool:
        before = self.progress
        if before.stage and STAGES.index(stage) < STAGES.index(before.stage):
            return False
        if stage == "kv cache" and "tokens" in words:
            self.cache_tokens = int(match["a"].replace(",", "")[:15])
        values = {name: _plain(value or "") for name, value in match.groupdict().items()}
        if not self.bound and match.re.pattern == _BOUND:
            self.bound = values["a"]
        self.progress = Progress(
            stage=stage,
            detail=words.format(**values),
            done=int(values.get("done", "0")[:9]),
            of=int(values.get("of", "0")[:9]),
        )
        return self.progress != before


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isprintable())


def lines_of(buffered: str, text: str) -> tuple[list[str], str]:
    """Whole lines out of what was kept and what came, and what is kept for the next time.

    A bar that is drawn over itself ends its states with a carriage return.
    """
    *whole, rest = (buffered + text).replace("\r", "\n").split("\n")
    return [line for line in whole if line], rest[-_LONGEST:]
