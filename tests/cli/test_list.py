"""recipes list and recipes search, as they arrive in a pipe, on a terminal and in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.launcher import Host, Operator
from tests.cli.terminal import on_terminal
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.render import paper as papers

RECIPE = """\
meta: {{title: "{name}", provider: Org, tasks: [{task}], hardware: {{{support}}}}}
model: {{model_id: org/{name}, parameter_count: {size}}}
variants:
  default: {{vram_minimum_gb: {gb}}}
  small-variant-of-it: {{model_id: org/{name}-small, vram_minimum_gb: {small}}}
compatible_strategies: [single_node_tp]
"""


def write(directory: Path, name: str, size: str, task: str, gb: int, support: str) -> None:
    path = directory / "models" / "org" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        RECIPE.format(name=name, size=size, task=task, gb=gb, small=gb // 4, support=support)
    )


@pytest.fixture
def directory(operator: Operator) -> str:
    """A few recipes, beside the bundled ones."""
    directory = operator.home / "mine"
    write(directory, "Little", "7B", "text", 17, "h200: verified")
    write(directory, "Large-With-A-Name-That-Is-Long", "1.6T", "omni", 3800, "b300: verified")
    write(directory, "Middle", "70B", "text", 168, "h200: verified, b300: verified")
    return str(directory)


MINE = ("--provider", "org")
LITTLE = "org/Little"


def listed(operator: Operator, directory: str, *words: str, **how: object) -> list[str]:
    ran = operator.run("--recipes-dir", directory, "recipes", *words, *MINE, "-o", "json", **how)  # type: ignore[arg-type]
    assert ran.status == 0, ran.err
    return [recipe["id"].removeprefix("org/") for recipe in ran.json["recipes"]]


def test_in_a_pipe_a_recipe_is_a_whole_line(operator: Operator, directory: str) -> None:
    ran = operator.run("--recipes-dir", directory, "recipes", "list", *MINE)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "org/Large-With-A-Name-That-Is-Long  1.6T  default, small-variant-of-it\n"
        "org/Little                            7B  default, small-variant-of-it\n"
        "org/Middle                           70B  default, small-variant-of-it\n"
    )


def test_the_source_is_told_where_there_are_several(operator: Operator, directory: str) -> None:
    words = ("--recipes-dir", directory, "recipes", "list", "--min-params", "1.5T")
    lines = operator.run(*words).out.splitlines()
    assert lines[0] == (
        f"org/Large-With-A-Name-That-Is-Long   1.6T  default, small-variant-of-it  {directory}"
    )
    assert {line.split()[-1] for line in lines[1:]} == {"bundled"}
    assert operator.run(*words, "--provider", "org").out.split()[-1] == "small-variant-of-it"


def test_a_terminal_has_headings_and_no_line_is_too_long(
    operator: Operator, directory: str
) -> None:
    words = ("--recipes-dir", directory, "recipes", "list", "--min-params", "1.5T")
    shown = on_terminal(operator, *words)
    assert shown.splitlines()[:2] == [
        f"\033[1m{'RECIPE':36}PARAMS  {'VARIANTS':30}SOURCE\033[0m",
        "org/Large-With-A-Name-That-Is-Long    1.6T  default, small-variant-of-it  "
        + directory[:5] + "…",
    ]  # fmt: skip
    assert max(map(len, shown.splitlines()[1:])) == 80
    plain = on_terminal(operator, "--no-color", *words)
    assert plain.splitlines()[0].split() == ["RECIPE", "PARAMS", "VARIANTS", "SOURCE"]
    wide = on_terminal(operator, *words, columns=300)
    assert wide.splitlines()[1].endswith(directory)


def test_nothing_found_is_told_and_no_answer(operator: Operator, directory: str) -> None:
    ran = operator.run("--recipes-dir", directory, "recipes", "list", "--min-params", "900T")
    assert (ran.status, ran.out) == (0, "")
    count = len(list(Shelf([directory]).ids()))
    assert ran.err == f"none of {count} recipes is like that\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--max-params", "10B"), ["Little"]),
        (("--min-params", "10B", "--max-params", "100b"), ["Middle"]),
        (("--task", "omni"), ["Large-With-A-Name-That-Is-Long"]),
        (("--verified", "h200"), ["Little", "Middle"]),
        (("--verified", "h200", "--verified", "b300"), ["Middle"]),
        (("--verified", "mi300x"), []),
    ],
    ids=" ".join,
)
def test_filters(
    operator: Operator, directory: str, words: tuple[str, ...], found: list[str]
) -> None:
    assert listed(operator, directory, "list", *words) == found


def test_search_ranks(operator: Operator, directory: str) -> None:
    assert listed(operator, directory, "search", "little") == ["Little"]
    assert listed(operator, directory, "search", "small", "MIDDLE") == ["Middle"]
    assert listed(operator, directory, "search", "small", "elephant") == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(
            ("list", "--task", "omin"),
            "error: --task: unknown task 'omin'\n  did you mean 'omni'? known: text, ",
            id="unknown task",
        ),
        pytest.param(
            ("search", "x", "--provider", "opnai"),
            "error: --provider: unknown provider 'opnai'\n  did you mean 'openai'? known: ",
            id="unknown provider",
        ),
        pytest.param(
            ("list", "--verified", "h20"),
            "error: --verified: unknown hardware 'h20'\n  did you mean 'h200'? known: h100, ",
            id="unknown hardware",
        ),
        pytest.param(
            ("list", "--max-params", "big"),
            "error: --max-params: found 'big'; expected a number of parameters, such as 70B or "
            "1.5T\n",
            id="no size",
        ),
        pytest.param(
            ("list", "--hardware", "h200"),
            "error: --hardware goes with --fits\n  add --fits, or list what is --verified there\n",
            id="hardware for nothing",
        ),
        pytest.param(
            ("list", "--fits", "--hardware", "h20"),
            "error: unknown hardware 'h20'\n  did you mean 'h200'? known: h100, ",
            id="fits unknown hardware",
        ),
        pytest.param(
            ("search",),
            "error: WORDS is missing\n  see vllm-launch recipes search --help\n",
            id="no words",
        ),
    ],
)
def test_mistakes(operator: Operator, words: tuple[str, ...], error: str) -> None:
    ran = operator.run("recipes", *words)
    assert ran.status == 2
    assert ran.error.startswith(error)


def test_hardware_from_the_settings_bothers_no_list(operator: Operator) -> None:
    ran = operator.run("recipes", "list", env={"VLLM_LAUNCH_HARDWARE": "b300"})
    assert ran.status == 0
    assert ran.out == operator.run("recipes", "list").out


def test_what_fits_is_named_by_variant(operator: Operator, directory: str) -> None:
    words = ("--recipes-dir", directory, "recipes", "list", *MINE, "--fits")
    ran = operator.run(*words, "--hardware", "h200", "--gpus", "0")
    assert ran.out == (
        "org/Little   7B  default, small-variant-of-it\norg/Middle  70B  small-variant-of-it\n"
    )
    ran = operator.run(*words, "--hardware", "h200", "--min-params", "1T")
    assert ran.status == 0
    assert ran.out.split()[-1] == "small-variant-of-it"


def test_nothing_that_fits_is_an_error(operator: Operator, directory: str) -> None:
    ran = operator.run("--recipes-dir", directory, "recipes", "list", *MINE, "--fits",
                       "--min-params", "1T", "--hardware", "h200", "--gpus", "0")  # fmt: skip
    assert ran.status == 3
    assert ran.error == (
        "error: none of 1 recipes fits there\n  vllm-launch fit MODEL says of each what would do\n"
    )


def test_without_a_gpu_there_is_nothing_to_fit_to(operator: Operator) -> None:
    ran = operator.run("recipes", "list", "--fits")
    assert ran.status == 3
    assert ran.error.startswith("error: no GPU found on this host")


def verdicts(operator: Operator, recipe_id: str, *machine: str, **how: object) -> list[str]:
    """The variants that fit says would fit one machine."""
    ran = operator.run("fit", recipe_id, *machine, "-o", "json", **how)  # type: ignore[arg-type]
    assert ran.status == 0, ran.err
    rows = ran.json["fit"]["fits"]
    here = (row["variant"] for row in rows if row["fits"] and row["nodes"] == 1)
    return list(dict.fromkeys(here))


# One process a recipe: a few of the bundled ones, of every kind, stand for all.
SAMPLE = (
    "MiniMaxAI/MiniMax-M3", "Qwen/Qwen3-8B", "openai/gpt-oss-120b", "zai-org/GLM-4.7",
    "moonshotai/Kimi-K3", "openai/whisper-large-v3",
)  # fmt: skip


@pytest.mark.parametrize(
    "machine",
    [
        ("--hardware", "h200"),
        ("--hardware", "b200", "--gpus", "0,1"),
        ("--hardware", "rtx_pro_6000_2x"),
        ("--hardware", "mi355x"),
        "h100_8x",
        "rtx_4090",
    ],
    ids=str,
)
def test_fits_agrees_with_fit(
    operator: Operator, host: Host, machine: tuple[str, ...] | str
) -> None:
    env = host(machine) if isinstance(machine, str) else {}
    words = () if isinstance(machine, str) else machine
    ran = operator.run("recipes", "list", "--fits", *words, "-o", "json", env=env)
    listed = {r["id"]: r["fits"] for r in ran.json["recipes"]} if ran.status == 0 else {}
    said = {name: verdicts(operator, name, *words, env=env) for name in SAMPLE}
    assert {name: listed.get(name, []) for name in SAMPLE} == said


def test_a_saved_host_is_fitted_to(operator: Operator, host: Host, directory: str) -> None:
    saved = operator.home / "node.json"
    assert operator.run("detect", "--save", str(saved), env=host("h200_4x")).status == 0
    words = ("list", "--fits", "--host-facts", str(saved))
    assert listed(operator, directory, *words) == ["Little", "Middle"]
    here = listed(operator, directory, "list", "--fits", env=host("h200_4x"))
    assert listed(operator, directory, *words) == here


def test_the_width_is_usual_where_a_terminal_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert papers.paper(no_color=False).width == 80
