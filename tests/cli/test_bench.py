"""bench: the recipe's benchmark against a running server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vllm_launch.resolve.benchmark import compared

if TYPE_CHECKING:
    from .launcher import Operator

M3 = "MiniMaxAI/MiniMax-M3"
# What stands for vllm bench serve: it writes its words and the result that it was asked for.
RECORDER = """#!/usr/bin/env python3
import json, sys, os
words = sys.argv[1:]
place = os.path.join(
    words[words.index("--result-dir") + 1], words[words.index("--result-filename") + 1]
)
names = ("OPENAI_API_KEY", "no_proxy", "NO_PROXY")
json.dump({
    "argv": words, "output_throughput": 1000.0, "mean_ttft_ms": 80.5,
    "env": {name: os.environ[name] for name in names if name in os.environ},
    "completed": 60, "failed": int(os.environ.get("UNANSWERED", "0")),
}, open(place, "w"))
print("Serving Benchmark Result")
sys.exit(int(os.environ.get("FAILS", "0")))
"""


@pytest.fixture
def vllm(operator: Operator, tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir(exist_ok=True)
    program.write_text(RECORDER)
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path / "state")}


def test_the_recipes_benchmark_is_printed(operator: Operator) -> None:
    ran = operator.run("bench", M3, "--dry-run", "--", "--max-concurrency", "64")
    assert ran.out == (
        "vllm bench serve \\\n"
        "  --base-url http://localhost:8000 \\\n"
        f"  --model {M3} \\\n"
        "  --backend vllm \\\n"
        "  --endpoint /v1/completions \\\n"
        "  --dataset-name random \\\n"
        "  --random-input-len 2048 \\\n"
        "  --random-output-len 1024 \\\n"
        "  --num-prompts 100 \\\n"
        "  --max-concurrency 64\n"
    )


def test_a_result_is_kept_with_the_lock_of_its_plan(
    operator: Operator, vllm: dict[str, str], tmp_path: Path
) -> None:
    ran = operator.run("bench", M3, "--label", "tp8", "--hardware", "h200", env=vllm)
    assert (ran.status, ran.out) == (0, "Serving Benchmark Result\n")
    kept = tmp_path / "state/vllm-launch/bench/MiniMaxAI--MiniMax-M3"
    assert sorted(path.name for path in kept.iterdir()) == ["tp8.json", "tp8.lock.json"]
    assert json.loads((kept / "tp8.json").read_text())["argv"][:2] == ["bench", "serve"]
    held = json.loads((kept / "tp8.lock.json").read_text())["lock"]
    assert held["choice"]["hardware"] == "h200"


def test_a_benchmark_that_fails_fails(operator: Operator, vllm: dict[str, str]) -> None:
    ran = operator.run("bench", M3, "--hardware", "h200", env={**vllm, "FAILS": "7"})
    assert ran.status == 7
    assert [path.name for path in Path(vllm["XDG_STATE_HOME"]).rglob("*.lock.json")] == []


def test_what_the_server_calls_the_model_is_not_its_checkpoint(operator: Operator) -> None:
    ran = operator.run("bench", M3, "--dry-run", "--model-name", "m3", "-o", "json").json
    words = ran["benchmark"]["argv"]
    assert words[5:9] == ["--model", M3, "--served-model-name", "m3"]


@pytest.mark.parametrize("label", ["a/b", ".a", "a\nb", "a\x1b", "a.json", "a.lock"])
def test_what_is_no_label(operator: Operator, vllm: dict[str, str], label: str) -> None:
    ran = operator.run("bench", M3, "--label", label, env=vllm)
    assert ran.error == (
        f"error: --label: found {label!r}; expected a file's name\n  for example --label tp8\n"
    )


def test_requests_that_were_not_answered_are_a_failure(
    operator: Operator, vllm: dict[str, str]
) -> None:
    ran = operator.run("bench", M3, "--hardware", "h200", env={**vllm, "UNANSWERED": "4"})
    assert ran.status == 4
    assert "error: 4 of 64 requests failed: the result says less than it seems to\n" in ran.err


@pytest.mark.parametrize(
    ("variables", "handed"),
    [
        pytest.param({}, {"no_proxy": "::1", "NO_PROXY": "::1"}, id="nothing"),
        pytest.param(
            {"NO_PROXY": "a.example", "VLLM_API_KEY": "the-key"},
            {
                "no_proxy": "a.example,::1",
                "NO_PROXY": "a.example,::1",
                "OPENAI_API_KEY": "the-key",
            },
            id="a key, and hosts that need no proxy",
        ),
        pytest.param(
            {"VLLM_API_KEY": "the-key", "OPENAI_API_KEY": "its-own"},
            {"no_proxy": "::1", "NO_PROXY": "::1", "OPENAI_API_KEY": "its-own"},
            id="a key of its own",
        ),
    ],
)
def test_the_key_is_handed_on_by_the_environment_and_no_proxy_is_asked(
    operator: Operator,
    vllm: dict[str, str],
    tmp_path: Path,
    variables: dict[str, str],
    handed: dict[str, str],
) -> None:
    words = ("bench", M3, "--label", "x", "--hardware", "h200", "--url", "http://[::1]:8000")
    ran = operator.run(*words, env={**vllm, **variables})
    assert ran.status == 0, ran.err
    kept = json.loads(
        (tmp_path / "state/vllm-launch/bench" / "MiniMaxAI--MiniMax-M3" / "x.json").read_text()
    )
    assert kept["env"] == handed
    assert "the-key" not in " ".join(kept["argv"])


def test_a_result_is_never_written_over(operator: Operator, vllm: dict[str, str]) -> None:
    words = ("bench", M3, "--label", "x", "--hardware", "h200")
    assert operator.run(*words, env=vllm).status == 0
    ran = operator.run(*words, env=vllm)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(
        "MiniMax-M3/x.json is there already\n  give another --label, or delete it\n"
    )


def test_where_nothing_can_be_planned_there_is_no_lock_and_that_is_said(
    operator: Operator, vllm: dict[str, str], tmp_path: Path
) -> None:
    ran = operator.run("bench", M3, "--label", "far", "--url", "http://node7:1", env=vllm)
    assert ran.status == 0
    assert "# no lock is kept with the result: no GPU found on this host" in ran.err
    assert "# its lock" not in ran.err
    kept = tmp_path / "state/vllm-launch/bench/MiniMaxAI--MiniMax-M3"
    assert [path.name for path in kept.iterdir()] == ["far.json"]


def results(tmp_path: Path) -> tuple[str, str]:
    for name, tokens, first, tp in (("a", 1000.0, 80.0, "4"), ("b", 1500.0, 100.0, "8")):
        result = {"output_throughput": tokens, "mean_ttft_ms": first, "model_id": M3, "failed": 0}
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
        lock = {"processes": [{"name": "server-0", "argv": ["vllm", "--tp", tp]}]}
        held = {"kind": "lock", "format": 1, "lock": lock}
        (tmp_path / f"{name}.lock.json").write_text(json.dumps(held))
    return str(tmp_path / "a.json"), str(tmp_path / "b.json")


def test_two_results_are_compared_with_what_their_servers_stood_on(
    operator: Operator, tmp_path: Path
) -> None:
    first, second = results(tmp_path)
    ran = operator.run("bench", "--compare", first, "--compare", second)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[3:] == [
        "                               first      second   ratio",
        "output_throughput            1000.00     1500.00   1.500  better",
        "mean_ttft_ms                   80.00      100.00   1.250  worse",
        "failed                          0.00        0.00       —",
        "",
        "processes.server-0.argv --tp: 4 → 8",
    ]


def kept_results(operator: Operator, tmp_path: Path, *models: str) -> None:
    for model in models:
        place = operator.home / ".local/state/vllm-launch/bench" / model
        place.mkdir(parents=True)
        results(place)
    for path in (operator.home / ".local").rglob("*"):
        path.chmod(0o700)


@pytest.mark.parametrize("end", ["", ".json"])
def test_results_are_known_by_their_labels(operator: Operator, tmp_path: Path, end: str) -> None:
    kept_results(operator, tmp_path, "MiniMaxAI--MiniMax-M3")
    ran = operator.run("bench", "--compare", f"a{end}", "--compare", f"b{end}")
    assert ran.err == ""
    assert ran.out.endswith("processes.server-0.argv --tp: 4 → 8\n")
    (operator.cwd / "b.json").write_text('{"output_throughput": 1.5}')  # a file that is here is it
    ran = operator.run("bench", "--compare", "a", "--compare", "b.json")
    assert "output_throughput            1000.00        1.50   0.002  worse" in ran.out


def test_a_label_of_two_models_is_none(operator: Operator, tmp_path: Path) -> None:
    kept_results(operator, tmp_path, "M--1", "M--2")
    ran = operator.run("bench", "--compare", "a", "--compare", "b")
    place = operator.home / ".local/state/vllm-launch/bench"
    assert ran.error.splitlines()[0] == (
        f"error: --compare: several results are called a: {place}/M--1/a.json, {place}/M--2/a.json"
    )
    ran = operator.run("bench", "--compare", "c", "--compare", "b")
    assert ran.error.splitlines()[0] == "error: cannot read c: No such file or directory"


def test_what_is_no_number_is_not_compared(operator: Operator, tmp_path: Path) -> None:
    first, second = results(tmp_path)
    Path(second).write_text('{"output_throughput": NaN, "mean_ttft_ms": 1e999, "failed": 0}')
    ran = operator.run("bench", "--compare", first, "--compare", second, "-o", "json")
    (metric,) = ran.json["comparison"]["metrics"]
    assert metric["name"] == "failed"


def test_what_is_compared_and_which_way_is_better() -> None:
    more = ["request_throughput", "output_throughput", "total_token_throughput"]
    less = [
        "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "median_tpot_ms",
        "p99_tpot_ms", "mean_itl_ms", "p99_itl_ms",
    ]  # fmt: skip
    names = [*more, *less, "completed", "failed"]
    found = compared(dict.fromkeys(names, 1), {**dict.fromkeys(names, 2), "duration": 3})
    assert [(one.name, one.better) for one in found] == [
        *((name, True) for name in more),
        *((name, False) for name in less),
        ("completed", True),
        ("failed", False),
    ]


@pytest.mark.parametrize("of", [0, 1], ids=["first", "second"])
def test_latencies_of_a_run_that_nothing_answered_are_not_compared(of: int) -> None:
    results = [{"completed": 9, "failed": 0, "mean_ttft_ms": 80.5} for _ in range(2)]
    results[of] = {"completed": 0, "failed": 9, "mean_ttft_ms": 0.0}
    assert [one.name for one in compared(*results)] == ["completed", "failed"]


def test_one_result_alone_is_no_comparison(operator: Operator, tmp_path: Path) -> None:
    first, _ = results(tmp_path)
    ran = operator.run("bench", "--compare", first)
    assert (ran.status, ran.error.splitlines()[0]) == (
        2,
        f"error: --compare: found {first}; expected two results",
    )
