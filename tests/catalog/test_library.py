"""A recipes directory: what is in it, what is opened of it, and what it borrows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Opened, Write
from vllm_launch.catalog import library as libraries
from vllm_launch.catalog.library import Library
from vllm_launch.errors import RecipeError, UsageError

TAXONOMY = """\
hardware_profiles:
  h200: {brand: NVIDIA, generation: hopper, gpu_count: 8, vram_gb: 1128}
  own: {brand: Own, generation: first, gpu_count: 2, vram_gb: 100}
strategies: [single_node_tp, own_layout]
"""
STRATEGY = "name: single_node_tp\ndeploy_type: single_node\ndisplay_name: Own\n"
STORE = "name: own_store\n"


def foreign(directory: Path) -> Library:
    return libraries.foreign(str(directory))


def test_the_bundled_recipes_are_those_of_the_checkout() -> None:
    library = libraries.bundled()
    root = Path(__file__).parents[2]
    assert library.directory == str(root / "recipes")
    assert library.own
    assert library.fallback is None
    assert "MiniMaxAI/MiniMax-M3" in list(library.recipe_ids())


def test_an_installation_without_its_recipes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "__file__", str(tmp_path / "vllm_launch/catalog/library.py"))
    with pytest.raises(RecipeError, match="the bundled recipes are missing beside ") as caught:
        libraries.bundled()
    assert caught.value.hint == "reinstall vllm-launch"


def test_an_installed_package_has_its_recipes_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("vllm_launch/recipes", "recipes"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "taxonomy.yaml").write_text(TAXONOMY)
    monkeypatch.setattr(libraries, "__file__", str(tmp_path / "vllm_launch/catalog/library.py"))
    assert libraries.bundled().directory == str(tmp_path / "vllm_launch" / "recipes")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path, "it is not there"),
        (Path.touch, "it is a file"),
        (Path.mkdir, "it has no models/ folder"),
    ],
    ids=["nothing", "a file", "an empty one"],
)
def test_what_is_no_recipes_directory(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(tmp_path / "x")
    with pytest.raises(UsageError) as caught:
        libraries.foreign(str(tmp_path / "x"))
    assert str(caught.value) == f"{tmp_path / 'x'} is no recipes directory: {why}"
    assert caught.value.hint == "name the folder that holds taxonomy.yaml, strategies/ and models/"


BAD_IDS = [
    "", "/", "a", "a/", "/a", "a/b/c", "../x", "a/..", "a/../b", "../../etc/passwd", "./x",
    "a/.", ".a/b", "a/.b", ".git/config", "/etc/passwd", "a//b", "org/repo\0", "org\0/repo",
    "org/repo\n", "\x1b[2J/x", "-x/y", "a/-y", "\udcff/x", "\ud800/x", "a\\..\\b", "x" * 5000,
    "a/" + "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("recipe_id", BAD_IDS, ids=ascii)
def test_an_id_that_leads_elsewhere_has_no_file(
    write: Write, opened: Opened, recipe_id: str
) -> None:
    outside = write({"models/org/repo.yaml": texts.SMALL}).parent
    (outside / "x.yaml").write_text(texts.SMALL)
    (outside / "recipes" / "models" / "x.yaml").write_text(texts.SMALL)
    library = foreign(outside / "recipes")
    assert library.path_of(recipe_id) is None
    with pytest.raises(UsageError) as caught:
        library.recipe(recipe_id)
    assert str(caught.value) == f"no recipe {recipe_id!r} in {library.directory}"
    assert opened == []


@pytest.mark.parametrize("name", ["../taxonomy", "..", ".x", "", "a/b", "/etc/passwd", "x\0", "-x"])
@pytest.mark.parametrize("kind", ["strategy", "kv_store"])
def test_a_name_that_leads_elsewhere_has_no_file_either(
    bundled: Library, opened: Opened, kind: str, name: str
) -> None:
    folder = {"strategy": "strategies", "kv_store": "kv_store"}[kind]
    with pytest.raises(UsageError) as caught:
        getattr(bundled, kind)(name)
    assert str(caught.value) == f"{name!r} is no name of a file in {folder}/"
    assert opened == []


@pytest.mark.parametrize(
    ("kind", "name", "file", "near"),
    [
        ("strategy", "single_node_pt", "strategies/single_node_pt.yaml", "single_node_tp"),
        ("kv_store", "kv_store_mooncake", "kv_store/kv_store_mooncake.yaml", "kv_store_"),
        ("strategy", "xyzzy", "strategies/xyzzy.yaml", ""),
    ],
)
def test_a_file_that_is_missing_has_a_near_one(
    bundled: Library, kind: str, name: str, file: str, near: str
) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(bundled, kind)(name)
    assert str(caught.value) == f"there is no {file} in {bundled.directory}"
    suggestion, _, names = caught.value.hint.rpartition("there are: ")
    assert names
    assert suggestion.startswith(f"did you mean '{near}") if near else not suggestion


def test_only_the_recipe_that_is_asked_for_is_opened(opened: Opened) -> None:
    library = libraries.bundled()
    list(library.recipe_ids())
    assert opened == []
    library.recipe("MiniMaxAI/MiniMax-M3")
    here = library.directory
    assert opened == [f"{here}/models/MiniMaxAI/MiniMax-M3.yaml", f"{here}/taxonomy.yaml"]
    library.recipe("MiniMaxAI/MiniMax-M3")
    assert len(opened) == 2
    library.strategy("pd_cluster")
    library.strategy("pd_cluster")
    assert opened[2:] == [f"{here}/strategies/pd_cluster.yaml"]
    library.kv_stores()
    library.kv_store("kv_store_centralized_mooncake")
    assert opened[3:] == [f"{here}/kv_store/kv_store_centralized_mooncake.yaml"]


def test_a_broken_recipe_stops_no_other(write: Write) -> None:
    directory = write(
        {
            "models/a/broken.yaml": "a: [",
            "models/a/bytes.yaml": b"\xff\xfe",
            "models/b/good.yaml": texts.SMALL,
            "models/c/empty.yaml": "",
            "models/c/json.json": "{",
        }
    )
    (directory / "models/c/directory.yaml").mkdir()
    os.mkfifo(directory / "models/c/fifo.yaml")
    library = foreign(directory)
    results = {}
    for recipe_id in library.recipe_ids():
        try:
            results[recipe_id] = library.recipe(recipe_id).model.model_id
        except (RecipeError, UsageError) as error:
            results[recipe_id] = type(error).__name__
    assert results == {
        "a/broken": "RecipeError",
        "a/bytes": "RecipeError",
        "b/good": "org/repo",
        "c/directory": "UsageError",
        "c/empty": "RecipeError",
        "c/fifo": "UsageError",
        "c/json": "RecipeError",
    }


def test_ids_are_in_order_and_each_is_there_once(write: Write) -> None:
    directory = write(
        {
            "models/b/y.yaml": "",
            "models/b/x.yml": "",
            "models/a/z.json": "",
            "models/a/z.yaml": "",
            "models/a/z.yml": "",
            "models/a/README.md": "",
            "models/a/.hidden.yaml": "",
            "models/.git/x.yaml": "",
            "models/a/-x.yaml": "",
            "models/a/\x1b[2J.yaml": "",
            "models/a/two\nlines.yaml": "",
            "models/loose.yaml": "",
        }
    )
    assert list(foreign(directory).recipe_ids()) == ["a/z", "b/x", "b/y"]


def test_names_that_are_no_text_are_passed_over(write: Write) -> None:
    directory = write({"models/a/x.yaml": ""})
    try:
        (directory / "models" / "\udcff").mkdir()
        (directory / "models" / "a" / "\udcff.yaml").touch()
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    assert list(foreign(directory).recipe_ids()) == ["a/x"]


@pytest.mark.parametrize(
    ("there", "read"),
    [
        ((".yaml", ".yml", ".json"), ".yaml"),
        ((".yml", ".json"), ".yml"),
        ((".json",), ".json"),
    ],
)
def test_of_several_files_for_a_recipe_the_first_counts(
    write: Write, there: tuple[str, ...], read: str
) -> None:
    library = foreign(write({f"models/a/b{suffix}": texts.SMALL for suffix in there}))
    path = library.path_of("a/b")
    assert path is not None
    assert path.endswith(f"b{read}")


def test_a_foreign_directory_borrows_what_it_lacks(write: Write, opened: Opened) -> None:
    library = foreign(write({"models/org/repo.yaml": texts.SMALL}))
    bundled = libraries.bundled()
    assert "mi355x" in library.taxonomy.hardware_profiles
    assert library.strategy("pd_cluster").deploy_type == "pd_cluster"
    assert library.kv_stores() == bundled.kv_stores()
    assert library.kv_store(bundled.kv_stores()[0]).name == bundled.kv_stores()[0]
    assert all(path.startswith(bundled.directory) for path in opened)


def test_what_it_has_comes_first(write: Write) -> None:
    library = foreign(
        write(
            {
                "taxonomy.yaml": TAXONOMY,
                "strategies/single_node_tp.yaml": STRATEGY,
                "kv_store/own_store.yaml": STORE,
                "kv_store/other.json": "{}",
            }
        )
    )
    assert list(library.taxonomy.hardware_profiles) == ["h200", "own"]
    assert library.strategy("single_node_tp").display_name == "Own"
    assert library.strategy("single_node_dep").name == "single_node_dep"
    assert library.kv_stores() == ("own_store", *library.fallback.kv_stores())
    assert library.kv_store("own_store").deploy_type == "kv_store_lb"


def test_its_recipes_go_by_its_own_words(write: Write) -> None:
    library = foreign(
        write(
            {
                "taxonomy.yaml": TAXONOMY,
                "models/a/b.yaml": f"{texts.SMALL}compatible_strategies: [own_layout]\n"
                "hardware_overrides: {first: {}, own: {}}\n",
                "models/a/c.yaml": f"{texts.SMALL}compatible_strategies: [pd_cluster]\n",
            }
        )
    )
    assert library.recipe("a/b").compatible_strategies == ("own_layout",)
    with pytest.raises(RecipeError) as caught:
        library.recipe("a/c")
    assert [problem.message for problem in caught.value.problems] == [
        "unknown strategy 'pd_cluster'"
    ]


@pytest.mark.parametrize(
    ("file", "text", "ask"),
    [
        ("taxonomy.yaml", "hardware_profiles: [x]\n", lambda library: library.taxonomy),
        ("taxonomy.yaml", "a: [", lambda library: library.recipe("org/repo")),
        ("strategies/pd_cluster.yaml", "name: x\n", lambda library: library.strategy("pd_cluster")),
        ("kv_store/s.yaml", "name: [s]\n", lambda library: library.kv_store("s")),
    ],
)
def test_what_it_has_and_is_broken_is_not_borrowed(
    write: Write, file: str, text: str, ask: Callable[[Library], object]
) -> None:
    directory = write({file: text, "models/org/repo.yaml": texts.SMALL})
    with pytest.raises(RecipeError) as caught:
        ask(foreign(directory))
    assert str(caught.value).startswith(f"{directory / file} cannot be used: ")


def test_an_unknown_key_is_an_error_in_ones_own_recipe_and_a_warning_in_others(
    write: Write, bundled: Library
) -> None:
    directory = write({"models/org/repo.yaml": f"{texts.SMALL}guid: x\n"})
    path = directory / "models/org/repo.yaml"
    with pytest.raises(RecipeError) as caught:
        Library(str(directory), own=True, fallback=bundled).recipe("org/repo")
    assert [str(problem) for problem in caught.value.problems] == [
        "recipes/models/org/repo.yaml:5:1: guid: unknown key 'guid' (did you mean 'guide'?)"
    ]
    library = foreign(directory)
    assert library.recipe("org/repo").guide == ""
    assert [str(warning) for warning in library.warnings] == [
        f"{path}:5:1: guid: unknown key 'guid' (did you mean 'guide'?)"
    ]


def test_a_file_elsewhere_is_named_by_its_path_and_ones_own_by_its_place(
    write: Write, bundled: Library
) -> None:
    directory = write({"models/org/repo.yaml": texts.SMALL})
    assert foreign(directory).recipe("org/repo").where.file == str(
        directory / "models/org/repo.yaml"
    )
    own = Library(str(directory), own=True, fallback=bundled)
    assert own.recipe("org/repo").where.file == "recipes/models/org/repo.yaml"


def test_every_argument_and_variable_knows_its_line(bundled: Library, write: Write) -> None:
    directory = write({"models/org/repo.yaml": texts.FULL})
    recipe = Library(str(directory), own=True, fallback=bundled).recipe("org/repo")
    lines = texts.FULL.splitlines()
    flag, tokens, source = recipe.variants["default"].hardware_overrides["h200"].extra_args[0]
    assert (flag, tokens) == ("--kv-cache-dtype", ("--kv-cache-dtype", "fp8"))
    assert source.layer == "variants.default.hardware_overrides.h200.extra_args"
    assert "--kv-cache-dtype" in lines[source.line - 1]
    name, value, source = recipe.strategy_overrides["pd_cluster"].env[0]
    assert (name, value) == ("P", "1")
    assert source.layer == "strategy_overrides.pd_cluster.env"
    assert "env: {P:" in lines[source.line - 1]
    size = recipe.variants["default"].tp
    assert size is not None
    assert size.where.layer == "variants.default.tp"
    assert "tp: {h200: 4" in lines[size.where.line - 1]
    flag, merged, source = recipe.presets["tuned"].points["c1"].json_args[0]
    assert (flag, merged) == ("--speculative-config", {"k": 1})
    assert "json_args: {--speculative-config: {k: 1}}" in lines[source.line - 1]


def test_a_records_id_is_its_key(bundled: Library, write: Write) -> None:
    directory = write({"models/org/repo.yaml": texts.FULL})
    recipe = Library(str(directory), own=True, fallback=bundled).recipe("org/repo")
    assert recipe.id == "org/repo"
    for block in (recipe.variants, recipe.features, recipe.presets):
        assert [record.id for record in block.values()] == list(block)  # type: ignore[attr-defined]
    assert [mode.id for mode in recipe.features["spec"].modes.values()] == ["eagle", "mtp"]
    assert [point.id for point in recipe.presets["tuned"].points.values()] == ["c1"]
