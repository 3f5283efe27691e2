"""What stands in a file, by itself: flags, values, JSON, names, lists, images, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.conftest import Lint, told
from tests.lint.recipes import RECIPES, recipe
from vllm_launch.catalog.library import Library, bundled
from vllm_launch.commands.lint import faults_in
from vllm_launch.lint.combinations import Trial
from vllm_launch.model.vllm import VllmOptions


def with_args(*lines: str) -> str:
    """A recipe whose base arguments begin on line 5."""
    items = "".join(f"    - {line}\n" for line in lines)
    return recipe(f"  base_args:\n{items}")


ARGUMENTS = {
    "nothing wrong": (['"--max-num-seqs"', '"64"'], []),
    "unknown flag": (
        ['"--frobnicate"'],
        [
            (
                "5:7 error LINT_UNKNOWN the flag --frobnicate is unknown: no release from 0.24.0 "
                "to 0.33.0 has it"
            )
        ],
    ),
    "dead flag": (
        ['"--disable-log-stats"', '"--calculate-kv-scales"'],
        [
            (
                "6:7 error LINT_DEAD the flag --calculate-kv-scales is dead since 0.28.0: 0.27.1 "
                "had it last"
            )
        ],
    ),
    "off, of what is always on": (
        ['"--no-headless"'],
        [
            (
                "5:7 error LINT_UNKNOWN the flag --no-headless is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "dead before the table": (
        ['"--num-scheduler-steps"', '"8"'],
        ["5:7 error LINT_DEAD the flag --num-scheduler-steps was dead before 0.24.0"],
    ),
    "renamed": (
        ['"--cuda-graph-sizes"', '"8"'],
        ["5:7 error LINT_RENAMED the flag --cuda-graph-sizes was dead before 0.24.0"],
    ),
    "not yet": (
        ['"--monokernel"'],
        [
            (
                "5:7 warning LINT_NOT_YET the flag --monokernel is not known before 0.33.0, and "
                "the recipe allows 0.24.0"
            )
        ],
    ),
    "shortened": (
        ['"--max-num-se"', '"64"'],
        ["5:7 note LINT_SHORT --max-num-se is short for --max-num-seqs"],
    ),
    "one element": (
        ['"--max-num-seqs 64"'],
        [
            (
                "5:7 error LINT_ONE_ELEMENT '--max-num-seqs 64' is one element, and vLLM takes it "
                "for one flag"
            )
        ],
    ),
    "one element with a tab": (
        ['"--max-num-seqs\\t64"'],
        [
            (
                "5:7 error LINT_ONE_ELEMENT '--max-num-seqs\\t64' is one element, and vLLM "
                "takes it for one flag"
            )
        ],
    ),
    "a level of optimization": (['"-O2"'], []),
    "a key of a level of optimization": (
        ['"-O.mode=3"'],
        [
            (
                "5:7 error LINT_UNKNOWN the flag -O.mode is unknown: no release from 0.24.0 "
                "to 0.33.0 has it"
            )
        ],
    ),
    "JSON in braces, but none": (
        ['"--hf-overrides"', "\"{'a': 1}\""],
        [
            (
                "5:7 error LINT_JSON --hf-overrides \"{'a': 1}\": it is no JSON: Expecting "
                "property name enclosed in double quotes: line 1 column 2 (char 1)"
            )
        ],
    ),
    "off twice": (
        ['"--disable-hybrid-kv-cache-manager"', '"--no-disable-hybrid-kv-cache-manager"'],
        [
            (
                "6:7 error LINT_CONTRADICTION --no-disable-hybrid-kv-cache-manager contradicts "
                "--disable-hybrid-kv-cache-manager on line 5"
            )
        ],
    ),
    "a boolean with true": (
        ['"--enable-prefix-caching"', '"true"'],
        ["5:7 error LINT_BOOLEAN --enable-prefix-caching takes no value, found 'true'"],
    ),
    "a number that is none": (
        ['"--max-num-seqs"', '"many"'],
        ["5:7 error LINT_VALUE --max-num-seqs takes a number, found 'many'"],
    ),
    "a number with two suffixes": (
        ['"--max-model-len"', '"128kk"'],
        ["5:7 error LINT_VALUE --max-model-len takes a number, found '128kk'"],
    ),
    "a value by itself": (
        ['"64"'],
        ["5:7 error LINT_STRAY '64' stands alone, without a flag before it"],
    ),
    "broken JSON": (
        ['"--compilation-config"', "'{\"mode\": 3'"],
        [
            (
                "5:7 error LINT_JSON --compilation-config '{\"mode\": 3': it is no JSON: Expecting "
                "',' delimiter: line 1 column 11 (char 10)"
            )
        ],
    ),
    "a key twice in JSON": (
        ['"--compilation-config"', '\'{"mode": 3, "mode": 2}\''],
        [
            (
                "5:7 error LINT_JSON_TWICE the key mode stands twice in one mapping of "
                "--compilation-config"
            )
        ],
    ),
    "an unknown key in JSON": (
        ['"--compilation-config"', "'{\"moood\": 3}'"],
        [
            (
                "5:7 error LINT_UNKNOWN the key --compilation-config.moood is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "a renamed key behind a dot": (
        ['"--attention_config.use_fp4_indexer_cache"', '"true"'],
        [
            (
                "5:7 error LINT_RENAMED the key --attention-config.use_fp4_indexer_cache is dead "
                "since 0.30.0: 0.29.0 had it last"
            )
        ],
    ),
    "an unknown backend": (
        ['"--attention-backend"', '"FLASHINFRA"'],
        [
            (
                "5:7 error LINT_UNKNOWN the attention backend FLASHINFRA is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "an unknown connector": (
        ['"--kv-transfer-config"', '\'{"kv_connector":"NoConnector","kv_role":"kv_both"}\''],
        [
            (
                "5:7 error LINT_UNKNOWN the KV connector NoConnector is unknown: no release from "
                "0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "an unknown parser": (
        ['"--reasoning-parser"', '"nobody"'],
        [
            (
                "5:7 error LINT_UNKNOWN the reasoning parser nobody is unknown: no release from "
                "0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "no parser at all": (['"--reasoning-parser"', "none"], []),
    "a parser that a plugin brings": (
        ['"--reasoning-parser"', '"nobody"', '"--reasoning-parser-plugin"', '"nobody.py"'],
        [],
    ),
    "twice with other values": (
        ['"--max-num-seqs"', '"64"', '"--max-num-seqs"', '"32"'],
        ["7:7 error LINT_TWICE --max-num-seqs is '32' here, and '64' on line 5"],
    ),
    "twice the same": (
        ['"--max-num-seqs"', '"64"', '"--max-num-seqs"', '"64"'],
        ["5:7 warning LINT_REPEATED --max-num-seqs stands again on line 7, with the same value"],
    ),
    "a value that releases before the newest refuse": (
        ['"--kv-cache-dtype"', '"fp9"'],
        [
            (
                "5:7 warning LINT_VALUE --kv-cache-dtype does not take 'fp9' up to 0.32.0, and "
                "the recipe allows 0.24.0"
            )
        ],
    ),
    "a kernel inside JSON": (
        ['"--speculative-config"', '\'{"method": "mtp", "moe_backend": "tritom"}\''],
        [
            (
                "5:7 error LINT_UNKNOWN the choice moe_backend of --speculative-config: tritom "
                "is unknown: no release from 0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "a kernel inside JSON that there is": (
        ['"--kernel-config"', '\'{"moe_backend": "Triton", "linear-backend": 1}\''],
        [
            (
                "5:7 error LINT_UNKNOWN the key --kernel-config.linear-backend is unknown: no "
                "release from 0.24.0 to 0.33.0 has it"
            )
        ],
    ),
    "on and off": (
        ['"--enable-prefix-caching"', '"--no-enable-prefix-caching"'],
        [
            (
                "6:7 error LINT_CONTRADICTION --no-enable-prefix-caching contradicts "
                "--enable-prefix-caching on line 5"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(lint: Lint, case: str) -> None:
    lines, expected = ARGUMENTS[case]
    found = [fault for fault in lint(with_args(*lines)) if fault.code != "LINT_CONFLICT"]
    assert told(found) == expected


@pytest.mark.parametrize("case", RECIPES)
def test_recipes(lint: Lint, case: str) -> None:
    text, expected = RECIPES[case]
    assert told(lint(text)) == expected


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        ('  base_env: {VLLM_LOGING_LEVEL: "x"}\n', "Did you mean VLLM_LOGGING_LEVEL?"),
        ('  base_env: {VLLM_FROBNICATE: "1"}\n', "Correct it, or take it away."),
        ("  unreleased: [--max-num-seqs]\n", "Take it off the list."),
    ],
    ids=["a near name", "nothing near", "declared for nothing"],
)
def test_what_to_do_is_told(lint: Lint, model: str, remedy: str) -> None:
    (fault,) = lint(recipe(model))
    assert fault.remedy == remedy


@pytest.mark.parametrize(
    ("element", "remedy", "words"),
    [
        (
            "--max-num-seqs 64",
            "Make two elements of it, '--max-num-seqs' and '64'.",
            ("--max-num-seqs", "64"),
        ),
        (
            "--cudagraph-capture-sizes 1 2  4",
            "Make an element of each word: '--cudagraph-capture-sizes', '1', '2', '4'.",
            ("--cudagraph-capture-sizes", "1", "2", "4"),
        ),
        (
            "--served-model-name a b",
            "Make an element of each word: '--served-model-name', 'a', 'b'.",
            ("--served-model-name", "a", "b"),
        ),
        (
            "--served-model-name a",
            "Make two elements of it, '--served-model-name' and 'a'.",
            ("--served-model-name", "a"),
        ),
        (
            '--lora-modules {"name": "a", "path": "b"}',
            'Make two elements of it, \'--lora-modules\' and \'{"name": "a", "path": "b"}\'.',
            ("--lora-modules", '{"name": "a", "path": "b"}'),
        ),
        (
            "--chat-template my own.jinja",
            "Make two elements of it, '--chat-template' and 'my own.jinja'.",
            ("--chat-template", "my own.jinja"),
        ),
    ],
    ids=["one", "several", "several names", "one of several", "JSON", "one with a space"],
)
def test_one_element_is_taken_apart_into_as_many_as_the_option_takes(
    lint: Lint, element: str, remedy: str, words: tuple[str, ...]
) -> None:
    (fault,) = lint(with_args(f"'{element}'"))
    assert (fault.code, fault.remedy) == ("LINT_ONE_ELEMENT", remedy)
    assert [edit.words for edit in fault.edits] == [words]


@pytest.mark.parametrize(
    ("hardware", "severity", "told_of"),
    [
        ("tpu", "note", ", unless Google's build has it"),
        ("trillium", "note", ", unless Google's build has it"),
        ("google", "note", ", unless Google's build has it"),
        ("ascend_950pr", "note", ", unless Huawei's build has it"),
        ("h200", "error", ""),
    ],
)
def test_what_another_build_may_have_is_no_error(
    lint: Lint, hardware: str, severity: str, told_of: str
) -> None:
    text = f"hardware_overrides: {{{hardware}: {{extra_args: [--calculate-kv-scales]}}}}\n"
    (fault,) = [fault for fault in lint(recipe(rest=text)) if fault.code == "LINT_DEAD"]
    what = "the flag --calculate-kv-scales is dead since 0.28.0: 0.27.1 had it last"
    assert (fault.severity, fault.what) == (severity, f"{what}{told_of}")


def test_a_fault_is_told_once_with_the_combinations_that_meet_it(lint: Lint) -> None:
    text, _ = RECIPES["arguments that need others"]
    (fault,) = lint(text)
    assert fault.path == "model.base_args"
    assert fault.combinations > 10


def test_a_recipe_with_endless_combinations_ends(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trial, "most", 20)
    assert told(lint(recipe())) == [
        "1:0 warning LINT_TOO_MANY there are over 20 combinations, and no more were tried"
    ]


def test_what_two_uses_of_an_alias_share_is_told_once(lint: Lint) -> None:
    text = recipe(tail=(
        'variants:\n  a: {extra_args: &x ["--frobnicate"]}\n  b: {extra_args: *x}\n'
        "compatible_strategies: [single_node_tp]\n"
    ))  # fmt: skip
    assert [line.partition(" the")[0] for line in told(lint(text))] == ["5:23 error LINT_UNKNOWN"]


def test_a_recipe_in_json(tmp_path: Path, options: VllmOptions) -> None:
    path = tmp_path / "repo.json"
    path.write_text(
        '{"model": {"model_id": "org/repo",\n "base_args": ["--frobnicate"]},\n'
        ' "variants": {"default": {}}, "compatible_strategies": ["single_node_tp"]}'
    )
    library = Library(str(tmp_path), own=False, fallback=bundled())
    found, _ = faults_in((library, str(path), "recipe", ""), options)
    assert [line.partition(" the")[0] for line in told(found)] == ["2:16 error LINT_UNKNOWN"]
