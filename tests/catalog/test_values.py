"""Every kind of value: what it refuses, and in which words."""

from __future__ import annotations

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.catalog import kinds
from vllm_launch.catalog.reading import ABSENT, Reading

NAME = 'a name of letters, digits, ".", "_" and "-" that begins with a letter or digit'
COUNT = "a whole number from 1 to 100000"
BOOLEAN = "which YAML 1.1 reads as a boolean"
NOTATION = "which YAML 1.1 reads as a number in another notation"

# How a plain scalar that is no text is told about.
NO_TEXT = {
    "5": "a whole number (5)",
    "-5": "a whole number (-5)",
    "0.3": "a number (0.3)",
    "0.30": "a number (0.30)",
    "1.0e+3": "a number (1.0e+3)",
    "true": "a boolean (true)",
    "False": "a boolean (False)",
    "TRUE": "a boolean (TRUE)",
    "2026-01-02": "a date (2026-01-02)",
    "2026-01-02 03:04:05": "a date (2026-01-02 03:04:05)",
    "2026-01-02T03:04:05Z": "a date (2026-01-02T03:04:05Z)",
    "no": f"no, {BOOLEAN}",
    "No": f"No, {BOOLEAN}",
    "yes": f"yes, {BOOLEAN}",
    "YES": f"YES, {BOOLEAN}",
    "on": f"on, {BOOLEAN}",
    "off": f"off, {BOOLEAN}",
    "12:30": f"12:30, {NOTATION}",
    "190:20:30": f"190:20:30, {NOTATION}",
    "190:20:30.15": f"190:20:30.15, {NOTATION}",
    "010": f"010, {NOTATION}",
    "-010": f"-010, {NOTATION}",
    "0x1F": f"0x1F, {NOTATION}",
    "0b11": f"0b11, {NOTATION}",
    "1_000": f"1_000, {NOTATION}",
    "1_000.5": f"1_000.5, {NOTATION}",
    "+1": f"+1, {NOTATION}",
    ".inf": f".inf, {NOTATION}",
    "-.INF": f"-.INF, {NOTATION}",
    ".nan": f".nan, {NOTATION}",
    "1.0e+999": f"1.0e+999, {NOTATION}",
    "12345678901234567890": f"12345678901234567890, {NOTATION}",
    "=": "=, which YAML 1.1 reads as a default mark",
    "<<": "<<, which YAML 1.1 reads as a merge mark",
}


@pytest.mark.parametrize(("written", "found"), NO_TEXT.items(), ids=NO_TEXT)
def test_text_is_never_guessed_from_what_yaml_reads_otherwise(
    faults: Faults, written: str, found: str
) -> None:
    text = f"{texts.SMALL}guide: {written}\n"
    hint = f'write "{written}" in quotes'
    assert faults(text) == [f"5:8: guide: found {found}; expected text ({hint})"]


@pytest.mark.parametrize("written", NO_TEXT, ids=NO_TEXT)
def test_quotes_make_text_of_anything(read: ReadRecipe, written: str) -> None:
    assert read(f'{texts.SMALL}guide: "{written}"\n').guide == written


@pytest.mark.parametrize("written", ["y", "n", "0o17", "1e5", "1.2.3", "v0.30", "0.30.0rc1", "É"])
def test_text_needs_no_quotes_where_yaml_reads_it_as_text(read: ReadRecipe, written: str) -> None:
    assert read(f"{texts.SMALL}guide: {written}\n").guide == written


@pytest.mark.parametrize("written", ["~", "null", "Null", ""])
def test_null_is_no_text_but_nothing(read: ReadRecipe, written: str) -> None:
    assert read(f"{texts.SMALL}guide: {written}\n").guide == ""


def test_a_version_that_is_a_float_is_refused(faults: Faults) -> None:
    text = "model: {model_id: org/repo, min_vllm_version: 0.30}\nvariants: {default: {}}\n"
    assert faults(text) == [
        (
            "1:47: model.min_vllm_version: found a number (0.30); expected text "
            '(write "0.30" in quotes)'
        )
    ]


# Words of commands and environments may be plain scalars that are written as they will be read.
AS_WRITTEN = ("5", "-5", "0.3", "true")


@pytest.mark.parametrize("written", AS_WRITTEN)
def test_a_token_is_a_plain_scalar_as_it_is_written(read: ReadRecipe, written: str) -> None:
    recipe = read(
        f"{texts.SMALL}features: {{f: {{args: [--x, {written}], env: {{A: {written}}}}}}}"
    )
    feature = recipe.features["f"]
    tokens = [token for _, words, _ in feature.args for token in words]
    assert tokens == ["--x", written]
    assert [value for _, value, _ in feature.env] == [written]


@pytest.mark.parametrize(
    ("written", "found"),
    [(w, f) for w, f in NO_TEXT.items() if w not in AS_WRITTEN],
    ids=[w for w in NO_TEXT if w not in AS_WRITTEN],
)
def test_a_token_that_could_mean_two_things_is_refused(
    faults: Faults, written: str, found: str
) -> None:
    text = f"{texts.SMALL}features:\n  f:\n    args: [--x, {written}]\n    env: {{A: {written}}}\n"
    hint = f'write "{written}" in quotes'
    assert faults(text) == [
        f"7:17: features.f.args[1]: found {found}; expected text ({hint})",
        f"8:14: features.f.env.A: found {found}; expected text ({hint})",
    ]


# Behind the four lines of the small recipe.
WRONG = {
    "text: a list": (
        "guide: [a]",
        "5:8: guide: found a list; expected text",
    ),
    "text: a mapping": (
        "guide: {a: b}",
        "5:8: guide: found a mapping; expected text",
    ),
    "date: a number": (
        "meta: {date_added: 2026}",
        (
            "5:20: meta.date_added: found a whole number (2026); expected text "
            '(write "2026" in quotes)'
        ),
    ),
    "date: a boolean": (
        "meta: {date_updated: off}",
        f'5:22: meta.date_updated: found off, {BOOLEAN}; expected text (write "off" in quotes)',
    ),
    "table: a number": (
        "meta: 5",
        "5:7: meta: found a whole number (5); expected a mapping",
    ),
    "table: a list": (
        "meta: [a]",
        "5:7: meta: found a list; expected a mapping",
    ),
    "table: an unknown key": (
        "meta: {titel: A}",
        "5:8: meta.titel: unknown key 'titel' (did you mean 'title'?)",
    ),
    "table: an unknown key like no other": (
        "meta: {xyzzy: A}",
        "5:8: meta.xyzzy: unknown key 'xyzzy'",
    ),
    "table: a missing key": (
        "presets: {p: {hardware: h200}}",
        "5:14: presets.p: the key 'strategy' is missing",
    ),
    "table: a missing key, for null is nothing": (
        "presets: {p: {hardware: h200, strategy: ~}}",
        "5:14: presets.p: the key 'strategy' is missing",
    ),
    "table: a missing key in a list": (
        "notes: [{title: a, body: b}, {title: a}]",
        "5:30: notes[1]: the key 'body' is missing",
    ),
    "list: text": (
        "meta: {tasks: text}",
        "5:15: meta.tasks: found the text 'text'; expected a list",
    ),
    "list: a mapping": (
        "meta: {tasks: {a: b}}",
        "5:15: meta.tasks: found a mapping; expected a list",
    ),
    "list: an item": (
        "meta: {tasks: [text, 1]}",
        '5:22: meta.tasks[1]: found a whole number (1); expected text (write "1" in quotes)',
    ),
    "list: nothing as an item": (
        "meta: {tasks: [text, ~]}",
        '5:22: meta.tasks[1]: found nothing (~); expected text (write "~" in quotes)',
    ),
    "mapping: a list": (
        "meta: {hardware: [h200]}",
        "5:18: meta.hardware: found a list; expected a mapping",
    ),
    "mapping: a value": (
        "meta: {hardware: {h200: true}}",
        '5:25: meta.hardware.h200: found a boolean (true); expected text (write "true" in quotes)',
    ),
    "count: zero": (
        "strategy_min_gpus: {h200: 0}",
        f"5:27: strategy_min_gpus.h200: found a whole number (0); expected {COUNT}",
    ),
    "count: a fraction": (
        "strategy_min_gpus: {h200: 1.5}",
        f"5:27: strategy_min_gpus.h200: found a number (1.5); expected {COUNT}",
    ),
    "count: a whole float": (
        "strategy_min_gpus: {h200: 2.0}",
        f"5:27: strategy_min_gpus.h200: found a number (2.0); expected {COUNT}",
    ),
    "count: more than any machine": (
        "strategy_min_gpus: {h200: 100001}",
        f"5:27: strategy_min_gpus.h200: found a whole number (100001); expected {COUNT}",
    ),
    "count: text": (
        "strategy_min_gpus: {h200: '8'}",
        f"5:27: strategy_min_gpus.h200: found the text '8'; expected {COUNT}",
    ),
    "count: octal": (
        "strategy_min_gpus: {h200: 010}",
        f"5:27: strategy_min_gpus.h200: found 010, {NOTATION}; expected {COUNT}",
    ),
    "count: a boolean is no 1": (
        "strategy_min_gpus: {h200: true}",
        f"5:27: strategy_min_gpus.h200: found a boolean (true); expected {COUNT}",
    ),
    "one of: a near miss": (
        "strategy_hardware: {single_node_tp: {h200: suported}}",
        (
            "5:44: strategy_hardware.single_node_tp.h200: found the text 'suported'; "
            "expected supported or unsupported or verified (did you mean 'supported'?)"
        ),
    ),
    "one of: another word": (
        "strategy_hardware: {single_node_tp: {h200: maybe}}",
        (
            "5:44: strategy_hardware.single_node_tp.h200: found the text 'maybe'; "
            "expected supported or unsupported or verified"
        ),
    ),
    "one of: a boolean": (
        "strategy_hardware: {single_node_tp: {h200: no}}",
        (
            f"5:44: strategy_hardware.single_node_tp.h200: found no, {BOOLEAN}; "
            "expected supported or unsupported or verified"
        ),
    ),
    "one of: pool modes": (
        "strategy_overrides: {pd_cluster: {pool_modes: [tp, ep]}}",
        (
            "5:52: strategy_overrides.pd_cluster.pool_modes[1]: found the text 'ep'; "
            "expected tp or tep or dep (did you mean 'tep'?)"
        ),
    ),
    "arguments: text": (
        "features: {f: {args: --x}}",
        "5:22: features.f.args: found the text '--x'; expected a list of arguments",
    ),
    "arguments: a mapping": (
        "features: {f: {args: {--x: 1}}}",
        "5:22: features.f.args: found a mapping; expected a list of arguments",
    ),
    "arguments: a list as a token": (
        "features: {f: {args: [[--x]]}}",
        "5:23: features.f.args[0]: found a list; expected text",
    ),
    "arguments: a mapping as a token, such as JSON without quotes": (
        'features: {f: {args: [--x, {"a": 1}]}}',
        "5:28: features.f.args[1]: found a mapping; expected text",
    ),
    "arguments: nothing as a token": (
        "features: {f: {args: [--x, ~]}}",
        '5:28: features.f.args[1]: found nothing (~); expected text (write "~" in quotes)',
    ),
    "variables: a list": (
        "features: {f: {env: [A=1]}}",
        "5:21: features.f.env: found a list; expected a mapping from variable names to values",
    ),
    "variables: text": (
        "features: {f: {env: A=1}}",
        (
            "5:21: features.f.env: found the text 'A=1'; "
            "expected a mapping from variable names to values"
        ),
    ),
    "variables: a list as a value": (
        "features: {f: {env: {A: [1]}}}",
        "5:25: features.f.env.A: found a list; expected text",
    ),
    "names: a list": (
        "features: [f]",
        "5:11: features: found a list; expected a mapping",
    ),
    "names: a list under a name": (
        "features: {f: [--x]}",
        "5:15: features.f: found a list; expected a mapping",
    ),
    "size: a list": (
        "strategy_overrides: {single_node_tp: {tp: [4]}}",
        f"5:43: strategy_overrides.single_node_tp.tp: found a list; expected {COUNT}",
    ),
    "size: text for a hardware": (
        "strategy_overrides: {single_node_tp: {tp: {h200: four}}}",
        f"5:50: strategy_overrides.single_node_tp.tp.h200: found the text 'four'; expected {COUNT}",
    ),
    "word by hardware: a near miss": (
        "strategy_overrides: {pd_cluster: {decode: {parallelism: dpe}}}",
        (
            "5:57: strategy_overrides.pd_cluster.decode.parallelism: found the text 'dpe'; "
            "expected tp or tep or dep (did you mean 'dep'?)"
        ),
    ),
    "word by hardware: a list for a hardware": (
        "strategy_overrides: {pd_cluster: {decode: {parallelism: {h200: [dep]}}}}",
        (
            "5:64: strategy_overrides.pd_cluster.decode.parallelism.h200: found a list; "
            "expected tp or tep or dep"
        ),
    ),
    "port: zero": (
        "strategy_overrides: {pd_cluster: {router: {port: 0}}}",
        (
            f"5:50: strategy_overrides.pd_cluster.router.port: found a whole number (0); "
            f"expected {COUNT}"
        ),
    ),
    "boolean: text": (
        "dependencies: [{command: a, optional: maybe}]",
        "5:39: dependencies[0].optional: found the text 'maybe'; expected true or false",
    ),
    "boolean: a number": (
        "dependencies: [{command: a, optional: 1}]",
        "5:39: dependencies[0].optional: found a whole number (1); expected true or false",
    ),
    "boolean: yes": (
        "dependencies: [{command: a, optional: yes}]",
        f"5:39: dependencies[0].optional: found yes, {BOOLEAN}; expected true or false",
    ),
    "command: a number": (
        "dependencies: [{command: 5}]",
        (
            "5:26: dependencies[0].command: found a whole number (5); expected text "
            '(write "5" in quotes)'
        ),
    ),
    "data: what could mean two things": (
        "client: {stream: no}",
        f'5:18: client.stream: found no, {BOOLEAN}; expected a plain value (write "no" in quotes)',
    ),
    "data: the same, deep inside": (
        "client: {a: [{b: 12:30}]}",
        (
            f"5:18: client.a[0].b: found 12:30, {NOTATION}; expected a plain value "
            '(write "12:30" in quotes)'
        ),
    ),
}


@pytest.mark.parametrize(("added", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_told_with_its_place(faults: Faults, added: str, expected: str) -> None:
    assert faults(f"{texts.SMALL}{added}\n") == [expected]


PRESET = "presets: {p: {hardware: h200, strategy: single_node_tp, "
WRONG_IN_PRESET = {
    "image: a list": (
        "image: [a]",
        "image: found a list; expected text",
    ),
    "image: pinned without vllm": (
        "image: {pip: [a]}",
        "image: the key 'vllm' is missing",
    ),
    "selection: text": (
        "select: all",
        "select: found the text 'all'; expected a mapping",
    ),
    "selection: features as a list": (
        "select: {features: [a]}",
        "select.features: found a list; expected a mapping",
    ),
    "selection: nodes in words": (
        "select: {nodes: two}",
        f"select.nodes: found the text 'two'; expected {COUNT}",
    ),
    "removed arguments: text": (
        "remove_args: --x",
        "remove_args: found the text '--x'; expected a list",
    ),
    "removed arguments: no flag": (
        "remove_args: [x]",
        "remove_args[0]: found the text 'x'; expected a flag, such as --max-num-seqs",
    ),
    "removed arguments: a flag with its value": (
        "remove_args: ['--x 1']",
        "remove_args[0]: found the text '--x 1'; expected a flag, such as --max-num-seqs",
    ),
    "JSON arguments: a list": (
        "json_args: [a]",
        "json_args: found a list; expected a mapping",
    ),
    "JSON arguments: a number to merge": (
        "json_args: {--x: 1}",
        "json_args.--x: found a whole number (1); expected a mapping",
    ),
    "JSON arguments: no flag": (
        "json_args: {x: {a: 1}}",
        "json_args.x: found the text 'x'; expected a flag, such as --max-num-seqs",
    ),
    "JSON arguments: a boolean that may be none": (
        "json_args: {--x: {a: off}}",
        f'json_args.--x.a: found off, {BOOLEAN}; expected a plain value (write "off" in quotes)',
    ),
    "points: a list": (
        "points: [c1]",
        "points: found a list; expected a mapping",
    ),
    "concurrency: in words": (
        "points: {c1: {concurrency: many}}",
        "points.c1.concurrency: found the text 'many'; expected a whole number",
    ),
    "evidence: an unknown key": (
        "source: {herf: x}",
        "source.herf: unknown key 'herf' (did you mean 'href'?)",
    ),
}


@pytest.mark.parametrize(("added", "expected"), WRONG_IN_PRESET.values(), ids=WRONG_IN_PRESET)
def test_a_wrong_value_of_a_preset(faults: Faults, added: str, expected: str) -> None:
    [fault] = faults(f"{texts.SMALL}{PRESET}{added}}}}}\n")
    line, column, message = fault.split(":", 2)
    assert message == f" presets.p.{expected}"
    assert line == "5"
    assert len(PRESET) < int(column) <= len(PRESET) + len(added)


WRONG_MODELS = {
    "nothing": ("~", "1:1: the key 'model' is missing"),
    "text": ("a", "1:8: model: found the text 'a'; expected a mapping"),
    "without an id": ("{}", "1:8: model: the key 'model_id' is missing"),
    "an id that is no text": (
        "{model_id: 5}",
        ("1:19: model.model_id: found a whole number (5); expected text "
        '(write "5" in quotes)'),
    ),
    "a length with a fraction": (
        "{model_id: a/b, context_length: 1.5}",
        "1:40: model.context_length: found a number (1.5); expected a whole number",
    ),
    "a length with an underscore": (
        "{model_id: a/b, context_length: 1_000}",
        f"1:40: model.context_length: found 1_000, {NOTATION}; expected a whole number",
    ),
    "an image that is a list": (
        "{model_id: a/b, docker_image: [a]}",
        "1:38: model.docker_image: found a list; expected text",
    ),
    "an image that is a number": (
        "{model_id: a/b, docker_image: 5}",
        '1:38: model.docker_image: found a whole number (5); expected text (write "5" in quotes)',
    ),
    "an image for an unknown brand": (
        "{model_id: a/b, docker_image: {nvidea: a}}",
        "1:39: model.docker_image.nvidea: unknown key 'nvidea' (did you mean 'nvidia'?)",
    ),
    "an image of a CUDA version that is a number": (
        "{model_id: a/b, docker_image: {cu130: 5}}",
        ("1:46: model.docker_image.cu130: found a whole number (5); expected text "
        '(write "5" in quotes)'),
    ),
    "an image by CUDA version and something else": (
        "{model_id: a/b, docker_image: {nvidia: {cu130: a, cuda129: b}}}",
        "1:58: model.docker_image.nvidia.cuda129: unknown key 'cuda129' (did you mean 'cu129'?)",
    ),
    "an image for a brand that is a list": (
        "{model_id: a/b, docker_image: {amd: [a]}}",
        "1:44: model.docker_image.amd: found a list; expected text",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("model", "expected"), WRONG_MODELS.values(), ids=WRONG_MODELS)
def test_a_wrong_model(faults: Faults, model: str, expected: str) -> None:
    assert faults(f"model: {model}\nvariants: {{default: {{}}}}\n") == [expected]


WRONG_VARIANTS = {
    "nothing": ("~", "1:1: the key 'variants' is missing"),
    "text": ("a", "2:11: variants: found the text 'a'; expected a mapping"),
    "a list": ("[a]", "2:11: variants: found a list; expected a mapping"),
    "none": ("{}", "2:11: variants: found no variant; expected one or more"),
    "none but null": ("{a: ~}", "2:11: variants: found no variant; expected one or more"),
    "a number": ("{a: 5}", "2:15: variants.a: found a whole number (5); expected a mapping"),
    "less memory than none": (
        "{a: {vram_minimum_gb: -1}}",
        (
            "2:33: variants.a.vram_minimum_gb: found a whole number (-1); "
            "expected a number from 0 to 100000"
        ),
    ),
    "memory without end": (
        "{a: {vram_minimum_gb: .inf}}",
        (
            f"2:33: variants.a.vram_minimum_gb: found .inf, {NOTATION}; "
            "expected a number from 0 to 100000"
        ),
    ),
    "more memory than there is": (
        "{a: {vram_minimum_gb: 1.0e+9}}",
        (
            "2:33: variants.a.vram_minimum_gb: found a number (1.0e+9); "
            "expected a number from 0 to 100000"
        ),
    ),
    "memory in quotes": (
        "{a: {vram_minimum_gb: '5'}}",
        "2:33: variants.a.vram_minimum_gb: found the text '5'; expected a number from 0 to 100000",
    ),
    "hardware of a precision as text": (
        "{a: {precision_hardware: hopper}}",
        "2:36: variants.a.precision_hardware: found the text 'hopper'; expected a mapping",
    ),
    "modes as a list": (
        "{a: {default_modes: [a]}}",
        "2:31: variants.a.default_modes: found a list; expected a mapping",
    ),
}


@pytest.mark.parametrize(("variants", "expected"), WRONG_VARIANTS.values(), ids=WRONG_VARIANTS)
def test_wrong_variants(faults: Faults, variants: str, expected: str) -> None:
    assert faults(f"model: {{model_id: a/b}}\nvariants: {variants}\n") == [expected]


@pytest.mark.parametrize(
    "written",
    ["A B", "1A", "A-B", "A=B", "", "É", "A.B", "$A", "A\\\\B"],
)
def test_a_bad_name_of_a_variable(faults: Faults, written: str) -> None:
    text = f'{texts.SMALL}features: {{f: {{env: {{"{written}": "1"}}}}}}\n'
    name = written.replace("\\\\", "\\")
    assert faults(text) == [
        f"5:22: features.f.env.{name}: found the text {name!r}; expected the name of a variable"
    ]


@pytest.mark.parametrize("written", ["A", "_", "a1", "A_B", "__A2"])
def test_a_good_name_of_a_variable(read: ReadRecipe, written: str) -> None:
    recipe = read(f"{texts.SMALL}features: {{f: {{env: {{{written}: x}}}}}}\n")
    assert [(name, value) for name, value, _ in recipe.features["f"].env] == [(written, "x")]


@pytest.mark.parametrize("block", ["features", "presets"])
@pytest.mark.parametrize(
    "written", ["-f", "--help", "f g", "../x", ".", ".x", "", "a/b", "a=b", "É"]
)
def test_a_name_that_no_operator_could_type(faults: Faults, block: str, written: str) -> None:
    inside = "{hardware: h200, strategy: single_node_tp}" if block == "presets" else "{}"
    text = f"{texts.SMALL}{block}: {{'{written}': {inside}}}\n"
    assert faults(text) == [
        f"5:{len(block) + 4}: {block}.{written}: found the text {written!r}; expected {NAME}"
    ]


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ("img", {"nvidia": "img"}),
        ("{cu126: a, cu129: b, cu130: c}", {"nvidia": "c"}),
        ("{cu129: b}", {"nvidia": "b"}),
        ("{cu99: a, cu130: c, cu200: ~}", {"nvidia": "c"}),
        ("{nvidia: a, amd: b, tpu: c, intel: d}",
         {"nvidia": "a", "amd": "b", "tpu": "c", "intel": "d"}),
        ("{nvidia: {cu129: a, cu130: b}, amd: ~}", {"nvidia": "b"}),
        ("{cu130: ~}", {}),
    ],
)  # fmt: skip
def test_images_by_brand(read: ReadRecipe, images: str, expected: dict[str, str]) -> None:
    text = f"model: {{model_id: a/b, docker_image: {images}}}\nvariants: {{default: {{}}}}\n"
    found = read(text).model.docker_image
    assert found is not None
    assert found.by_brand == expected


def test_a_reader_notes_and_goes_on() -> None:
    """A fault never stops a reading: it is noted, and what it was about is left out."""
    reading = Reading("f.yaml", own=True)
    node = ("list", 1, 1, (("text", 1, 2, "a", ""), ("int", 1, 5, 5, "5")), "")
    assert kinds.listed(kinds.text)(node, "x", reading) == ("a",)
    assert kinds.text(node, "x", reading) is ABSENT
    assert [problem.path for problem in reading.problems] == ["x[1]", "x"]
