"""What an overlay makes of the recipe below it, and where each value then is from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.conftest import Write
from vllm_launch.catalog.overlays import merge, of_file
from vllm_launch.catalog.reading import Reading
from vllm_launch.catalog.shelf import Found, Shelf
from vllm_launch.catalog.tree import plain
from vllm_launch.errors import RecipeError
from vllm_launch.model.source import Source

RECIPE = """\
model:
  model_id: org/repo
  base_args: ["--block-size", 64, "--seed", 1]
  base_env: {A: "1", B: "2"}
variants:
  default: {vram_minimum_gb: 10}
  fp8: {vram_minimum_gb: 5}
features:
  reasoning: {args: ["--reasoning-parser", x]}
opt_in_features: [reasoning]
presets:
  tuned:
    hardware: h200
    strategy: single_node_tp
    json_args: {--speculative-config: {a: 1, b: 2}}
"""

Node: TypeAlias = tuple[str, int, int, Any, str]
Over = Callable[..., Found]


@pytest.fixture
def over(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Over:
    """Find org/repo with an overlay of the user's over it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def find(text: str | bytes, recipe: str = RECIPE) -> Found:
        directory = write({"models/org/repo.yaml": recipe})
        path = tmp_path / "config/vllm-launch/recipes/org/repo.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Shelf([str(directory)]).find("org/repo")

    return find


def words(arguments: tuple[tuple[str, tuple[str, ...], Source], ...]) -> list[str]:
    return [word for _, tokens, _ in arguments for word in tokens]


def place(source: Source) -> str:
    return f"{Path(source.file).parts[-4]}:{source.line}"  # "recipes" or "vllm-launch"


ARGUMENTS = {
    "a list replaces": ("base_args: [--a]", ["--a"]),
    "a list is appended to": (
        "base_args+: [--seed, 2]",
        ["--block-size", "64", "--seed", "1", "--seed", "2"],
    ),
    "null takes away": ("base_args: null", []),
    "nothing is appended": ("base_args+: []", ["--block-size", "64", "--seed", "1"]),
    "replaced, then appended to": ("base_args: [--a], base_args+: [--b]", ["--a", "--b"]),
    "taken away, then appended to": ("base_args: null, base_args+: [--b]", ["--b"]),
}


@pytest.mark.parametrize(("text", "expected"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_list(over: Over, text: str, expected: list[str]) -> None:
    assert words(over(f"model: {{{text}}}").recipe.model.base_args) == expected


def test_a_mapping_merges_and_a_scalar_replaces(over: Over) -> None:
    recipe = over(
        "model: {base_env: {B: '3', C: '4'}}\nvariants: {fp8: {vram_minimum_gb: 6}}\n"
    ).recipe
    assert [v[:2] for v in recipe.model.base_env] == [("A", "1"), ("B", "3"), ("C", "4")]
    assert recipe.variants["default"].vram_minimum_gb == 10
    assert recipe.variants["fp8"].vram_minimum_gb == 6


def test_what_was_not_there_is_added(over: Over) -> None:
    recipe = over(
        "variants: {own: {model_id: org/own, extra_args+: [--x]}}\nnotes: [{title: T, body: B}]\n"
    ).recipe
    assert list(recipe.variants) == ["default", "fp8", "own"]
    assert words(recipe.variants["own"].extra_args) == ["--x"]
    assert recipe.notes[0].title == "T"


def test_null_takes_a_whole_block_away(over: Over) -> None:
    recipe = over(
        "features: {reasoning: null}\nopt_in_features: null\nvariants: {fp8: null}"
    ).recipe
    assert recipe.features == {}
    assert recipe.opt_in_features == ()
    assert list(recipe.variants) == ["default"]


def test_data_merges_like_everything_else(over: Over) -> None:
    recipe = over(
        "presets: {tuned: {json_args: {--speculative-config: {a: null, b: 3, c: null}}}}"
    ).recipe
    [(flag, value, _)] = recipe.presets["tuned"].json_args
    assert (flag, value) == ("--speculative-config", {"b": 3, "c": None})


def test_each_value_is_from_the_file_that_says_it(over: Over) -> None:
    recipe = over(
        "# ours\nmodel:\n  base_args+:\n  - --seed\n  - 2\n  base_env:\n    B: '3'\n"
    ).recipe
    assert [place(a[2]) for a in recipe.model.base_args] == [
        "recipes:3", "recipes:3", "vllm-launch:4"
    ]  # fmt: skip
    assert [place(v[2]) for v in recipe.model.base_env] == ["recipes:4", "vllm-launch:7"]
    assert place(recipe.where) == "recipes:1"
    assert all(type(a[2].line) is int for a in recipe.model.base_args)


def test_the_nearest_overlay_wins_and_a_farther_one_has_no_say(
    over: Over, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("near", "middle", "far"):
        for path, text in {
            "overlays/org/repo.yaml": f"model: {{base_args+: [--{name}], base_env: {{N: {name}}}}}",
            "models/x/y.yaml": RECIPE,
        }.items():
            (tmp_path / name / path).parent.mkdir(parents=True)
            (tmp_path / name / path).write_text(text)
    (tmp_path / "middle/models/org").mkdir()
    (tmp_path / "middle/models/org/repo.yaml").write_text(RECIPE)
    found = Shelf([str(tmp_path / name) for name in ("near", "middle", "far")]).find("org/repo")
    assert words(found.recipe.model.base_args)[4:] == ["--middle", "--near"]
    assert found.recipe.model.base_env[-1][:2] == ("N", "near")
    assert found.overlays == tuple(
        str(tmp_path / name / "overlays/org/repo.yaml") for name in ("middle", "near")
    )


def test_an_overlay_changes_a_bundled_recipe_and_no_other(over: Over, tmp_path: Path) -> None:
    path = tmp_path / "config/vllm-launch/recipes/MiniMaxAI/MiniMax-M3.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("model: {base_args+: [--seed, 7]}")
    for name in ("MiniMaxAI/MiniMax-M3", "minimaxai/minimax-m3"):
        found = Shelf().find(name)
        assert words(found.recipe.model.base_args)[-2:] == ["--seed", "7"]
        assert found.overlays == (str(path),)
    assert Shelf().find("MiniMaxAI/MiniMax-M3.1-Flash").overlays == ()


def test_an_overlay_goes_over_the_published_json(over: Over, write: Write, tmp_path: Path) -> None:
    directory = write(
        {
            "models/org/other.json": '{"hf_id": "org/other", "model": {"model_id": "org/other"}, '
            '"variants": {"default": {}}, "recommended_command": {"strategy": "single_node_tp"}}'
        }
    )
    path = tmp_path / "config/vllm-launch/recipes/org/other.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("compatible_strategies+: [single_node_dep]")
    recipe = Shelf([str(directory)]).find("org/other").recipe
    assert recipe.compatible_strategies == ("single_node_tp", "single_node_dep")


def test_a_file_that_is_named_is_used_as_it_is(over: Over, tmp_path: Path) -> None:
    over("model: {base_args: [--a]}")
    found = Shelf().find(str(tmp_path / "recipes/models/org/repo.yaml"))
    assert words(found.recipe.model.base_args)[0] == "--block-size"
    assert found.overlays == ()


WRONG = {
    "no mapping": ("[a]", "overlay:1:1: an overlay must be a mapping with a recipe's keys"),
    "empty": ("", "overlay:1:1: the file is empty"),
    "no YAML": ("model: [", "overlay:2:1: not valid YAML: while parsing a flow node did not find"),
    "a key twice": ("guide: a\nguide: b", "overlay:2:1: duplicate key 'guide'"),
    "a wrong value": (
        "model:\n  context_length: many",
        "overlay:2:19: model.context_length: found the text 'many'",
    ),
    "a wrong item": (
        "model:\n  base_args+:\n  - 0.30",
        "overlay:3:5: model.base_args[4]: found a number (0.30)",
    ),
    "an unknown key": (
        "modle: {}",
        "overlay:1:1: modle: unknown key 'modle' (did you mean 'model'?)",
    ),
    "an unknown name": (
        "opt_in_features+: [thinking]",
        "overlay:1:20: opt_in_features[1]: unknown feature 'thinking'",
    ),
    "appended to what is no list": (
        "model:\n  model_id+: [a]",
        "overlay:2:14: model.model_id: 'model_id+' appends to a list, and what stands below is",
    ),
    "appending no list": (
        "model:\n  base_args+: --a",
        "overlay:2:15: model.base_args: 'base_args+' appends to a list, and this is none",
    ),
    "what is needed taken away": (
        "model: {model_id: null}",
        "recipe:2:3: model: the key 'model_id' is missing",
    ),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_the_file_that_says_it(
    over: Over, tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        over(text)
    files = {
        str(tmp_path / "config/vllm-launch/recipes/org/repo.yaml"): "overlay",
        str(tmp_path / "recipes/models/org/repo.yaml"): "recipe",
    }
    [problem] = [each for each in caught.value.problems if not each.warning]
    assert str(problem).replace(problem.file, files[problem.file]).startswith(told)


def test_an_error_names_both_files(over: Over, tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        over("model: {context_length: many}")
    overlay = tmp_path / "config/vllm-launch/recipes/org/repo.yaml"
    recipe = tmp_path / "recipes/models/org/repo.yaml"
    assert str(caught.value) == f"{recipe} with {overlay} cannot be used: 1 error"


def test_an_error_in_the_recipe_names_the_overlay_that_may_be_to_blame(
    over: Over, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError) as caught:
        over("model: null")
    overlay = tmp_path / "config/vllm-launch/recipes/org/repo.yaml"
    recipe = tmp_path / "recipes/models/org/repo.yaml"
    assert str(caught.value) == f"{recipe} with {overlay} cannot be used: 1 error"


LINKED = """\
model: {model_id: org/repo}
variants:
  default: {default_modes: {spec: b}}
  fp8: {}
features:
  tools: {args: [--a], excludes: [spec]}
  spec:
    default_mode: b
    modes: {a: {args: [--x]}, b: {args: [--y], variants: [fp8]}, c: {args: [--z]}}
opt_in_features: [spec, tools]
hardware_opt_in_features: {h200: [tools]}
compatible_strategies: [single_node_tp]
presets:
  both: {hardware: h200, strategy: single_node_tp, select: {features: {spec: b, tools: true}}}
  small: {hardware: h200, strategy: single_node_tp, variants: [fp8]}
notes:
- {title: spec, when: {feature: [spec], hardware: [h200]}, body: x}
- {title: either, when: {variant: [default, fp8]}, body: x}
- {title: small, when: {preset: [small]}, body: x}
- {title: all, body: x}
"""


def test_what_refers_to_a_feature_that_was_taken_away_goes_with_it(over: Over) -> None:
    recipe = over("features: {spec: null}", LINKED).recipe
    assert recipe.opt_in_features == ("tools",)
    assert recipe.features["tools"].excludes == ()
    assert recipe.variants["default"].default_modes == {}
    assert dict(recipe.presets["both"].select.features) == {"tools": True}
    assert [note.title for note in recipe.notes] == ["either", "small", "all"]


def test_what_refers_to_a_variant_that_was_taken_away_goes_with_it(over: Over) -> None:
    recipe = over("variants: {fp8: null}", LINKED).recipe
    assert list(recipe.presets) == ["both"]
    assert list(recipe.features["spec"].modes) == ["a", "c"]
    assert recipe.features["spec"].default_mode is None
    assert [note.title for note in recipe.notes] == ["spec", "either", "all"]
    assert recipe.notes[1].when.variant == ("default",)


def test_what_refers_to_a_mode_that_was_taken_away_goes_with_it(over: Over) -> None:
    recipe = over("features: {spec: {modes: {b: null}}}", LINKED).recipe
    assert recipe.features["spec"].default_mode is None
    assert recipe.variants["default"].default_modes == {}
    assert dict(recipe.presets["both"].select.features) == {"tools": True}


def test_what_refers_to_a_preset_that_was_taken_away_goes_with_it(over: Over) -> None:
    recipe = over("presets: {small: null}", LINKED).recipe
    assert [note.title for note in recipe.notes] == ["spec", "either", "all"]


def test_an_overlay_that_refers_to_what_it_takes_away_is_told(over: Over) -> None:
    with pytest.raises(RecipeError) as caught:
        over("features: {spec: null}\nopt_in_features: [spec]", LINKED)
    assert "unknown feature 'spec'" in str(caught.value.problems)


@pytest.mark.parametrize("kind", ["a directory", "a dangling link"])
def test_an_overlay_that_cannot_be_read_is_not_passed_over(
    over: Over, tmp_path: Path, kind: str
) -> None:
    over("{}")
    path = tmp_path / "config/vllm-launch/recipes/org/repo.yaml"
    path.unlink()
    path.mkdir() if kind == "a directory" else path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RecipeError, match="repo"):
        Shelf([str(tmp_path / "recipes")]).find("org/repo")


@pytest.mark.parametrize("text", ["{}", "{model: {}}", "{guide: null}"])
def test_an_overlay_that_says_nothing_changes_nothing(over: Over, text: str) -> None:
    from tests.catalog.texts import without_places

    with_it = over(text)
    bare = Shelf().find(with_it.path)
    assert without_places(with_it.recipe.replace(id="")) == without_places(
        bare.recipe.replace(id="")
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("features: {spce: null}", ["overlay:1:12: features.spce: there is no 'spce' here"]),
        ("# x\nnotes: null", ["overlay:2:1: notes: there is no 'notes' here"]),
        ("features: {reasoning: null}", []),
        ("presets: {tuned: {json_args: {--speculative-config: {zzz: null}}}}", []),
    ],
    ids=["a feature", "a key", "what is there", "a key of JSON, where null is a value"],
)
def test_what_takes_nothing_away_is_noted(
    over: Over, tmp_path: Path, text: str, told: list[str]
) -> None:
    path = tmp_path / "config/vllm-launch/recipes/org/repo.yaml"
    warnings = [str(each).replace(str(path), "overlay") for each in over(text).library.warnings]
    assert [each.partition(" to take away")[0] for each in warnings] == told


# The merge as a law: what it makes of plain data is what a few lines of plain Python make of it.

KEYS = st.sampled_from("abc")
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.sampled_from(["x", "y"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)


def node(value: object) -> Node:
    """Plain data as a tree, every place of it the first."""
    if isinstance(value, dict):
        return ("map", 1, 1, tuple((k, 1, 1, node(v)) for k, v in value.items()), "")
    if isinstance(value, list):
        return ("list", 1, 1, tuple(map(node, value)), "")
    kinds = {type(None): "null", bool: "bool", int: "int", str: "text"}
    return (kinds[type(value)], 1, 1, value, "")


def merged(below: object, above: object) -> object:
    if not isinstance(above, dict):
        return above
    found = dict(below) if isinstance(below, dict) else {}
    for key, value in above.items():
        if value is None and key in found:
            del found[key]
        else:
            found[key] = merged(found.get(key), value)
    return found


def laid(below: object, above: object) -> object:
    reading = Reading("recipe", own=False)
    found = plain(merge(node(below), of_file(node(above), "overlay"), reading))
    assert all("to take away" in each.message for each in reading.problems)
    return found


@given(MAPS, MAPS)
def test_a_merge_is_what_it_says(below: dict[str, object], above: dict[str, object]) -> None:
    assert laid(below, above) == merged(below, above)


@given(MAPS)
def test_an_empty_overlay_changes_nothing(below: dict[str, object]) -> None:
    assert laid(below, {}) == below


@given(st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=3))
def test_appending_is_putting_behind(below: list[object], above: list[object]) -> None:
    assert laid({"a": below}, {"a+": above}) == {"a": below + above}
    assert laid({}, {"a+": above}) == {"a": above}


@given(MAPS, MAPS)
def test_every_place_has_its_file(below: dict[str, object], above: dict[str, object]) -> None:
    """A scalar of the merged tree is of the overlay exactly where the overlay has it."""

    def scalars(tree: Node, path: str = "") -> dict[str, str]:
        if tree[0] not in ("map", "list"):
            return {path: getattr(tree[1], "file", "recipe")}
        children = (
            [(key, child) for key, _, _, child in tree[3]]
            if tree[0] == "map"
            else list(enumerate(tree[3]))
        )
        return {k: v for key, c in children for k, v in scalars(c, f"{path}/{key}").items()}

    reading = Reading("recipe", own=False)
    places = scalars(merge(node(below), of_file(node(above), "overlay"), reading))
    said = scalars(node(above))
    for path, file in places.items():
        assert (file == "overlay") == (path in said)
