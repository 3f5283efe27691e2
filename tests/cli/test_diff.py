"""recipes diff, as an operator sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.launcher import Host, Operator

RECIPE = """\
model: {{model_id: org/{name}, base_args: [--block-size, "{block}"]}}
variants:
  default: {{precision: bf16}}
  fp8: {{precision: fp8, extra_args: [{fp8}]}}
compatible_strategies: [single_node_tp, single_node_dep]
"""


def write(root: Path, name: str, block: int = 64, fp8: str = "") -> Path:
    path = root / "models" / "org" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECIPE.format(name=name, block=block, fp8=fp8))
    return path


@pytest.fixture
def sides(operator: Operator) -> tuple[Path, Path]:
    old, new = operator.cwd / "old", operator.cwd / "new"
    write(old, "Changed")
    write(new, "Changed", block=128, fp8="--kv-cache-dtype, fp8")
    for root in (old, new):
        write(root, "Same")
    write(old, "Gone")
    write(new, "New")
    return old, new


def test_a_change_is_told_once_with_where(operator: Operator, sides: tuple[Path, Path]) -> None:
    ran = operator.run("recipes", "diff", "old", "new")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "--- old\n+++ new\n\n"
        "org/Changed\n"
        "  - --block-size 64\n"
        "  + --block-size 128\n"
        "      everywhere\n"
        "  + --kv-cache-dtype fp8\n"
        "      in variant fp8\n"
        "\n"
        "gone: org/Gone\n"
        "new: org/New\n"
        "\n"
        "4 recipes: 1 changed, 1 new, 1 gone, 1 the same\n"
    )


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("old", "new"), 0),
        (("old", "new", "--exit-code"), 4),
        (("old", "old", "--exit-code"), 0),
        (("old", "new", "org/same", "--exit-code"), 0),
        (("old", "new", "ORG/gone", "--exit-code"), 4),
        (("bundled", "bundled", "--exit-code"), 0),
    ],
    ids=str,
)
def test_the_exit_status(
    operator: Operator, sides: tuple[Path, Path], words: tuple[str, ...], status: int
) -> None:
    assert operator.run("recipes", "diff", *words).status == status


def test_one_machine(operator: Operator, sides: tuple[Path, Path], host: Host) -> None:
    path = write(operator.cwd / "new", "Same")
    path.write_text(path.read_text() + "hardware_overrides: {blackwell: {extra_env: {A: b}}}\n")
    words = ("recipes", "diff", "old", "new", "org/Same")
    assert operator.run(*words, "--hardware", "h200").out.endswith("\n1 recipe: 1 the same\n")
    ran = operator.run(*words, "--hardware", "b300")
    assert "org/Same\n  + A=b\n      everywhere\n" in ran.out
    ran = operator.run(*words)
    assert "  + A=b\n      in hardware b200, gb200, b300, gb300" in ran.out
    ran = operator.run(*words, "--hardware", "auto", env=host("b300_8x"))
    assert "org/Same\n  + A=b\n      everywhere\n" in ran.out
    assert operator.run(*words, "--hardware", "auto", env=host("h200_8x")).out.endswith(
        "\n1 recipe: 1 the same\n"
    )


def test_two_files(operator: Operator, sides: tuple[Path, Path]) -> None:
    ran = operator.run(
        "recipes", "diff", "old/models/org/Changed.yaml", "new/models/org/Changed.yaml"
    )
    assert "  - --block-size 64\n  + --block-size 128\n" in ran.out
    assert ran.out.endswith("\n1 recipe: 1 changed, 0 the same\n")


def test_a_file_and_a_directory(operator: Operator, sides: tuple[Path, Path]) -> None:
    ran = operator.run("recipes", "diff", "old/models/org/Changed.yaml", "new")
    assert ran.out.endswith("\n1 recipe: 1 changed, 0 the same\n")


def test_a_published_file_is_a_side(operator: Operator, sides: tuple[Path, Path]) -> None:
    path = operator.cwd / "one.json"
    path.write_text(
        '{"hf_id": "org/Same", "model": {"model_id": "org/Same", "base_args": ["--x"]}, '
        '"variants": {"default": {"precision": "bf16"}}, '
        '"recommended_command": {"strategy": "single_node_tp"}}'
    )
    ran = operator.run("recipes", "diff", "old", "one.json", "org/Same")
    assert "org/Same\n  - offered\n" in ran.out
    assert "  + --x\n" in ran.out


def test_programs_get_products(operator: Operator, sides: tuple[Path, Path]) -> None:
    found = operator.run("recipes", "diff", "old", "new", "-o", "json").json["diff"]
    assert (found["old"], found["new"], found["compared"]) == ("old", "new", 4)
    assert [(one["id"], one["status"]) for one in found["recipes"]] == [
        ("org/Changed", "changed"), ("org/Gone", "removed"), ("org/New", "added"),
    ]  # fmt: skip
    change = found["recipes"][0]["changes"][1]
    assert {key: change[key] for key in ("kind", "role", "name", "old", "new")} == {
        "kind": "flag", "role": None, "name": "--kv-cache-dtype", "old": None, "new": "fp8",
    }  # fmt: skip
    assert change["where"] == [
        {
            "variant": ["fp8"], "preset": [], "strategy": [], "hardware": [], "feature": [],
            "kv_offload": [],
        }
    ]  # fmt: skip
    assert change["combinations"] == 20


def test_a_recipe_that_is_broken_now(operator: Operator, sides: tuple[Path, Path]) -> None:
    path = write(operator.cwd / "new", "Same")
    path.write_text("model: {}\n")
    ran = operator.run("recipes", "diff", "old", "new")
    assert "\ncannot be read any more: org/Same\n" in ran.out
    assert ran.err.startswith("warning: new/models/org/Same.yaml cannot be used: ")
    ran = operator.run("recipes", "diff", "new", "old")
    assert "\ncan be read now: org/Same\n" in ran.out


def test_a_strategy_that_changes_changes_its_recipes(
    operator: Operator, sides: tuple[Path, Path]
) -> None:
    folder = operator.cwd / "new" / "strategies"
    folder.mkdir()
    (folder / "single_node_dep.yaml").write_text(
        "name: single_node_dep\ndeploy_type: single_node\nvllm_args: [--x]\n"
    )
    ran = operator.run("recipes", "diff", "old", "new", "org/Same")
    assert "  + --x\n" in ran.out
    assert "in strategy single_node_dep\n" in ran.out


def test_revisions_of_a_synced_source(operator: Operator, tmp_path: Path) -> None:
    kept = tmp_path / "cache/vllm-launch/sources/ours"
    write(kept / "abc1", "Model")
    write(kept / "abd2", "Model", block=128)
    (kept / "current").write_text(
        "revision: abd2\nurl: https://h.example/recipes\nprevious: abc1\n"
    )
    operator.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    for words in (("ours@previous", "ours"), ("ours@abc", "ours@abd2")):
        ran = operator.run("recipes", "diff", *words)
        assert ran.out.startswith(f"--- {words[0]} (abc1)\n+++ {words[1]} (abd2)\n")
        assert "--block-size 128" in ran.out
    ran = operator.run("recipes", "diff", "https://h.example/recipes", "ours@abc1")
    assert "--block-size 64" in ran.out
    assert operator.run("recipes", "diff", "ours@ab", "ours").error == (
        "error: ours@ab: several revisions begin so\n  kept: abc1, abd2\n"
    )
    assert operator.run("recipes", "diff", "ours@x", "ours").error == (
        "error: ours@x: this revision is not kept\n  kept: abc1, abd2\n"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("old",),
            "two things to compare are needed\n  vllm-launch recipes diff A B [MODEL…]",
        ),
        (
            ("old", "nowhere"),
            "'nowhere' is neither a directory, a recipe file nor a synced source\n  name a path, ",
        ),
        (
            ("old", "new", "org/Chnged"),
            "neither side has a recipe 'org/Chnged'\n  did you mean 'org/Changed'?",
        ),
        (("old", "new", "--hardware", "h20"), "unknown hardware 'h20'\n  known: h100, h200"),
    ],
    ids=["one", "nothing", "no such recipe", "unknown hardware"],
)
def test_mistakes(
    operator: Operator, sides: tuple[Path, Path], words: tuple[str, ...], error: str
) -> None:
    ran = operator.run("recipes", "diff", *words)
    assert ran.status == 2
    assert ran.error.startswith(f"error: {error}")


def test_a_feature_that_is_off_by_default(operator: Operator, sides: tuple[Path, Path]) -> None:
    for side, value in zip(sides, "12", strict=True):
        path = write(side, "Same")
        more = f'features: {{spec: {{args: [--x, "{value}"]}}}}\nopt_in_features: [spec]\n'
        path.write_text(path.read_text() + more)
    ran = operator.run("recipes", "diff", "old", "new", "org/Same")
    assert "\norg/Same\n  - --x 1\n  + --x 2\n      in feature spec\n" in ran.out


def test_the_overlays_of_a_side_count(operator: Operator, sides: tuple[Path, Path]) -> None:
    overlay = operator.cwd / "new/overlays/org/Same.yaml"
    overlay.parent.mkdir(parents=True)
    overlay.write_text("model: {base_env: {A: b}}\n")
    ran = operator.run("recipes", "diff", "old", "new", "org/Same")
    assert "\norg/Same\n  + A=b\n      everywhere\n" in ran.out
