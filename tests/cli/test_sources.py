"""Sources and overlays as an operator meets them: told in notes, explained, never in the way."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.launcher import B300, FLASH, M3, Operator
from vllm_launch import __version__

DRY = (*B300, "--dry-run")
URL = "https://h.example/recipes"
BUNDLED = Path(__file__).parents[2] / "recipes" / "models" / f"{FLASH}.yaml"


def digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@pytest.fixture
def overlay(operator: Operator) -> Path:
    path = operator.home / ".config/vllm-launch/recipes" / f"{FLASH}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("model:\n  base_args+: [--max-num-seqs, 64]\n  base_env: {PATH: /evil}\n")
    return path


@pytest.fixture
def copied(operator: Operator) -> Path:
    """A directory of the operator's with a recipe that is bundled too."""
    path = operator.home / "recipes" / "models" / f"{FLASH}.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(BUNDLED.read_bytes())
    return operator.home / "recipes"


def test_a_flag_is_overridden_without_a_copy(operator: Operator, overlay: Path) -> None:
    ran = operator.run(*DRY)
    assert "--max-num-seqs 64" in ran.out
    assert f"# note: the overlay {overlay} changes the recipe\n" in ran.err
    assert "# note: the recipe sets PATH=/evil, which decides what code runs\n" in ran.err


def test_explain_names_the_overlays_file_and_line(operator: Operator, overlay: Path) -> None:
    ran = operator.run("explain", FLASH, "--hardware", "b300")
    assert f"from {overlay}:2\n" in ran.out.replace("  model.base_args", "")
    ran = operator.run("explain", FLASH, "--hardware", "b300", "--output", "json")
    [process] = ran.json["deployment"]["processes"]
    listed = {a["argument"][0]: a for a in process["provenance"]["arguments"]}
    assert (listed["--max-num-seqs"]["file"], listed["--max-num-seqs"]["line"]) == (str(overlay), 2)
    assert listed["--block-size"]["file"] == f"recipes/models/{FLASH}.yaml"


def test_the_operator_beats_the_overlay(operator: Operator, overlay: Path) -> None:
    ran = operator.run(*DRY, "--", "--max-num-seqs", "8")
    assert "--max-num-seqs 8" in ran.out
    assert "--max-num-seqs 64" not in ran.out


def test_a_broken_overlay_stops_the_launch_and_says_where(
    operator: Operator, overlay: Path
) -> None:
    overlay.write_text("model:\n  base_args+: --x\n")
    ran = operator.run(*DRY)
    assert ran.status == 2
    assert ran.error == (
        f"error: recipes/models/{FLASH}.yaml with {overlay} cannot be used: 1 error\n"
        f"  {overlay}:2:15: model.base_args: 'base_args+' appends to a list, and this is none\n"
    )


def test_the_source_is_explained(operator: Operator, overlay: Path, copied: Path) -> None:
    words = ("--recipes-dir", str(copied), "explain", FLASH, "--hardware", "b300")
    recipe = copied / "models" / f"{FLASH}.yaml"
    assert operator.run(*words).out.startswith(
        f"{FLASH}\n\nRecipe\n"
        f"  source    {copied}\n"
        f"  digest    {digest(recipe)}\n"
        f"  overlay   {overlay}\n"
        f"            {digest(overlay)}\n"
        "  hides     bundled\n\nChoices\n"
    )
    assert operator.run(*words, "--output", "json").json["deployment"]["origin"] == {
        "source": str(copied),
        "revision": None,
        "digest": digest(recipe),
        "overlays": [{"file": str(overlay), "digest": digest(overlay)}],
        "hides": ["bundled"],
    }


def test_the_bundled_recipes_have_the_launchers_version(operator: Operator) -> None:
    text = operator.run("recipes", "show", FLASH).out
    assert (
        f"source:       bundled\nrevision:     {__version__}\ndigest:       {digest(BUNDLED)}\n"
    ) in text
    shown = operator.run("recipes", "show", FLASH, "--output", "json").json["recipe"]
    assert shown["origin"] == {
        "source": "bundled",
        "revision": __version__,
        "digest": digest(BUNDLED),
        "overlays": [],
        "hides": [],
    }


def test_what_is_hidden_is_noted_and_nothing_else_changes(operator: Operator, copied: Path) -> None:
    bare, ran = operator.run(*DRY), operator.run("--recipes-dir", str(copied), *DRY)
    assert ran.out == bare.out
    assert f"# note: the recipe is from {copied}, and hides that of bundled\n" in ran.err
    assert "hides" not in bare.err


@pytest.mark.parametrize("place", ["line", "variable", "settings"])
@pytest.mark.parametrize("option", ["recipes-dir", "sources"])
def test_a_source_that_was_not_synced_says_what_to_type(
    operator: Operator, place: str, option: str
) -> None:
    words = (f"--{option}", URL) if place == "line" else ()
    variable = f"VLLM_LAUNCH_{option.upper().replace('-', '_')}"
    if place == "settings":
        operator.configure(f"{option}: [{URL}]\n")
    ran = operator.run(*words, *DRY, env={variable: URL} if place == "variable" else {})
    assert ran.status == 2
    assert ran.error == f"error: {URL} has not been synced\n  vllm-launch recipes sync {URL}\n"


def test_a_synced_source_is_served_without_a_network(operator: Operator, tmp_path: Path) -> None:
    copy = tmp_path / "cache/vllm-launch/sources/h.example-recipes"
    recipe = copy / "abc/models" / f"{FLASH}.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_bytes(BUNDLED.read_bytes())
    (copy / "current").write_text(f"revision: abc\nurl: {URL}\n")
    operator.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    operator.configure(f"sources: [{URL}]\n")
    ran = operator.run(*DRY)
    assert ran.out == operator.run(*DRY, env={"XDG_CONFIG_HOME": str(tmp_path)}).out
    assert f"# note: the recipe is from {URL}, and hides that of bundled\n" in ran.err
    shown = operator.run("recipes", "show", FLASH, "--output", "json").json["recipe"]
    assert (shown["origin"]["source"], shown["origin"]["revision"]) == (URL, "abc")


def test_a_published_file_is_a_source(operator: Operator) -> None:
    path = operator.home / "one.json"
    path.write_text(
        '{"hf_id": "a/b", "model": {"model_id": "a/b"}, "variants": {"default": {}}, '
        '"recommended_command": {"strategy": "single_node_tp"}}'
    )
    ran = operator.run("--recipes-dir", "~/one.json", "serve", "A/B", "--hardware", "h200",
                       "--dry-run")  # fmt: skip
    assert ran.out == "vllm serve a/b \\\n  --tensor-parallel-size 8\n"


def test_completion_has_the_recipes_of_every_source(operator: Operator, copied: Path) -> None:
    ran = operator.run("--recipes-dir", str(copied), "recipes", "list", "--output", "json")
    ids = [recipe["id"] for recipe in ran.json["recipes"]]
    assert ids.count(FLASH) == 1
    assert M3 in ids
