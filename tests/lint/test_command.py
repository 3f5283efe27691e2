"""recipes lint as an operator runs it."""

from __future__ import annotations

import functools
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.lint.recipes import RECIPES, recipe
from tests.lint.sarif import SARIF
from vllm_launch import cli
from vllm_launch.commandline import Invocation, parse
from vllm_launch.lint import CODES
from vllm_launch.render.findings import codes_text

ROOT = Path(__file__).parents[2]
ERROR = recipe('  base_args: ["--frobnicate"]\n')
WARNING = recipe('  base_env: {VLLM_FROBNICATE: "1"}\n')
MENDABLE = recipe('  base_args: ["--max-num-seqs 64"]\n')
CLEAN = recipe()

Everywhere = tuple[Path, list[dict[str, Any]]]
Run = Callable[..., subprocess.CompletedProcess[str]]


def lint(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher as somebody with a home of their own."""
    return subprocess.run(
        [sys.executable, "-m", "vllm_launch", *words],
        capture_output=True, text=True, cwd=home, check=False,
        env={"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return functools.partial(lint, tmp_path)


def test_one_file_as_text(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(ERROR)
    done = run("recipes", "lint", str(path))
    assert done.stdout == (
        f"{path}:4:15: error LINT_UNKNOWN\n"
        "    the flag --frobnicate is unknown: no release from 0.24.0 to 0.33.0 has it\n"
        "    Correct it, or take it away.\n"
        "    at model.base_args[0]\n"
        "1 error, 0 warnings, 0 notes in 1 file, 50 combinations\n"
    )
    assert (done.returncode, done.stderr) == (4, "")


@pytest.mark.parametrize(
    ("text", "words", "status"),
    [
        (CLEAN, (), 0),
        (CLEAN, ("--strict",), 0),
        (WARNING, (), 0),
        (WARNING, ("--strict",), 4),
        (ERROR, (), 4),
        ("model: [", (), 4),
    ],
    ids=["clean", "clean, strict", "warning", "warning, strict", "error", "no YAML"],
)
def test_exit_status(
    run: Run, recipe_file: Callable[[str], Path], text: str, words: tuple[str, ...], status: int
) -> None:
    assert run("recipes", "lint", str(recipe_file(text)), *words).returncode == status


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere",), "nowhere is not there"),
        (("nowhere.yaml",), "nowhere.yaml is not there"),
        ((".",), ". is no recipes directory: it has no models/ folder"),
        (("--dry-run",), "--dry-run goes with --fix"),
        (("--output", "xml"), "--output: found 'xml'; expected text, json, sarif"),
    ],
    ids=["no directory", "no file", "no recipes", "nothing to fix", "no such form"],
)
def test_usage(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run("recipes", "lint", *words)
    assert done.stderr.startswith(f"error: {told}\n")
    assert (done.returncode, done.stdout) == (2, "")


def test_json(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(MENDABLE)
    body = json.loads(run("recipes", "lint", str(path), "--output", "json").stdout)["lint"]
    assert (body["files"], body["combinations"]) == (1, 50)
    assert body["faults"] == [
        {
            "code": "LINT_ONE_ELEMENT",
            "severity": "error",
            "file": str(path),
            "line": 4,
            "column": 15,
            "path": "model.base_args[0]",
            "what": "'--max-num-seqs 64' is one element, and vLLM takes it for one flag",
            "remedy": "Make two elements of it, '--max-num-seqs' and '64'.",
            "combinations": None,
            "fixable": True,
        }
    ]


def sarif(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one run of a log that is as the standard has it."""
    log = json.loads(done.stdout)
    Draft202012Validator(SARIF, format_checker=FormatChecker()).validate(log)
    run: dict[str, Any] = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == list(CODES)
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    return run


def test_sarif(run: Run, recipe_file: Callable[[str], Path], tmp_path: Path) -> None:
    path = recipe_file(WARNING)
    log = sarif(run("recipes", "lint", str(path), "--output", "sarif"))
    [result] = log["results"]
    assert (result["level"], result["ruleId"]) == ("warning", "LINT_UNKNOWN")
    assert result["message"]["text"].startswith("the variable VLLM_FROBNICATE is unknown")
    [location] = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": f"file://{path}"},
        "region": {"startLine": 4, "startColumn": 14},
    }
    done = run("recipes", "lint", os.path.relpath(path, tmp_path), "--output", "sarif")
    [location] = sarif(done)["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {
        "uri": os.path.relpath(path, tmp_path), "uriBaseId": "%SRCROOT%",
    }  # fmt: skip


def test_sarif_of_everything_there_is_to_say(run: Run, recipe_file: Callable[[str], Path]) -> None:
    """Many kinds of faults, files without a line, and a directory that no address can hold."""
    root = recipe_file(CLEAN).parents[2]
    for number, (text, _) in enumerate(RECIPES.values()):
        (root / f"models/org/r{number}.yaml").write_text(text)
    (root / "models/org/broken.yaml").write_text("model: [")
    (root / "models/lost.yaml").write_text("")
    odd = root.parent / "odd \udcff \u00e9 %:#? \x1b"
    root.rename(odd)
    log = sarif(run("recipes", "lint", str(odd), "--output", "sarif"))
    assert {each["level"] for each in log["results"]} == {"error", "warning", "note"}
    assert len({each["ruleId"] for each in log["results"]}) > 15
    address = log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote_to_bytes(address.removeprefix("file://")).startswith(os.fsencode(odd))


def test_several_files_and_directories(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(CLEAN)
    (path.parent / "other.yaml").write_text(ERROR.replace("org/repo", "org/other"))
    done = run("recipes", "lint", str(path), str(path.parents[2]))
    assert done.stdout.splitlines()[-1] == (
        "1 error, 0 warnings, 0 notes in 3 files, 150 combinations"
    )


def test_a_directory_is_gone_through_past_what_cannot_be_read(
    run: Run, recipe_file: Callable[[str], Path]
) -> None:
    root = recipe_file(ERROR).parents[2]
    (root / "models" / "org" / "broken.yaml").write_text("model: [")
    (root / "strategies").mkdir()
    (root / "strategies" / "odd.yaml").write_text("name: odd\nvllm_args: [--frobnicate]\n")
    done = run("recipes", "lint", str(root))
    places = [line.split(": ")[0].removeprefix(f"{root}/") for line in done.stdout.splitlines()]
    told = [place for place in places if place.endswith(tuple("0123456789"))]
    assert told == [
        "models/org/broken.yaml:2:1",
        "models/org/repo.yaml:4:15",
        "strategies/odd.yaml:1:1",
        "strategies/odd.yaml:2:13",
    ]


def test_a_strategy_that_nothing_knows_how_to_run(
    run: Run, recipe_file: Callable[[str], Path]
) -> None:
    root = recipe_file(
        recipe(tail="variants: {default: {}}\ncompatible_strategies: [single_node_xp]\n")
    ).parents[2]
    taxonomy = (ROOT / "recipes" / "taxonomy.yaml").read_text()
    (root / "taxonomy.yaml").write_text(
        taxonomy.replace("strategies:\n", "strategies:\n  - single_node_xp\n", 1)
    )
    (root / "strategies").mkdir()
    (root / "strategies" / "single_node_xp.yaml").write_text(
        "name: single_node_xp\ndeploy_type: single_node\n"
    )
    done = run("recipes", "lint", str(root), "--output", "json")
    (fault,) = [
        each
        for each in json.loads(done.stdout)["lint"]["faults"]
        if each["code"] == "LINT_UNRESOLVED"
    ]
    assert fault["what"] == (
        "a combination that is offered does not resolve: the strategy 'single_node_xp' has no "
        "known parallelism flags"
    )
    assert fault["combinations"] > 10


def test_fix_changes_the_file_and_prints_how(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(MENDABLE)
    path.chmod(0o640)
    done = run("recipes", "lint", "--fix", str(path))
    assert done.stdout == (
        f"--- {path}\n+++ {path} (mended)\n@@ -1,7 +1,7 @@\n"
        ' model:\n   model_id: org/repo\n   min_vllm_version: "0.24.0"\n'
        '-  base_args: ["--max-num-seqs 64"]\n'
        '+  base_args: ["--max-num-seqs", "64"]\n'
        " variants:\n   default: {precision: bf16}\n compatible_strategies: [single_node_tp]\n"
        "0 errors, 0 warnings, 0 notes in 1 file, 50 combinations\n"
    )
    assert done.returncode == 0
    assert path.read_text() == MENDABLE.replace('"--max-num-seqs 64"', '"--max-num-seqs", "64"')
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in path.parent.iterdir()] == ["repo.yaml"]


def test_fix_leaves_links_and_read_only_files_alone(
    run: Run, recipe_file: Callable[[str], Path], tmp_path: Path
) -> None:
    path = recipe_file(MENDABLE)
    elsewhere = tmp_path / "elsewhere.yaml"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    done = run("recipes", "lint", "--fix", str(path.parents[2]))
    assert done.stderr == f"{path}: a link is not mended; name {elsewhere}, if that is yours\n"
    path.unlink()
    elsewhere.rename(path)
    path.chmod(0o444)
    done = run("recipes", "lint", "--fix", str(path))
    assert done.stderr == f"{path}: it is read-only, and not mended\n"
    assert path.read_text() == MENDABLE
    assert done.returncode == 4


def test_a_dry_run_of_fix_changes_nothing(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(MENDABLE)
    done = run("recipes", "lint", "--fix", "--dry-run", str(path))
    assert '+  base_args: ["--max-num-seqs", "64"]\n' in done.stdout
    assert done.returncode == 4
    assert path.read_text() == MENDABLE


@pytest.mark.parametrize(
    ("term", "shown"),
    [("xterm", "\r\x1b[K1/1 repo.yaml\r\x1b[K"), ("dumb", ""), ("", "")],
    ids=["a terminal", "a dumb one", "one of no kind"],
)
def test_how_far_a_run_is_stands_on_a_terminal_that_takes_it_away(
    recipe_file: Callable[[str], Path], term: str, shown: str
) -> None:
    path = recipe_file(CLEAN)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "vllm_launch", "recipes", "lint", str(path)]
    environment = {"HOME": str(path.parent), "PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False,
        env={**environment, "TERM": term},
    )  # fmt: skip
    os.write(theirs, b"|")  # so that there is something to read
    said = ""
    while not said.endswith("|"):
        said += os.read(ours, 1000).decode()
    os.close(theirs)
    os.close(ours)
    assert said == f"{shown}|"
    assert done.stdout == "0 errors, 0 warnings, 0 notes in 1 file, 50 combinations\n"


def test_fix_mends_overlays_too(run: Run, recipe_file: Callable[[str], Path]) -> None:
    root = recipe_file(CLEAN).parents[2]
    overlay = root / "overlays" / "org" / "repo.yaml"
    overlay.parent.mkdir(parents=True)
    overlay.write_text('model:\n  base_args+: ["--max-num-seqs 64"]  # here\n')
    done = run("recipes", "lint", str(root), "--fix")
    assert done.returncode == 0, done.stdout
    assert overlay.read_text() == 'model:\n  base_args+: ["--max-num-seqs", "64"]  # here\n'


def test_nothing_that_a_terminal_obeys_is_printed(
    run: Run, recipe_file: Callable[[str], Path]
) -> None:
    path = recipe_file(recipe('  base_args: ["--frob\\e[31mnicate\\u202e"]\n'))
    done = run("recipes", "lint", str(path))
    assert "the flag --frob\\x1b[31mnicate\\u202e is unknown" in done.stdout
    assert done.stdout.replace("\n", "").isprintable()
    assert done.returncode == 4


def test_the_codes_are_listed(run: Run) -> None:
    done = run("recipes", "lint", "--list")
    assert done.stdout == codes_text(tuple(CODES.items()))
    assert done.returncode == 0


@pytest.mark.parametrize("paths", [(), ("a",), ("a", "b", "c")], ids=["none", "one", "several"])
def test_both_readers_take_any_number_of_paths(paths: tuple[str, ...]) -> None:
    words = ["recipes", "lint", *paths, "--strict"]
    read: list[Invocation] = []
    cli._read(cli._app(read.append), words)
    assert read == [parse(words)]
    assert tuple(path for path in (read[0].argument, *read[0].more) if path) == paths


def test_a_file_that_nothing_reads_is_told(run: Run, recipe_file: Callable[[str], Path]) -> None:
    path = recipe_file(CLEAN)
    models = path.parents[1]
    for name in (
        "at_the_top.yaml", "org/repo.json", "org/$(id).yaml", "org/a\x1b[2Jb.yml",
        "org/.hidden.yaml", "org/deep/er.yaml", "org/README.md",
    ):  # fmt: skip
        (models / name).parent.mkdir(exist_ok=True)
        (models / name).write_text(CLEAN)
    done = run("recipes", "lint", "--output", "json", str(models.parent))
    found = json.loads(done.stdout)["lint"]["faults"]
    assert {(one["code"], one["severity"], one["what"]) for one in found} == {
        ("LINT_IGNORED", "warning", "nothing reads this file")
    }
    assert sorted(os.path.relpath(one["file"], models) for one in found) == [
        "at_the_top.yaml", "org/$(id).yaml", "org/a\x1b[2Jb.yml", "org/deep/er.yaml",
        "org/repo.json",
    ]  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    told = run("recipes", "lint", str(models.parent)).stdout
    assert "org/a [2Jb.yml: warning LINT_IGNORED\n" in told
    assert run("recipes", "lint", str(path)).stdout.startswith("0 errors, 0 warnings")


OVERLAY = "model: {docker_image: null}\nfeatures: {spec: null}\n"


@pytest.fixture
def overlays(recipe_file: Callable[[str], Path]) -> Path:
    """The overlays of a recipes directory: over its own recipe, over a bundled one, over none."""
    root = recipe_file(CLEAN).parents[2] / "overlays"
    for name, text in {
        "org/repo.yaml": OVERLAY,
        "openai/gpt-oss-20b.yaml": 'model: {base_args+: ["--frobnicate"]}\n',
        "org/rpeo.yaml": OVERLAY,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_an_overlay_goes_by_the_path_that_was_given(
    run: Run, overlays: Path, tmp_path: Path
) -> None:
    path = os.path.relpath(overlays / "org/repo.yaml", tmp_path)
    assert run("recipes", "lint", path).stdout.startswith(f"{path}:1:9: warning LINT_FORMAT\n")


OWN = [
    "org/repo.yaml:1 there is no 'docker_image' here to take away",
    "org/repo.yaml:2 there is no 'spec' here to take away",
]
BUNDLED = ["openai/gpt-oss-20b.yaml:1 the flag --frobnicate is unknown: no release from 0.24.0"]
NONE = ["org/rpeo.yaml:None no recipe has this id"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("..", [*BUNDLED, *OWN, *NONE]),
        (".", [*BUNDLED, *OWN, *NONE]),
        ("org/repo.yaml", OWN),
        ("openai/gpt-oss-20b.yaml", BUNDLED),
    ],
    ids=["its recipes directory", "its directory", "itself", "one over a bundled recipe"],
)
def test_overlays_are_looked_at_with_what_they_go_over(
    run: Run, overlays: Path, path: str, expected: list[str]
) -> None:
    done = run("recipes", "lint", "--output", "json", os.path.normpath(overlays / path))
    found = [
        f"{Path(one['file']).relative_to(overlays)}:{one['line']} {one['what']}"
        for one in json.loads(done.stdout)["lint"]["faults"]
        if one["file"].startswith(str(overlays))
    ]
    assert [text.partition(" to 0.33.0")[0] for text in found] == expected


def test_an_overlay_over_nothing(run: Run, overlays: Path) -> None:
    path = overlays / "org/rpeo.yaml"
    done = run("recipes", "lint", str(path))
    assert done.stderr.startswith(
        f"error: {path} is an overlay, and no recipe has the id 'org/rpeo'\n"
    )
    assert (done.returncode, done.stdout) == (2, "")


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Everywhere:
    """The faults of all sources in use, among them a directory's overlay and the user's own."""
    home = tmp_path_factory.mktemp("home")
    own = home / ".config/vllm-launch/recipes/openai"
    files = {
        "recipes/models/org/repo.yaml": CLEAN,
        "recipes/overlays/org/repo.yaml": 'model:\n  base_args+: ["--frobnicate"]\n',
        f"{own}/gpt-oss-20b.yaml": "features: {nothing: null}\n",
        f"{own}/gpt-oss-20B.yaml": "{}\n",
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = lint(home, "--recipes-dir", "recipes", "recipes", "lint", "--output", "json")
    return home, json.loads(done.stdout)["lint"]["faults"]


def test_an_overlay_is_told_by_its_own_file(everywhere: Everywhere) -> None:
    _, faults = everywhere
    errors = [(each["file"], each["line"]) for each in faults if each["severity"] == "error"]
    assert errors == [("recipes/overlays/org/repo.yaml", 2)]


def test_the_users_own_overlays_are_looked_at_with_and_without_a_path(
    everywhere: Everywhere,
) -> None:
    home, faults = everywhere
    own = str(home / ".config/vllm-launch/recipes")
    alone = json.loads(lint(home, "recipes", "lint", "--output", "json", own).stdout)
    for found in (faults, alone["lint"]["faults"]):
        assert [
            (Path(one["file"]).name, one["severity"], one["what"])
            for one in found
            if one["file"].startswith(own)
        ] == [
            ("gpt-oss-20B.yaml", "warning", "no recipe has this id"),
            ("gpt-oss-20b.yaml", "warning", "there is no 'nothing' here to take away"),
        ]
