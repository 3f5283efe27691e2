"""How a model's name finds its recipe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Opened, Write
from vllm_launch.catalog import library as libraries
from vllm_launch.catalog.shelf import Found, Shelf
from vllm_launch.errors import RecipeError, UsageError

M3 = "MiniMaxAI/MiniMax-M3"
VARIANTS = """\
model: {model_id: Org/Served}
variants:
  default: {}
  fp8: {model_id: Other/Served-FP8}
"""


def recipe(model_id: str) -> str:
    return f"model: {{model_id: {model_id}}}\nvariants: {{default: {{}}}}\n"


def checkpoint(path: Path) -> str:
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    return str(path)


def summary(found: Found) -> tuple[str, str | None, str | None]:
    return found.recipe.id, found.variant, found.model_path


@pytest.fixture
def shelf(write: Write) -> Shelf:
    """A shelf with a foreign directory before the bundled one."""
    directory = write(
        {
            "models/Org/Small.yaml": recipe("Org/Small"),
            "models/Org/Repo.yaml": VARIANTS,
            "models/Org/Broken.yaml": "model: [",
            "models/Org/Published.json": texts.published().replace('"org/repo', '"Org/Published'),
        }
    )
    return Shelf([str(directory)])


IDS = {
    "as it is": (M3, M3),
    "in small letters": (M3.lower(), M3),
    "in capitals": (M3.upper(), M3),
    "foreign": ("Org/Small", "Org/Small"),
    "foreign, in small letters": ("org/small", "Org/Small"),
    "published": ("org/published", "Org/Published"),
}


@pytest.mark.parametrize(("model", "recipe_id"), IDS.values(), ids=IDS)
def test_by_id_whatever_the_case(shelf: Shelf, model: str, recipe_id: str) -> None:
    assert summary(shelf.find(model)) == (recipe_id, None, None)


CHECKPOINTS = {
    "the model's": ("Org/Served", "Org/Repo", None),
    "in small letters": ("org/served", "Org/Repo", None),
    "a variant's": ("Other/Served-FP8", "Org/Repo", "fp8"),
    "a variant's, in small letters": ("other/served-fp8", "Org/Repo", "fp8"),
    "a bundled variant's": ("nvidia/MiniMax-M3-NVFP4", M3, "nvfp4"),
    "a published variant's": ("Org/Published-FP8", "Org/Published", "fp8"),
}


@pytest.mark.parametrize(("model", "recipe_id", "variant"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_by_the_checkpoint_that_it_serves(
    shelf: Shelf, model: str, recipe_id: str, variant: str | None
) -> None:
    assert summary(shelf.find(model)) == (recipe_id, variant, None)


def test_a_part_of_a_checkpoints_name_is_none(shelf: Shelf) -> None:
    for model in ("Org/Serve", "Served", "Other/Served-FP", "Served-FP8"):
        with pytest.raises(UsageError):
            shelf.find(model)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("MiniMaxAI/MiniMax-M4", "did you mean MiniMaxAI/MiniMax-M3"),
        ("minimax-m3", "did you mean MiniMaxAI/MiniMax-M3"),
        ("org/smal", "did you mean Org/Small or "),
        ("xyzzy", "see vllm-launch recipes list, or give --recipes-dir"),
        ("\udcff/x", "see vllm-launch recipes list, or give --recipes-dir"),
        ("\ud800/y", "see vllm-launch recipes list, or give --recipes-dir"),
        ("a\0b", "see vllm-launch recipes list, or give --recipes-dir"),
        ("x" * 100_000, "see vllm-launch recipes list, or give --recipes-dir"),
    ],
    ids=lambda value: ascii(value)[:30],
)  # fmt: skip
def test_what_is_not_there_has_something_near(shelf: Shelf, model: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        shelf.find(model)
    assert str(caught.value) == f"there is no recipe for {model!r}"
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "model", ["../x", "Org/../Org/Small", "Org/./Small", "/Org/Small", "Org//Small", ".Org/Small"]
)
def test_an_id_that_leads_elsewhere_is_none(
    shelf: Shelf, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shelf.libraries[0].directory)
    with pytest.raises(UsageError, match=r"there is no (recipe for|file or directory) "):
        shelf.find(model)


@pytest.mark.parametrize("model", [M3, M3.lower(), "Org/Small", "org/small"])
def test_an_id_opens_its_own_recipe_alone(shelf: Shelf, opened: Opened, model: str) -> None:
    found = shelf.find(model)
    here, bundled = found.library.directory, shelf.bundled.directory
    assert opened == [f"{here}/models/{found.recipe.id}.yaml", f"{bundled}/taxonomy.yaml"]


def test_a_checkpoint_parses_only_files_that_mention_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    real = libraries.read_past

    def read_past(path: str, shown: str) -> object:
        parsed.append(os.path.basename(path))
        return real(path, shown)

    monkeypatch.setattr(libraries, "read_past", read_past)
    shelf.find("Other/Served-FP8")
    assert parsed == ["Repo.yaml", "taxonomy.yaml"]


def test_a_broken_recipe_is_an_error_when_it_is_asked_for_and_not_before(shelf: Shelf) -> None:
    for model in ("Org/Broken", "org/broken"):
        with pytest.raises(RecipeError) as caught:
            shelf.find(model)
        assert "Broken.yaml cannot be used: 1 error" in str(caught.value)
    assert shelf.find("org/small").recipe.id == "Org/Small"
    assert shelf.find("org/served").recipe.id == "Org/Repo"
    assert shelf.find("minimaxai/minimax-m3").recipe.id == M3


def test_a_broken_recipe_beside_hides_no_checkpoint(write: Write) -> None:
    directory = write(
        {
            "models/a/broken.yaml": recipe("Org/Served") + "x: [",
            "models/b/fault.yaml": recipe("Org/Served") + "default_strategy: 5",
            "models/c/good.yaml": recipe("Org/Served"),
        }
    )
    assert Shelf([str(directory)]).find("org/served").recipe.id == "c/good"


def test_the_nearest_directory_wins(tmp_path: Path) -> None:
    for name in ("near", "far"):
        path = tmp_path / name / "models" / "MiniMaxAI"
        path.mkdir(parents=True)
        (path / "MiniMax-M3.yaml").write_text(recipe(f"{name}/one"))
    (tmp_path / "far" / "models" / "MiniMaxAI" / "Only.yaml").write_text(recipe("far/two"))
    near, far = str(tmp_path / "near"), str(tmp_path / "far")
    assert Shelf([near, far]).find(M3).recipe.model.model_id == "near/one"
    assert Shelf([near, far]).find(M3.lower()).recipe.model.model_id == "near/one"
    assert Shelf([far, near]).find(M3).recipe.model.model_id == "far/one"
    assert Shelf([near, far]).find("minimaxai/only").recipe.model.model_id == "far/two"
    with pytest.raises(UsageError):  # a hidden recipe is found by no other name either
        Shelf([near, far]).find("far/one")
    shelf = Shelf([near, far])
    ids = [(recipe_id, library.directory) for recipe_id, library in shelf.ids()]
    assert ids[:2] == [(M3, near), ("MiniMaxAI/Only", far)]
    assert [recipe_id for recipe_id, _ in ids].count(M3) == 1


def test_the_bundled_recipes_come_last(shelf: Shelf) -> None:
    assert [library.own for library in shelf.libraries] == [False, True]
    assert [library.own for library in Shelf().libraries] == [True]


def test_a_directory_that_is_none_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no recipes directory"):
        Shelf([str(tmp_path)])


def test_by_the_path_of_a_recipe_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{recipe('org/mine')}guid: x\n")
    found = Shelf().find(str(path))
    assert summary(found) == ("org/mine", None, None)
    assert not found.library.own
    assert found.recipe.where.file == str(path)
    assert "h200" in found.library.taxonomy.hardware_profiles
    assert [warning.path for warning in found.library.warnings] == ["guid"]


@pytest.mark.parametrize("name", ["x.yaml", "x.yml", "x.json"])
def test_a_relative_path_is_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_text('{"model": {"model_id": "org/mine"}, "variants": {"default": {}}}')
    monkeypatch.chdir(tmp_path)
    assert Shelf().find(name).recipe.id == "org/mine"


def test_a_recipe_file_goes_by_the_words_of_its_own_directory(write: Write) -> None:
    taxonomy = "hardware_profiles: {own: {brand: Own, generation: g, gpu_count: 1, vram_gb: 9}}\n"
    directory = write({"taxonomy.yaml": taxonomy, "models/a/b.yaml": recipe("a/b")})
    found = Shelf().find(str(directory / "models/a/b.yaml"))
    assert list(found.library.taxonomy.hardware_profiles) == ["own"]


def test_a_file_of_a_known_directory_is_of_that_one(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the way to it is written."""
    for library, name in zip(
        shelf.libraries, ("models/Org/Small.yaml", f"models/{M3}.yaml"), strict=True
    ):
        assert shelf.find(os.path.join(library.directory, name)).library is library
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(library.directory)
        assert shelf.find(str(tmp_path / "link" / name)).library is library
        monkeypatch.chdir(library.directory)
        assert shelf.find(os.path.join("models", "..", name)).library is library


def test_a_broken_recipe_file_is_told_by_the_path_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 1\na: 2\n")
    with pytest.raises(RecipeError) as caught:
        Shelf().find(str(tmp_path / "x.yaml"))
    assert [str(problem).partition(": ")[0] for problem in caught.value.problems] == [
        f"{tmp_path / 'x.yaml'}:{place}" for place in ("1:1", "1:1", "1:1", "2:1")
    ]


@pytest.mark.parametrize("name", ["no.yaml", "x.txt", "directory.yaml"])
def test_what_only_looks_like_a_recipe_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "x.txt").write_text(texts.SMALL)
    (tmp_path / "directory.yaml").mkdir()
    os.mkfifo(tmp_path / "fifo.yaml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        Shelf().find(name)


LOCAL = {
    "as the repository": ("MiniMax-M3", M3, None),
    "in small letters": ("minimax-m3", M3, None),
    "under its owner": ("MiniMaxAI/MiniMax-M3", M3, None),
    "as a variant": ("MiniMax-M3-NVFP4", M3, "nvfp4"),
    "in the hub's cache": ("models--MiniMaxAI--MiniMax-M3/snapshots/0123abcd", M3, None),
    "a variant in the hub's cache": (
        "hub/models--nvidia--MiniMax-M3-NVFP4/snapshots/0123abcd",
        M3,
        "nvfp4",
    ),
    "foreign": ("Small", "Org/Small", None),
    "a foreign variant": ("Served-FP8", "Org/Repo", "fp8"),
}


@pytest.mark.parametrize(("name", "recipe_id", "variant"), LOCAL.values(), ids=LOCAL)
def test_by_a_local_checkpoint(
    shelf: Shelf, tmp_path: Path, name: str, recipe_id: str, variant: str | None
) -> None:
    path = checkpoint(tmp_path / "weights" / name)
    assert summary(shelf.find(path)) == (recipe_id, variant, path)


def test_a_local_checkpoint_is_known_by_its_whole_path(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkpoint(tmp_path / "MiniMax-M3")
    monkeypatch.chdir(tmp_path)
    for written in ("MiniMax-M3", "./MiniMax-M3/", "../" + tmp_path.name + "/MiniMax-M3"):
        assert shelf.find(written).model_path == path
    monkeypatch.chdir(path)
    assert shelf.find(".").model_path == path


def test_a_hub_cache_whose_files_are_links(shelf: Shelf, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_text("{}")
    snapshot = tmp_path / "models--MiniMaxAI--MiniMax-M3" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to(blob)
    assert shelf.find(str(snapshot)).recipe.id == M3


def test_a_recipe_goes_before_a_directory_of_the_same_name(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(tmp_path / M3)
    monkeypatch.chdir(tmp_path)
    assert shelf.find(M3).model_path is None
    assert shelf.find(f"./{M3}").model_path == str(tmp_path / M3)


def test_a_directory_without_a_config_is_no_checkpoint(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "MiniMax-M3" / "config.json").mkdir(parents=True)
    with pytest.raises(UsageError) as caught:
        shelf.find(str(tmp_path / "MiniMax-M3"))
    assert str(caught.value) == (
        f"{tmp_path / 'MiniMax-M3'} is no checkpoint: it has no config.json"
    )
    assert caught.value.hint == "name the directory that holds config.json and the weights"


@pytest.mark.parametrize("name", ["xyzzy", "models--org--xyzzy/snapshots/1"])
def test_a_checkpoint_that_no_recipe_is_named_like(shelf: Shelf, tmp_path: Path, name: str) -> None:
    path = checkpoint(tmp_path / name)
    with pytest.raises(UsageError) as caught:
        shelf.find(path)
    assert str(caught.value) == f"no recipe is named like the checkpoint {path}"
    assert "…/MiniMaxAI/MiniMax-M3" in caught.value.hint


def test_a_found_recipe_is_read_once(shelf: Shelf, opened: Opened) -> None:
    assert shelf.find(M3).recipe is shelf.find(M3.lower()).recipe
    assert len([path for path in opened if path.endswith("MiniMax-M3.yaml")]) == 1
