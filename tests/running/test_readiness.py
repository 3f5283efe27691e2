"""How far a server is, off the lines of vLLM's log."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.running.player import LOADING
from vllm_launch.render.waiting import Bar
from vllm_launch.running.readiness import STAGES, Progress, Reader, lines_of

HEALTHY = Path(__file__).parents[1] / "diagnose" / "healthy.log"


def read(lines: list[str]) -> list[tuple[str, str]]:
    reader = Reader()
    return [(reader.progress.stage, reader.progress.detail) for line in lines if reader.take(line)]


def test_a_healthy_log_goes_through_the_stages() -> None:
    assert read(HEALTHY.read_text().splitlines()[:14]) == [
        ("start", "vLLM 0.33.0"),
        ("weights", "MiniMaxAI/MiniMax-M3"),
        ("weights", "read in 250.11 s"),
        ("weights", "53.27 GiB in 262 s"),
        ("compile", "compiled in 48.20 s"),
        ("kv cache", "61.20 GiB"),
        ("kv cache", "1,048,576 tokens"),
        ("graphs", "captured in 28 s"),
        ("server", "engine made in 130.12 s"),
        ("server", "http://0.0.0.0:8000"),
        ("ready", ""),
    ]


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(
            "Loading safetensors checkpoint shards:  33% Completed | 8/24 [00:09<00:18,  1.1s/it]",
            Progress(stage="weights", detail="8 of 24 files", done=8, of=24), id="shards",
        ),
        pytest.param(
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  45%|████  | 30/67 [00:02<",
            Progress(stage="graphs", detail="30 of 67", done=30, of=67), id="graphs",
        ),
        pytest.param(
            "(APIServer pid=1) INFO [entry.py:140] Starting vLLM server on http://[::]:8000",
            Progress(stage="server", detail="http://[::]:8000"), id="bound",
        ),
        pytest.param(
            "[node1] INFO [launcher.py:1] Starting vLLM API server 0 on http://0.0.0.0:9000",
            Progress(stage="server", detail="http://0.0.0.0:9000"),
            id="bound, as releases before said it",
        ),
        pytest.param(
            "Starting to load model \x1b[31mm\x1b[0m...",
            Progress(stage="weights", detail="[31mm[0m"), id="no control characters",
        ),
    ],
)  # fmt: skip
def test_a_line_says_how_far(line: str, progress: Progress) -> None:
    reader = Reader()
    assert reader.take(line)
    assert reader.progress == progress
    assert not reader.take(line)


OWN = "(APIServer pid=7) INFO 12-01 03:20:11 [entry.py:140] Starting vLLM server on http://[::]:80"
OTHERS = (
    "INFO 12-01 [logger.py:39] Received request chatcmpl-Starting vLLM server on http://a:1 : p",
    "INFO 12-01 [logger.py:39] Received request chatcmpl-] Starting vLLM server on http://a:1 : p",
    "Starting vLLM server on http://a:1",
    "INFO 12-01 [logger.py:39] Starting vLLM server on unix:/a",
)


@pytest.mark.parametrize("line", OTHERS)
def test_what_a_client_says_is_no_address(line: str) -> None:
    reader = Reader()
    reader.take(line)
    assert reader.bound == ""


def test_the_first_address_is_the_servers_own() -> None:
    reader = Reader()
    for line in (OWN, OWN.replace("[::]", "10.99.7.2")):
        reader.take(line)
    assert reader.bound == "http://[::]:80"


def test_a_slower_worker_does_not_turn_it_back() -> None:
    assert read(["torch.compile took 4.00 s in total", "Loading weights took 1.00 seconds"]) == [
        ("compile", "compiled in 4.00 s")
    ]


@given(st.lists(st.sampled_from([*LOADING, "Application startup complete.", "x", ""])))
def test_stages_never_go_back(lines: list[str]) -> None:
    stages = [STAGES.index(stage) for stage, _ in read(lines)]
    assert stages == sorted(stages)


@given(st.text(alphabet="ab\r\n", max_size=40), st.integers(0, 40))
def test_lines_are_the_same_however_they_come(text: str, at: int) -> None:
    whole, rest = lines_of("", text)
    first, kept = lines_of("", text[:at])
    second, left = lines_of(kept, text[at:])
    assert (first + second, left) == (whole, rest)


def test_a_bar_goes_on_after_a_stage_whose_steps_are_all_done() -> None:
    bar = Bar(colour=False)
    try:
        bar(Progress(stage="weights", detail="24 of 24 files", done=24, of=24))
        began = bar.task.start_time
        assert (bar.task.completed, bar.task.total) == (24, 24)
        bar(Progress(stage="compile", detail="torch.compile"))
        assert (bar.task.completed, bar.task.total, bar.task.finished) == (0, None, False)
        assert bar.task.start_time == began  # the clock is of the whole
    finally:
        bar.close()


def test_a_bars_clock_goes_on_where_all_steps_are_done() -> None:
    bar = Bar(colour=False)
    clock = iter(range(1000))
    bar._bar.get_time = bar.task._get_time = lambda: float(next(clock))
    try:
        shown = []
        for _ in range(3):
            bar(Progress(stage="weights", detail="1 of 1 files", done=1, of=1))
            shown.append(bar.task.finished_time or bar.task.elapsed)
        assert shown == sorted(set(shown))
    finally:
        bar.close()
