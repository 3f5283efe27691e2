"""The recipe's benchmark as the command that runs it, and two results side by side."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

BENCH = ("vllm", "bench", "serve")
# What a recipe that says nothing of it is measured with.
_USUAL: Mapping[str, Any] = {
    "backend": "openai-chat",
    "endpoint": "/v1/chat/completions",
    "dataset-name": "random",
    "random-input-len": 1024,
    "random-output-len": 256,
    "max-concurrency": 8,
    "num-prompts": 64,
}

# vllm bench serve's own names, and whether more is better.
METRICS: tuple[tuple[str, bool], ...] = (
    ("request_throughput", True),
    ("output_throughput", True),
    ("total_token_throughput", True),
    ("mean_ttft_ms", False),
    ("median_ttft_ms", False),
    ("p99_ttft_ms", False),
    ("mean_tpot_ms", False),
    ("median_tpot_ms", False),
    ("p99_tpot_ms", False),
    ("mean_itl_ms", False),
    ("p99_itl_ms", False),
    ("completed", True),
    ("failed", False),
)


class Compared(Record):
    """One metric of two runs."""

    name: str
    first: float
    second: float
    better: bool | None  # whether the second is better; None: the same

    @property
    def ratio(self) -> float | None:
        """The second over the first; None where the first is nothing."""
        return self.second / self.first if self.first else None


def options_of(benchmark: Any) -> Iterator[list[str]]:
    """A recipe's settings as the options of vllm bench serve; none for one that is off."""
    for name, value in benchmark.items() if isinstance(benchmark, dict) else ():
        flag = f"--{str(name).replace('_', '-')}"
        if value is True:
            yield [flag]
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            yield [flag, *map(_word, values)]


def _word(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)


def bench_argv(benchmark: Any, model: str, name: str, url: str, own: Sequence[str]) -> list[str]:
    """The command that measures a running server; the operator's own words win, being last.

    ``model`` is its checkpoint, for the tokenizer; ``name`` what the server calls it.
    """
    settings = benchmark if isinstance(benchmark, dict) and benchmark else _USUAL
    given = {word.partition("=")[0] for word in own if word.startswith("--")}
    kept = (option for option in options_of(settings) if option[0] not in given)
    words = (word for option in kept for word in option)
    named = () if name == model else ("--served-model-name", name)
    return [*BENCH, "--base-url", url, "--model", model, *named, *words, *own]


def compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Compared]:
    """The metrics that both results have; latencies where requests were answered in both."""
    answered = all(each.get("completed", 1) for each in (first, second))
    for name, more in METRICS:
        if name.endswith("_ms") and not answered:
            continue  # they are zeros
        one, other = _number(first.get(name)), _number(second.get(name))
        if one is None or other is None:
            continue
        better = None if one == other else (other > one) is more
        yield Compared(name=name, first=one, second=other, better=better)


def _number(value: Any) -> float | None:
    from math import isfinite

    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if known and isfinite(value) else None
