"""recipes show: a page of what there is to choose among, and the rest when asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.launcher import FLASH, M3, Operator
from tests.cli.terminal import on_terminal

RECIPE = """\
meta:
  title: "Model"
  provider: Org
  description: "A model for the tests, described in a sentence that is longer than a line of text."
  tasks: [text, multimodal]
  hardware: {h200: verified, b200: supported}
model:
  model_id: org/Model
  min_vllm_version: "0.24.0"
  parameter_count: 70B
  active_parameters: 7B
  context_length: 131072
  prerequisites:
    min_nvidia_driver: "580"
    notes: ["A kernel that is not too old."]
dependencies:
  - {note: "Faster loading", command: "pip install  thing", optional: true}
features:
  tools:
    description: "Tool calls. And more."
    args: [--enable-auto-tool-choice]
  draft:
    description: "Drafts"
    modes: {one: {}, two: {}}
opt_in_features: [draft]
variants:
  default: {precision: bf16, vram_minimum_gb: 168, description: "The original"}
  fp8: {precision: fp8, model_id: org/Model-FP8}
compatible_strategies: [single_node_tp, multi_node_tp]
presets:
  fast:
    hardware: h200
    strategy: single_node_tp
    label: "Quick answers"
    workload: "Chat"
    description: "For few requests."
    source: {label: "A measurement", href: "https://example.org/1"}
    points:
      c1: {concurrency: 1, label: "alone"}
      c8: {concurrency: 8, description: "Eight at a time"}
client: {temperature: 1.0}
benchmark:
  dataset_name: random
  random-input-len: 8000
  ignore-eos: true
  seed: null
  trust-remote-code: false
  goodput: ["ttft:200", "tpot:50"]
  extra_body: {top_k: 4}
notes:
  - title: "On Hopper"
    when: {hardware: [hopper], variant: [fp8, default]}
    body: |
      Hopper `needs` nothing.
  - title: "On AMD"
    when: {hardware: [amd]}
    body: "AMD too."
guide: |
  ## Layouts

  Use **four** GPUs, see [the page](https://example.org/guide).

  - one
  - two
"""


@pytest.fixture
def directory(operator: Operator) -> Path:
    path = operator.home / "mine" / "models" / "org" / "Model.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(RECIPE)
    return operator.home / "mine"


def words(directory: Path, *more: str) -> tuple[str, ...]:
    return ("--recipes-dir", str(directory), "recipes", "show", "org/Model", *more)


def page(directory: Path) -> str:
    path = directory / "models" / "org" / "Model.yaml"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"""\
org/Model
A model for the tests, described in a sentence that is longer than a line of
text.

provider:     Org
tasks:        text, multimodal
parameters:   70B, 7B active
context:      131072 tokens
vLLM:         0.24.0 or newer
verified on:  h200
recipe:       {path}
source:       {directory}
digest:       sha256:{digest}
"""


CHOICES = """
Prerequisites
  min nvidia driver: 580
  A kernel that is not too old.
  Faster loading (optional): pip install thing

Variants
  default (bf16, 168 GB): org/Model. The original
  fp8 (fp8, unknown memory): org/Model-FP8.

Strategies
  single_node_tp, multi_node_tp

Features
  tools: Tool calls.
  draft (off unless asked for): Drafts Modes: one, two.

KV offload (--kv-offload)
  simple, lmcache, kv_store_centralized_mooncake,
      kv_store_distributed_mooncake

Presets
  fast (h200, single_node_tp, 2 points): Quick answers

Client
  temperature: 1.0

Benchmark
  vllm bench serve \\
    --model org/Model \\
    --dataset-name random \\
    --random-input-len 8000 \\
    --ignore-eos \\
    --goodput ttft:200 tpot:50 \\
    --extra-body '{"top_k": 4}'
"""
MORE = "\nMore: --presets, --notes, --guide, or --all\n"
PRESETS = """\
Preset fast
hardware:     h200
strategy:     single_node_tp
workload:     Chat
evidence:     A measurement https://example.org/1
For few requests.
  fast:c1 (concurrency 1): alone
  fast:c8 (concurrency 8): Eight at a time
"""
NOTES = """\
Note: On Hopper (hardware hopper, variant fp8 or default)
  Hopper `needs` nothing.

Note: On AMD (hardware amd)
  AMD too.
"""


def test_the_page_says_what_there_is_to_choose(operator: Operator, directory: Path) -> None:
    ran = operator.run(*words(directory))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == page(directory) + CHOICES + "\nNotes\n  On Hopper\n  On AMD\n" + MORE
    first = {line[:14] for line in ran.out.splitlines() if len(line) > 80}
    unbroken = {"recipe:       ", "source:       ", "digest:       "}  # words, which stay whole
    assert first <= unbroken


@pytest.mark.parametrize(
    ("option", "part"),
    [
        ("--presets", PRESETS),
        ("--notes", NOTES),
        ("--guide", RECIPE.partition("guide: |\n")[2].replace("\n  ", "\n").removeprefix("  ")),
    ],
)
def test_parts_alone(operator: Operator, directory: Path, option: str, part: str) -> None:
    assert operator.run(*words(directory, option)).out == part


def test_several_parts_and_everything(operator: Operator, directory: Path) -> None:
    assert operator.run(*words(directory, "--notes", "--presets")).out == f"{PRESETS}\n{NOTES}"
    everything = operator.run(*words(directory, "--all")).out
    assert everything.startswith(page(directory))
    assert "  tools: Tool calls. And more.\n" in everything
    assert "\nMore: " not in everything
    guide = operator.run(*words(directory, "--guide")).out
    assert everything.endswith(f"\n{PRESETS}\n{NOTES}\n{guide}")


def test_a_choice_is_said_with_its_notes(operator: Operator, directory: Path) -> None:
    ran = operator.run(*words(directory, "--hardware", "h200", "-f", "draft=two"))
    chosen = "\nChosen\n  h200 · single_node_tp · variant default · features tools, draft=two\n"
    note = NOTES.partition("\n\n")[0]
    assert ran.out == f"{page(directory)}{chosen}{CHOICES}\n{note}\n{MORE}"
    alone = operator.run(*words(directory, "--hardware", "h200", "--notes")).out
    assert alone == note + "\n"


def test_the_benchmark_is_of_the_variant_chosen(operator: Operator, directory: Path) -> None:
    ran = operator.run(*words(directory, "--variant", "fp8"))
    assert "\n    --model org/Model-FP8 \\\n" in ran.out


def test_a_choice_that_cannot_be_is_an_error(operator: Operator, directory: Path) -> None:
    ran = operator.run(*words(directory, "--variant", "fp4"))
    assert ran.status == 2
    assert (
        ran.error
        == "error: org/Model has no variant 'fp4'\n  did you mean 'fp8'? variants: default, fp8\n"
    )


def test_what_a_recipe_lacks_is_said(operator: Operator, directory: Path) -> None:
    path = directory / "models" / "org" / "Model.yaml"
    path.write_text("model: {model_id: org/Model}\nvariants: {default: {}}\n")
    assert operator.run(*words(directory, "--guide")).out == "org/Model has none of that\n"
    assert "More:" not in operator.run(*words(directory)).out


def test_a_terminal_has_bold_headings_and_markdown(operator: Operator, directory: Path) -> None:
    shown = on_terminal(operator, *words(directory))
    assert shown.startswith("\033[1morg/Model\033[0m\n")
    assert "\n\033[1mVariants\033[0m\n" in shown
    guide = on_terminal(operator, *words(directory, "--guide"))
    assert "**" not in guide
    assert "\033[1mfour\033[0m GPUs, see " in guide
    assert "the page (https://example.org/guide)" in plain(guide).replace("\n", " ")
    assert "\033]8;" not in guide  # a link that does not show where it leads
    assert " • one\n" in plain(guide)


@pytest.mark.parametrize("how", ["--no-color", "NO_COLOR", "TERM"])
def test_a_terminal_may_be_without_style(operator: Operator, directory: Path, how: str) -> None:
    before = (how,) if how == "--no-color" else ()
    if before == ():
        operator.env[how] = "dumb"
    shown = on_terminal(operator, *before, *words(directory, "--all"))
    assert "\033" not in shown
    assert " • one\n" in shown


def plain(text: str) -> str:
    import re

    return re.sub(r"\033\[[\d;]*m", "", text)


def test_programs_get_everything(operator: Operator, directory: Path) -> None:
    words_here = words(directory, "--hardware", "mi300x", "-o", "json")
    shown = operator.run(*words_here).json["recipe"]
    assert shown["prerequisites"]["min_nvidia_driver"] == "580"
    assert shown["presets"]["fast"]["concurrency"] == {"c1": 1, "c8": 8}
    assert shown["presets"]["fast"]["points"] == ["c1", "c8"]
    assert [(note["title"], note["applies"]) for note in shown["notes"]] == [
        ("On Hopper", False),
        ("On AMD", True),
    ]
    assert shown["notes"][0]["when"] == {"hardware": ["hopper"], "variant": ["fp8", "default"]}
    assert shown["benchmark_command"][:5] == ["vllm", "bench", "serve", "--model", "org/Model"]
    assert shown["guide"].startswith("## Layouts")
    assert shown["choice"]["strategy"] == "single_node_tp"
    bare = operator.run(*words(directory, "-o", "json")).json["recipe"]
    assert "choice" not in bare
    assert "applies" not in bare["notes"][0]


@pytest.mark.parametrize("model", [M3, FLASH])
def test_a_bundled_recipe_is_a_page_in_eighty_columns(operator: Operator, model: str) -> None:
    ran = operator.run("recipes", "show", model)
    long = [line for line in ran.out.splitlines() if len(line) > 80]
    assert [line for line in long if not line.startswith("digest:")] == []
    assert len(ran.out.splitlines()) < 110
    assert "Chosen" not in ran.out


@pytest.mark.parametrize("columns", [80, 60])
def test_notes_end_at_the_edge_of_a_terminal(operator: Operator, columns: int) -> None:
    words = ("--no-color", "recipes", "show", "openai/gpt-oss-20b", "--notes")
    shown = on_terminal(operator, *words, columns=columns).splitlines()
    assert columns - 20 < max(map(len, shown)) <= columns


@pytest.mark.parametrize("columns", [80, 40])
def test_a_long_heading_ends_at_the_edge_of_a_terminal_too(
    operator: Operator, columns: int
) -> None:
    shown = on_terminal(operator, "recipes", "show", M3, "--notes", columns=columns)
    headings = [line for line in shown.splitlines() if line.startswith("\033[1m")]
    assert len(headings) > 3
    assert max(len(plain(line)) for line in headings) <= columns - 2


def test_no_terminal_library_is_loaded_for_a_pipe(operator: Operator) -> None:
    for line in (("recipes", "show", M3, "--all"), ("recipes", "list")):
        ran = operator.run(*line, env={"PYTHONVERBOSE": "1"})
        assert ran.status == 0
        assert "import 'rich" not in ran.err
