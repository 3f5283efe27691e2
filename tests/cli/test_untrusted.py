"""Recipes of somebody else's: what they reach for is said, and what they may not do fails."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.launcher import B300, FLASH, M3, Operator

RECIPE = """\
model:
  model_id: evil/a
  base_env: {env}
variants:
  default:
    precision: bf16
    vram_minimum_gb: 10
compatible_strategies: [single_node_tp]
"""


@pytest.fixture
def foreign(operator: Operator) -> Path:
    directory = operator.cwd / "theirs"
    (directory / "models" / "evil").mkdir(parents=True)
    return directory


def write(foreign: Path, env: str) -> tuple[str, ...]:
    (foreign / "models" / "evil" / "a.yaml").write_text(RECIPE.format(env=env), encoding="utf-8")
    return ("--recipes-dir", str(foreign), "serve", "evil/a", "--hardware", "h200")


def test_a_recipe_does_not_choose_the_program(operator: Operator, foreign: Path) -> None:
    operator.install("vllm")
    theirs = operator.cwd / "bin"
    theirs.mkdir()
    (theirs / "vllm").write_text("#!/bin/sh\necho stolen\n", encoding="utf-8")
    (theirs / "vllm").chmod(0o755)
    ran = operator.run(*write(foreign, f"{{PATH: '{theirs}'}}"))
    assert "stolen" not in ran.out
    assert ran.argv[:2] == ["serve", "evil/a"]
    assert f"# note: the recipe sets PATH={theirs}, which decides what code runs" in ran.err


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ("{LD_PRELOAD: /x.so}", "the recipe sets LD_PRELOAD=/x.so, which decides what code runs"),
        (
            "{A_CONFIG_PATH: /etc/shadow}",
            "the recipe names the file /etc/shadow (A_CONFIG_PATH), which a container is given",
        ),
    ],
    ids=["loader", "file"],
)
def test_what_a_recipe_reaches_for_is_said(
    operator: Operator, foreign: Path, env: str, told: str
) -> None:
    ran = operator.run(*write(foreign, env), "--dry-run")
    assert ran.status == 0, ran.error
    assert f"# note: {told}" in ran.err


def test_a_placeholder_of_a_server_that_stands_alone_is_said(
    operator: Operator, foreign: Path
) -> None:
    ran = operator.run(*write(foreign, "{NODE: $HOME}"), "--dry-run")
    assert ran.status == 0, ran.error
    assert "# not filled in: $HOME: give --endpoint HOME=…" in ran.err


def test_what_the_operator_hands_on_by_name_wins_over_a_recipes(
    operator: Operator, foreign: Path
) -> None:
    operator.install("vllm")
    words = write(foreign, "{HF_HOME: /theirs}")
    ran = operator.run(*words, "-e", "HF_HOME", env={"HF_HOME": "/mine"})
    assert ran.record["env"]["HF_HOME"] == "/mine"


def test_a_link_to_another_file_does_not_print_it(operator: Operator, foreign: Path) -> None:
    secret = operator.cwd / "token"
    secret.write_text("HF_TOKEN=hunter2\n", encoding="utf-8")
    os.symlink(secret, foreign / "models" / "evil" / "t.yaml")
    ran = operator.run("--recipes-dir", str(foreign), "serve", "evil/t", "--hardware", "h200")
    assert ran.status == 2
    assert "hunter2" not in ran.err


def test_a_feature_that_is_off_stays_off_under_a_preset(operator: Operator) -> None:
    words = ("serve", M3, "--preset", "mi355x_agentx:tp4_c1", "--dry-run")
    assert "--speculative-config" in operator.run(*words).out
    ran = operator.run(*words, "--no-feature", "spec_decoding")
    assert ran.status == 0, ran.error
    assert "--speculative-config" not in ran.out


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        pytest.param(
            ("serve", FLASH, "--hardware", "b300", "--strategy", "pd_cluster", "--port", "9000"),
            2, "--port: prefill and decode cannot listen on one port", id="one port for two",
        ),
        pytest.param(
            (*B300, "--gpus", "0-3"), 2, "--gpus: found '0-3'; expected indices or UUIDs",
            id="a range of GPUs",
        ),
        pytest.param(
            (*B300, "--gpus", "0,9"), 3, "GPU 9 is beyond those of b300, 0 to 7", id="no such GPU"
        ),
        pytest.param(
            ("serve", "nvidia/MiniMax-M3-NVFP4", "--variant", "default", "--hardware", "b200"), 2,
            "the checkpoint named is variant nvfp4, and --variant asks for default",
            id="two variants",
        ),
        pytest.param(
            ("serve", M3, "--hardware", "h200", "--kv-offload", "nope"), 2,
            "'nope' is no KV offload option and no KV store", id="no such offload",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(
    operator: Operator, words: tuple[str, ...], status: int, told: str
) -> None:
    ran = operator.run(*words, "--dry-run")
    assert ran.status == status
    assert ran.error.startswith(f"error: {told}")


def test_a_port_is_only_that_of_the_role_named(operator: Operator) -> None:
    words = ("serve", FLASH, "--hardware", "b300", "--strategy", "pd_cluster", "--dry-run")
    ran = operator.run(*words, "--role", "decode", "--port", "9000")
    assert "--port 9000" in ran.out
    router = operator.run(*words[:-1], "--role", "decode", "--port", "9000", "--output", "json")
    router = router.json["deployment"]["router"]
    assert "--prefill http://$PREFILL_NODE_1:8100" in router
    assert "--decode http://127.0.0.1:9000" in router


@pytest.mark.parametrize("size", ["many", "$TP", "9" * 5000], ids=["word", "placeholder", "huge"])
def test_a_size_that_is_no_number_is_vllms_to_refuse(operator: Operator, size: str) -> None:
    ran = operator.run(*B300, "--dry-run", "--", "--tensor-parallel-size", size)
    assert ran.status == 0, ran.error


def test_weights_that_a_profile_has_no_room_for_are_said(operator: Operator) -> None:
    words = ("serve", M3, "--variant", "default", "--hardware", "h100", "--dry-run")
    ran = operator.run(*words, "--strategy", "single_node_tp")
    assert ran.status == 0
    assert "# note: variant default needs 1025 GB, and 8 GPUs of h100 have 640 GB" in ran.err


FORGED = """\
meta: {title: "Fine\\nother/model  1B", provider: "X\\nY"}
model:
  model_id: evil/a
  parameter_count: "7B\\nother/model  8B"
  base_args: [--served-model-name, "a\\n        from operator"]
  base_env: {PYTHONPATH: "b\\n# note: all is well"}
variants:
  default: {precision: "bf16\\nx", label: "l\\nm"}
compatible_strategies: [single_node_tp]
notes: [{title: "t\\n# note: all is well", body: "two\\nlines"}]
"""
OURS = ("other/model", "from operator", "# note: all is well", "Y", "m'")


@pytest.mark.parametrize(
    "words",
    [
        ("recipes", "list", "--provider", "evil"),
        ("recipes", "search", "fine"),
        ("recipes", "show", "evil/a", "--hardware", "h200"),
        ("explain", "evil/a", "--hardware", "h200"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_line_of_a_recipe_is_taken_for_one_of_ours(
    operator: Operator, foreign: Path, words: tuple[str, ...]
) -> None:
    (foreign / "models/evil/a.yaml").write_text(FORGED)
    ran = operator.run("--recipes-dir", str(foreign), *words)
    assert ran.status == 0
    lines = [line.strip() for line in (ran.out + ran.err).splitlines()]
    assert lines
    assert [line for line in lines if line.startswith(OURS)] == []


def test_values_stay_as_they_are(operator: Operator, foreign: Path) -> None:
    (foreign / "models/evil/a.yaml").write_text(FORGED)
    words = ("serve", "evil/a", "--hardware", "h200", "--dry-run", "--output", "argv")
    ran = operator.run("--recipes-dir", str(foreign), *words)
    assert "a\n        from operator" in json.loads(ran.out)
    assert "PYTHONPATH=b\\n# note: all is well, which decides" in ran.err


COMMANDS = """\
model:
  model_id: evil/a
  min_vllm_version: "99.0.0'; touch canary; '"
variants:
  default: {precision: bf16, vram_minimum_gb: 10}
compatible_strategies: [single_node_tp]
"""


@pytest.mark.parametrize("model", ["a;touch canary", "a`touch`", "a|b", "a&b", "a>b", "$(touch)"])
def test_a_model_that_a_shell_would_run_is_none(
    operator: Operator, foreign: Path, model: str
) -> None:
    path = foreign / "models/evil/a.yaml"
    path.write_text(RECIPE.format(env="{}").replace("evil/a", json.dumps(f"evil/{model}")))
    ran = operator.run("serve", str(path), "--hardware", "h200", "--dry-run")
    assert ran.status == 2
    assert "expected a checkpoint, such as org/repo" in ran.err


def test_the_commands_that_mend_run_nothing_of_a_recipes(operator: Operator, foreign: Path) -> None:
    path = foreign / "models/evil/a.yaml"
    path.write_text(COMMANDS)
    words = ("--recipes-dir", str(foreign), "check", "evil/a", "--hardware", "h200", "--fix")
    script = operator.run(*words).out
    assert "uv pip install -U" in script
    operator.install("uv")
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        check=False,
        cwd=operator.cwd,
        env=operator.env,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    argv = json.loads(done.stdout.splitlines()[0])["argv"]
    assert argv == ["pip", "install", "-U", "vllm>=99.0.0'; touch canary; '"]
    assert not (operator.cwd / "canary").exists()
