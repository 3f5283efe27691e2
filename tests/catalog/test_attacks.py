"""Recipes are other people's files: what one may try, and does not get."""

from __future__ import annotations

import time

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe, Write
from vllm_launch.catalog.library import Library
from vllm_launch.errors import RecipeError

CHECKPOINT = "expected a checkpoint, such as org/repo"
IMAGE = "expected a container image"
NAME = 'expected a name of letters, digits, ".", "_" and "-" that begins with a letter or digit'

# What would reach a command line as an option of vLLM or docker, or lead out of its place.
BAD_CHECKPOINTS = [
    "--trust-remote-code", "-x", "", " ", "a b", "a\\tb", "a\\nb", " a/b", "a/b ", "..", "../x",
    "a/..", "a/../b",
]  # fmt: skip


@pytest.mark.parametrize("written", BAD_CHECKPOINTS)
def test_a_checkpoint_is_no_option_and_leads_nowhere(faults: Faults, written: str) -> None:
    text = f'model: {{model_id: "{written}"}}\nvariants: {{a: {{model_id: "{written}"}}}}\n'
    shown = written.replace("\\t", "\t").replace("\\n", "\n")
    assert faults(text) == [
        f"1:19: model.model_id: found the text {shown!r}; {CHECKPOINT}",
        f"2:26: variants.a.model_id: found the text {shown!r}; {CHECKPOINT}",
    ]


@pytest.mark.parametrize(
    "written", ["gpt2", "org/repo", "org/re..po", "/models/x", "s3://b/x", "a/-b"]
)
def test_any_other_checkpoint_is_one(read: ReadRecipe, written: str) -> None:
    assert (
        read(f"model: {{model_id: {written}}}\nvariants: {{a: {{}}}}\n").model.model_id == written
    )


IMAGES = {
    "model": ("model: {model_id: a/b, docker_image: --privileged}", "model.docker_image"),
    "brand": ("model: {model_id: a/b, docker_image: {amd: -v}}", "model.docker_image.amd"),
    "CUDA": ("model: {model_id: a/b, docker_image: {cu130: -v}}", "model.docker_image.cu130"),
    "empty": ("model: {model_id: a/b, docker_image: ''}", "model.docker_image"),
    "variant": ("variants: {v: {docker_image: -v}}", "variants.v.docker_image"),
    "hardware": (
        "variants: {v: {hardware_overrides: {h200: {docker_image: -v}}}}",
        "variants.v.hardware_overrides.h200.docker_image",
    ),
    "preset": (
        "presets: {p: {hardware: h200, strategy: single_node_tp, image: '-v/:/host'}}",
        "presets.p.image",
    ),
    "pinned": (
        "presets: {p: {hardware: h200, strategy: single_node_tp, image: {vllm: --rm}}}",
        "presets.p.image.vllm",
    ),
    "point": (
        "presets: {p: {hardware: h200, strategy: single_node_tp, points: {c: {image: -v}}}}",
        "presets.p.points.c.image",
    ),
}


@pytest.mark.parametrize(("block", "path"), IMAGES.values(), ids=IMAGES)
def test_an_image_is_no_option_of_docker(faults: Faults, block: str, path: str) -> None:
    blocks = {"model": "model: {model_id: a/b}", "variants": "variants: {v: {}}"}
    blocks[block.partition(":")[0]] = block
    [fault] = faults("\n".join(blocks.values()) + "\n")
    assert f": {path}: found the text '" in fault
    assert fault.endswith(f"; {IMAGE}")


NAMES = {
    "variant": "variants: {'NAME': {}}",
    "feature": "features: {'NAME': {}}",
    "mode": "features: {f: {modes: {'NAME': {}}}}",
    "preset": "presets: {'NAME': {hardware: h200, strategy: single_node_tp}}",
    "point": "presets: {p: {hardware: h200, strategy: single_node_tp, points: {'NAME': {}}}}",
}


@pytest.mark.parametrize(
    "name", ["-rf", "--help", "a;b", "a b", "$(id)", "../x", "`id`", "a=b", "a:b"]
)
@pytest.mark.parametrize("block", NAMES.values(), ids=NAMES)
def test_a_name_is_no_option_and_no_shell(faults: Faults, block: str, name: str) -> None:
    text = "model: {model_id: a/b}\n" + block.replace("NAME", name) + "\n"
    if not block.startswith("variants"):
        text += "variants: {v: {}}\n"
    [fault] = faults(text)
    assert f".{name}: found the text {name!r}; {NAME}" in fault


@pytest.mark.parametrize("policy", ["x; rm -rf /", "$(id)", "--port", "a b", "`id`", "a\\nb"])
def test_a_routers_policy_is_no_shell(faults: Faults, policy: str) -> None:
    """It becomes part of a shell command that operators copy."""
    text = f'{texts.SMALL}strategy_overrides: {{pd_cluster: {{router: {{policy: "{policy}"}}}}}}\n'
    [fault] = faults(text)
    assert fault.startswith("5:52: strategy_overrides.pd_cluster.router.policy: found the text ")
    assert fault.endswith(NAME)


WORDS = {
    "text": 'guide: "X"',
    "title": 'meta: {title: "X"}',
    "token": 'features: {f: {args: ["--x", "X"]}}',
    "variable": 'features: {f: {env: {A: "X"}}}',
    "note": 'notes: [{title: "X", body: b}]',
    "client's data": 'client: {a: ["X"]}',
    "JSON to merge": (
        'presets: {p: {hardware: h200, strategy: single_node_tp, json_args: {--x: {"X": 1}}}}'
    ),
    "preset": 'presets: {"X": {hardware: h200, strategy: single_node_tp}}',
    "hardware": 'meta: {hardware: {"X": verified}}',
    "unknown key": '"X": 1',
    "command": 'dependencies: [{command: "X"}]',
    "what is called a number": 'strategy_min_gpus: {h200: !!int "X"}',
    "what is called a date": 'guide: !!timestamp "X"',
    "what is called nothing": 'guide: !!null "X"',
    "key that is called a number": '!!float "X": 1',
}  # fmt: skip
COMMANDS = {
    "clear": "\\e[2J",
    "title": "\\e]0;x\\a",
    "C1": "\\x9b2J",
    "overwrite": "safe\\rrm",
    "erase": "rm\\b\\b",
    "turn round": "\\u202Ecod.etomer-tsurt",
    "NUL": "\\0",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("block", WORDS.values(), ids=WORDS)
def test_no_terminal_is_commanded(read: ReadRecipe, block: str, command: str) -> None:
    """Neither by a recipe nor by the message that refuses it."""
    with pytest.raises(RecipeError) as caught:
        read(texts.SMALL + block.replace("X", command) + "\n", own=False)
    message = "\n".join(map(str, (caught.value, *caught.value.problems)))
    assert " is not allowed" in message
    assert message.replace("\n", "").isprintable()


def library_with(write: Write, bundled: Library, files: dict[str, str]) -> Library:
    return Library(str(write(files)), own=False, fallback=bundled)


PROFILE = "brand: NVIDIA, generation: hopper"
GOOD = f"hardware_profiles: {{x: {{{PROFILE}, gpu_count: 8, vram_gb: 80}}}}"
COUNT = "hardware_profiles.x.gpu_count"
TAXONOMIES = {
    "GPUs without end": (
        f"hardware_profiles: {{x: {{{PROFILE}, gpu_count: 1000000000, vram_gb: 80}}}}",
        f"{COUNT}: found a whole number (1000000000); expected a whole number from 1 to 100000",
    ),
    "no GPU": (
        f"hardware_profiles: {{x: {{{PROFILE}, gpu_count: 0, vram_gb: 80}}}}",
        f"{COUNT}: found a whole number (0); expected a whole number from 1 to 100000",
    ),
    "no memory to divide by": (
        f"hardware_profiles: {{x: {{{PROFILE}, gpu_count: 8, vram_gb: 0}}}}",
        "hardware_profiles.x.vram_gb: found a whole number (0); expected a number from 1 to 100000",
    ),
    "next to no memory": (
        f"hardware_profiles: {{x: {{{PROFILE}, gpu_count: 8, vram_gb: 1.0e-9}}}}",
        "hardware_profiles.x.vram_gb: found a number (1.0e-9); expected a number from 1 to 100000",
    ),
    "a profile that is an option": (
        f"hardware_profiles: {{-x: {{{PROFILE}, gpu_count: 8, vram_gb: 80}}}}",
        f"hardware_profiles.-x: found the text '-x'; {NAME}",
    ),
    "an offload that is an option": (
        f"{GOOD}\nkv_offload: {{-x: {{}}}}",
        f"kv_offload.-x: found the text '-x'; {NAME}",
    ),
    "a strategy elsewhere": (
        f"{GOOD}\nstrategies: [../../x]",
        f"strategies[0]: found the text '../../x'; {NAME}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TAXONOMIES.values(), ids=TAXONOMIES)
def test_a_taxonomy_of_absurd_machines(
    write: Write, bundled: Library, text: str, expected: str
) -> None:
    library = library_with(write, bundled, {"taxonomy.yaml": text, "models/a/b.yaml": texts.SMALL})
    with pytest.raises(RecipeError) as caught:
        library.recipe("a/b")
    [problem] = caught.value.problems
    assert str(problem).partition(f"{problem.column}: ")[2] == expected


STRATEGY = "deploy_type: single_node\nname: "


def test_a_strategy_is_what_its_file_is_called(write: Write, bundled: Library) -> None:
    library = library_with(
        write, bundled, {"strategies/single_node_tp.yaml": STRATEGY + "pd_cluster"}
    )
    with pytest.raises(RecipeError) as caught:
        library.strategy("single_node_tp")
    assert [str(problem).partition(":")[2] for problem in caught.value.problems] == [
        ("2:7: name: found the text 'pd_cluster'; expected 'single_node_tp', as the file is named")
    ]


@pytest.mark.parametrize("flag", ["--x 1", "x", "", "-x; id"])
def test_a_strategys_flag_is_one(write: Write, bundled: Library, flag: str) -> None:
    text = f"{STRATEGY}single_node_tp\nparallel_flag: '{flag}'"
    library = library_with(write, bundled, {"strategies/single_node_tp.yaml": text})
    with pytest.raises(RecipeError) as caught:
        library.strategy("single_node_tp")
    assert [problem.message for problem in caught.value.problems] == [
        f"found the text {flag!r}; expected a flag, such as --max-num-seqs"
    ]


def test_faults_are_found_in_time_however_many_names_there_are(read: ReadRecipe) -> None:
    features = ", ".join(f"f{i}: {{default_mode: x, modes: {{x: {{}}}}}}" for i in range(3_000))
    opted = ", ".join(f"g{i}" for i in range(10_000))
    started = time.process_time()
    with pytest.raises(RecipeError) as caught:
        read(f"{texts.SMALL}features: {{{features}}}\nopt_in_features: [{opted}]\n")
    assert len(caught.value.problems) == 10_000
    assert time.process_time() - started < 15  # it takes half a second


def test_a_message_is_short_however_long_the_text_is(faults: Faults) -> None:
    text = f"{texts.SMALL}meta: {{tasks: {'x' * 100_000}}}\ndefault_strategy: {'y' * 100_000}\n"
    assert max(map(len, faults(text))) < 400
