"""What the tab key offers, in the shells' own protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.launcher import COMMAND, FLASH, LAUNCH, M3, Operator

FILES = Path(__file__).parents[2].glob("recipes/models/*/*.yaml")
RECIPES = [f"{path.parent.name}/{path.stem}" for path in sorted(FILES)]
POINTS = [f"mi355x_agentx:{point}" for point in ("tp2_c1", "tp2_c2")]
OFFERS = [
    pytest.param("se", ["serve"], id="command"),
    pytest.param("recipes sh", ["show"], id="command of a group"),
    pytest.param("serve MiniMaxAI/MiniMax-M3", [FLASH, M3], id="recipe"),
    pytest.param("explain MiniMaxAI/MiniMax-M3.1", [FLASH], id="recipe of explain"),
    pytest.param("recipes show ", RECIPES, id="recipe from nothing"),
    pytest.param("serve minimaxai/minimax-m3", [FLASH, M3], id="recipe in small letters"),
    pytest.param(f"serve {FLASH} --variant ", ["default", "fp8"], id="variant"),
    pytest.param(f"serve {M3} --variant mx", ["mxfp8", "mxfp4"], id="variant begun"),
    pytest.param(
        f"serve {FLASH} --strategy single",
        ["single_node_tp", "single_node_tep", "single_node_dep"],
        id="strategy",
    ),
    pytest.param(
        f"serve {M3} --preset gb200_agentx_",
        ["gb200_agentx_tp8", "gb200_agentx_tp8:tp8_c1", "gb200_agentx_tp8:tp8_c5"],
        id="preset",
    ),
    pytest.param(f"serve {FLASH} -f t", ["tool_calling", "text_only"], id="feature"),
    pytest.param(f"serve {FLASH} --no-feature te", ["text_only"], id="feature to turn off"),
    pytest.param(f"serve {M3} --kv-offload off", ["offloading_cpu", "offloading_fs"], id="KV"),
    pytest.param(f"serve {M3} --kv-offload kv_store_c", ["kv_store_centralized_mooncake"],
                 id="KV store"),
    pytest.param(f"serve {FLASH} --hardware gb", ["gb200", "gb300"], id="hardware"),
    pytest.param("serve --hardware mi355", ["mi355x"], id="hardware before the model"),
    pytest.param("fit --hardware mi355", ["mi355x"], id="hardware of fit"),
    pytest.param(f"serve {FLASH} --role de", ["decode"], id="choice"),
    pytest.param(f"serve {FLASH} --runtime ", ["native", "docker", "podman"], id="choices"),
    pytest.param(f"serve {FLASH} --dry", ["--dry-run"], id="option"),
    pytest.param("--rec", ["--recipes-dir"], id="option before the command"),
    pytest.param(f"check {FLASH} --skip HUGETLB_L", ["HUGETLB_LIMIT"], id="check"),
    pytest.param("serve --skip al", ["all"], id="every check"),
    pytest.param(f"serve {FLASH} --variant nothing-like-it", [], id="nothing"),
    pytest.param("serve no/such --variant ", [], id="unknown recipe"),
]  # fmt: skip
WHOLE_WORDS = [
    pytest.param(f"serve {M3} --preset mi355x_agentx:tp2", POINTS, id="point"),
    pytest.param(
        f"serve {M3} -f spec_decoding=eagle3_",
        ["spec_decoding=eagle3_gqa"],
        id="mode",
    ),
    pytest.param(f"serve {M3} --hardware=b3", ["b300"], id="joined"),
]


def complete(operator: Operator, shell: str, line: str, **more: str) -> list[str]:
    """What is offered for a line that ends where the cursor is; nothing else may be said."""
    words = ["vllm-launch", *line.split(" ")]
    env = {"_VLLM_LAUNCH_COMPLETE": f"complete_{shell}", **more}
    env |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    env |= {"_TYPER_COMPLETE_ARGS": f"vllm-launch {line}"}
    env |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    ran = operator.run(env=env)
    assert ran.err == ""
    if shell == "zsh":  # _arguments '*: :(("one":"help"\n"two"))'
        lines = [text for text in ran.out.splitlines() if '"' in text]
        return [text.split('"')[1].replace("\\\\:", ":") for text in lines]
    return [text.partition("\t")[0] for text in ran.out.splitlines() if text]


@pytest.mark.parametrize(("line", "offers"), OFFERS)
def test_offers(operator: Operator, line: str, offers: list[str]) -> None:
    assert complete(operator, "bash", line) == offers


@pytest.mark.parametrize("command", ["status", "logs", "stop"])
def test_servers_that_are_kept_are_offered(operator: Operator, command: str) -> None:
    for name in ("flash", "m3"):
        (operator.home / ".local/state/vllm-launch/servers" / name).mkdir(parents=True)
    assert complete(operator, "bash", f"{command} ") == ["flash", "m3"]
    assert complete(operator, "bash", f"{command} fl") == ["flash"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(("line", "offers"), OFFERS[2:10:3])
def test_offers_of_other_shells(
    operator: Operator, shell: str, line: str, offers: list[str]
) -> None:
    assert complete(operator, shell, line) == offers


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(("line", "offers"), WHOLE_WORDS)
def test_offers_of_shells_that_leave_words_whole(
    operator: Operator, shell: str, line: str, offers: list[str]
) -> None:
    offered = complete(operator, shell, line)
    assert [offer.removeprefix("--hardware=") for offer in offered] == offers


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        pytest.param(
            ["serve", M3, "--preset", "mi355x_agentx", ":", "tp2"], ["tp2_c1", "tp2_c2"], id="point"
        ),
        pytest.param(
            ["serve", M3, "--preset", "gb200_agentx_tp8", ":"], ["tp8_c1", "tp8_c5"], id="points"
        ),
        pytest.param(
            ["serve", M3, "--preset", "=", "mi355x_agentx", ":", "tp2_c2"], ["tp2_c2"],
            id="point, joined",
        ),
        pytest.param(
            ["serve", M3, "-f", "spec_decoding", "="], ["eagle3", "eagle3_gqa"], id="modes"
        ),
        pytest.param(
            ["serve", M3, "-f", "spec_decoding", "=", "eagle3_"], ["eagle3_gqa"], id="mode"
        ),
        pytest.param(["serve", M3, "--hardware", "=", "gb"], ["gb200", "gb300"], id="joined"),
        pytest.param(["serve", M3, "--hardware", "=", "b300", "--vari"], ["--variant"],
                     id="after a joined one"),
        pytest.param(
            ["serve", M3, "--preset", "mi355x_agentx", ":", "tp2_c1", "--variant", "mxfp4"],
            ["mxfp4"],
            id="after a point",
        ),
    ],
)  # fmt: skip
def test_bash_cuts_words_at_colons_and_equal_signs(
    operator: Operator, words: list[str], offers: list[str]
) -> None:
    line = "\n".join(["vllm-launch", *words])
    env = {"_VLLM_LAUNCH_COMPLETE": "complete_bash", "COMP_WORDS": line}
    ran = operator.run(env=env | {"COMP_CWORD": str(len(words))})
    assert ran.out.split() == offers
    assert ran.err == ""


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["vllm-launch", "serve", "minimaxai/minimax-m3"], [FLASH, M3]),
        (["vllm-launch", "serve", M3, "--preset", "mi355x_agentx", ":", "tp2"],
         ["tp2_c1", "tp2_c2"]),
        (["vllm-launch", "serve", M3, "--variant", ""], ["default", "mxfp8", "nvfp4", "mxfp4"]),
    ],
    ids=["recipe", "point", "variant"],
)  # fmt: skip
def test_the_function_that_bash_is_given(
    operator: Operator, words: list[str], offers: list[str]
) -> None:
    """The script that an operator evaluates, called as bash calls it."""
    (operator.bin / "vllm-launch").write_text(f'#!/bin/sh\nexec {LAUNCH} "$@"\n')
    (operator.bin / "vllm-launch").chmod(0o755)
    listed = " ".join(f"'{word}'" for word in words)
    ran = operator.shell(
        'eval "$(_VLLM_LAUNCH_COMPLETE=source_bash vllm-launch)"\n'
        f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
        '_vllm_launch_completion vllm-launch && printf "%s\\n" "${COMPREPLY[@]}"',
        shell="/bin/bash",
    )
    assert ran.out.split() == offers
    assert ran.err == ""


# Recipes of one's own.

RECIPE = """\
model: {model_id: acme/tiny}
variants: {default: {precision: bf16}, small: {precision: fp8}}
compatible_strategies: [single_node_tp]
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A recipes directory with a good recipe and some that nobody can read."""
    models = tmp_path / "recipes" / "models"
    for name, content in {
        "acme/tiny.yaml": RECIPE.encode(),
        "acme/broken.yaml": b"model: [",
        "acme/binary.yaml": b"\xff\xfe\x00",
        "acme/empty.yaml": b"",
        "stray.yaml": RECIPE.encode(),
    }.items():
        (models / name).parent.mkdir(parents=True, exist_ok=True)
        (models / name).write_bytes(content)
    (models / "acme" / "folder.yaml").mkdir()
    return models.parent


@pytest.mark.parametrize("place", ["line", "variable", "settings file"])
def test_recipes_of_ones_own_are_offered(operator: Operator, shelf: Path, place: str) -> None:
    before = f"--recipes-dir {shelf} " if place == "line" else ""
    more = {"VLLM_LAUNCH_RECIPES_DIR": str(shelf)} if place == "variable" else {}
    if place == "settings file":
        operator.configure(f"recipes-dir: {shelf}\n")
    assert "acme/tiny" in complete(operator, "bash", f"{before}serve acme", **more)
    line = f"{before}serve acme/tiny --variant "
    assert complete(operator, "bash", line, **more) == ["default", "small"]


@pytest.mark.parametrize("recipe", ["broken", "binary", "empty", "folder", "no-such"])
def test_a_recipe_that_cannot_be_read_offers_nothing_and_says_nothing(
    operator: Operator, shelf: Path, recipe: str
) -> None:
    line = f"--recipes-dir {shelf} serve acme/{recipe} --variant "
    assert complete(operator, "bash", line) == []


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"VLLM_LAUNCH_RECIPES_DIR": "/no/such"}, id="no such directory"),
        pytest.param({"VLLM_LAUNCH_CONFIG": "/no/such"}, id="no such settings file"),
        pytest.param({"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}, id="no home"),
    ],
)
def test_nothing_that_is_missing_is_complained_about(
    operator: Operator, more: dict[str, str]
) -> None:
    complete(operator, "bash", f"serve {FLASH} --variant ", **more)
    complete(operator, "bash", "serve Mini", **more)


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({}, id="no words"),
        pytest.param({"COMP_WORDS": "vllm-launch", "COMP_CWORD": "x"}, id="no number"),
        pytest.param({"COMP_WORDS": "vllm-launch", "COMP_CWORD": "7"}, id="beyond the line"),
        pytest.param({"COMP_WORDS": "vllm-launch serve 'un", "COMP_CWORD": "2"}, id="open quote"),
    ],
)
def test_a_request_that_makes_no_sense_says_nothing(
    operator: Operator, env: dict[str, str]
) -> None:
    ran = operator.run(env={"_VLLM_LAUNCH_COMPLETE": "complete_bash"} | env)
    assert ran.err == ""
    assert "Traceback" not in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell(operator: Operator, shell: str) -> None:
    env = {"_VLLM_LAUNCH_COMPLETE": f"source_{shell}", "PATH": "/usr/bin:/bin"}
    ran = operator.execute(COMMAND, env=env)
    assert "_VLLM_LAUNCH_COMPLETE=complete_" in ran.out
    assert "vllm-launch" in ran.out
