"""Secrets, wherever an operator, a recipe or a log has put one: told and kept nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.launcher import B300, FLASH, Operator

SECRET = "hunter2-hunter2"
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz1234"
DRY = (*B300, "--dry-run")
ADDRESS = "https://127.0.0.1:1/recipes"


@pytest.fixture(autouse=True)
def _cache_of_its_own(operator: Operator) -> None:
    operator.env["XDG_CACHE_HOME"] = str(operator.home / ".cache")


def kept(operator: Operator) -> list[str]:
    """Every file and folder of the operator's home that has the secret in its name or in it."""
    found = []
    for folder, folders, names in os.walk(operator.home):
        found += [name for name in (*folders, *names) if SECRET in name]
        for name in names:
            path = Path(folder, name)
            if path.is_file() and SECRET.encode() in path.read_bytes():
                found.append(str(path))
    return found


@pytest.mark.parametrize(
    "line",
    [
        ("recipes", "sync", f"https://me:{SECRET}@127.0.0.1:1/x"),
        ("recipes", "sync", f"http://me:{SECRET}@127.0.0.1:1/x"),
        ("recipes", "sync", f"https://me:{SECRET}/x@127.0.0.1:1/x"),
        ("recipes", "sync", f"me:{SECRET}@127.0.0.1:x"),
        ("recipes", "sync", "--", f"https://me:{SECRET}@127.0.0.1:1/x"),
        ("recipes", "sync", "--", "--api-key", SECRET),
        ("recipes", "sync", f"{ADDRESS}?token={SECRET}"),
        ("recipes", "sync", f"https://127.0.0.1:1?token={SECRET}"),
        ("recipes", "sync", f"mine={ADDRESS}.json?token={SECRET}"),
        ("--recipes-dir", f"{ADDRESS}?token={SECRET}", "recipes", "list"),
        ("--recipes-dir", f"{ADDRESS}?token={SECRET}", "recipes", "sources"),
        ("--recipes-dir", f"https://me:{SECRET}@127.0.0.1:1/x", "recipes", "sources"),
        ("--sources", f"{ADDRESS}?token={SECRET}", "recipes", "sources"),
        ("verify", "--url", f"http://127.0.0.1:1/?key={SECRET}"),
        ("verify", "--url", f"http://me:{SECRET}@127.0.0.1:1x/"),
        (*DRY, "-e", f"HF_TOKEN = {SECRET}"),
        (*DRY, "-e", f"HF-TOKEN={SECRET}"),
        (*DRY, "-e", f"MY_KEY={SECRET}"),
        (*DRY, "-e", f"AWS_ACCESS_KEY_ID={SECRET}"),
        (*DRY, "-e", f"HTTPS_PROXY=http://me:{SECRET}@proxy:1"),
        (*DRY, "-e", "HF_TOKEN", SECRET),
        (*DRY, "--api-key", SECRET),
        (*DRY, f"HF_TOKEN={SECRET}"),
        (*DRY, "--", "--api-key", SECRET),
        (*DRY, "--", f"--api_key={SECRET}"),
        (*DRY, "--", "--api-k", SECRET),
        (*DRY, "--", "--hf-to", SECRET),
        (*DRY, "--", "--otlp-traces-endpoint", f"http://me:{SECRET}@collector:4317"),
        (*DRY, "--", "--extra.connector.api_key", SECRET),
        (*DRY, "--", "--model-loader-extra-config", f'{{"aws_secret_access_key": "{SECRET}"}}'),
        (*DRY, "--image", f"registry.example/me:{SECRET}@x/y:z"),
        ("export", FLASH, *B300[2:], "--to", "compose", "--image", f"me:{SECRET}@x/y:z"),
        ("bench", FLASH, "--dry-run", "--", "--api-key", SECRET),
        ("bench", FLASH, "--dry-run", "--", "--header", f"Authorization=Bearer {SECRET}"),
        ("fit", FLASH, "--", "--api-key", SECRET),
        (*DRY, "--output", "json", "-e", f"HF_TOKEN = {SECRET}"),
        (*DRY, "--output", "json", "-e", "HF_TOKEN", SECRET),
        ("recipes", "sync", "--output", "json", f"{ADDRESS}?token={SECRET}"),
        ("verify", "--output", "json", "--url", f"http://127.0.0.1:1/?key={SECRET}"),
        ("--debug", *DRY, "-e", f"HF_TOKEN={SECRET}"),
        ("--debug", "recipes", "sync", f"https://me:{SECRET}@127.0.0.1:1/x"),
    ],
    ids=lambda line: " ".join(line[-3:]).replace(SECRET, "SECRET"),
)
def test_a_secret_on_the_line_is_not_told_and_not_kept(
    operator: Operator, line: tuple[str, ...]
) -> None:
    ran = operator.run(*line)
    assert SECRET not in ran.out + ran.err
    assert ran.status in (0, 2)
    assert "a bug" not in ran.err
    assert kept(operator) == []


@pytest.mark.parametrize(
    "words",
    [
        ("-e", f"FOO={TOKEN}"),
        ("--endpoint", f"HEAD_IP={TOKEN}"),
        ("--", "--revision", TOKEN),
        ("--", f"--revision={TOKEN}"),
        ("--", "--model-loader-extra-config", f'{{"hf_token":"{TOKEN}"}}'),
        ("--", "--model-loader-extra-config", f'{{"token":"{TOKEN}"}}'),
    ],
    ids=lambda words: " ".join(words).replace(TOKEN, "TOKEN"),
)
def test_a_token_is_known_by_its_form(operator: Operator, words: tuple[str, ...]) -> None:
    ran = operator.run(*DRY, *words)
    assert ran.status == 2
    assert TOKEN not in ran.out + ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("--", "--download-dir", "/scratch/hf_cache_20251130T120000Z"),
        ("-e", f"HF_HOME=/scratch/hf_{'0a1b' * 10}"),
        ("-e", "MOTD=the bearer of news"),
        ("-e", 'CFG={"api_key":"EMPTY"}'),
        ("--", "--served-model-name", "sk-telecom-ax4ABCDEFGHIJKLMNOP"),
        ("--", "--hf-overrides", '{"image_token":"reserved_special_token_250_image"}'),
    ],
    ids=" ".join,
)
def test_what_only_looks_like_a_secret_is_handed_on(
    operator: Operator, words: tuple[str, ...]
) -> None:
    ran = operator.run(*DRY, *words)
    assert ran.status == 0, ran.err
    assert words[-1].split("=")[-1] in ran.out


@pytest.mark.parametrize("file", ["config.yaml", "recipe"])
def test_a_secret_in_a_file_is_not_told_and_not_copied(operator: Operator, file: str) -> None:
    directory = operator.cwd / "theirs"
    (directory / "models" / "evil").mkdir(parents=True)
    recipe = directory / "models" / "evil" / "a.yaml"
    recipe.write_text(
        "model:\n  model_id: evil/a\n"
        + (f"  base_env:\n    HF_TOKEN: {SECRET}\n" if file == "recipe" else "")
        + "variants: {default: {precision: bf16, vram_minimum_gb: 10}}\n"
        "compatible_strategies: [single_node_tp]\n"
    )
    words: tuple[str, ...] = ()
    if file != "recipe":
        (operator.cwd / "c.yaml").write_text(f"env:\n- HF_TOKEN={SECRET}\n")
        words = ("--config", "c.yaml")
    for command in (
        ("serve", "evil/a", "--hardware", "h200", "--dry-run"),
        ("explain", "evil/a", "--hardware", "h200"),
        ("export", "evil/a", "--hardware", "h200", "--to", "compose"),
        ("recipes", "show", "evil/a"),
        ("recipes", "lint", str(recipe)),
    ):
        ran = operator.run("--debug", *words, "--recipes-dir", str(directory), *command)
        assert SECRET not in ran.out + ran.err, command
    assert kept(operator) == []


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("base_env: {HF_TOKEN: abc}", "the value of HF_TOKEN is a secret"),
        ("base_env: {P: 'http://u:abc@h'}", "the value of P is a secret"),
        ("base_args: [--api-key, abc]", "--api-key is a secret"),
        ("base_args: [--api-key=abc]", "--api-key is a secret"),
        ("base_args: [--x, 'http://u:abc@h']", "an address with a password is a secret"),
        (f"base_env: {{FOO: {TOKEN}}}", "the value of FOO is a secret"),
        (f"base_args: [--revision, {TOKEN}]", "a token is a secret"),
        ('base_args: [--x, \'{"hf_token": "abc"}\']', "JSON with a key or password is a secret"),
        ("docker_image: reg.io/u:abc@x/y:z", "what stands before the @ is a secret"),
    ],
)
def test_a_recipe_holds_no_secret(operator: Operator, what: str, told: str) -> None:
    path = operator.cwd / "a.yaml"
    path.write_text(
        f"model:\n  model_id: evil/a\n  {what}\n"
        "variants: {default: {precision: bf16, vram_minimum_gb: 10}}\n"
        "compatible_strategies: [single_node_tp]\n"
    )
    ran = operator.run("serve", str(path), "--hardware", "h200", "--dry-run")
    assert ran.status == 2
    assert f"{told}, and a recipe holds none" in ran.err
    assert "abc" not in ran.out + ran.err
    linted = operator.run("recipes", "lint", str(path))
    assert linted.status == 4
    assert "abc" not in linted.out + linted.err


def test_a_recipe_names_a_secret_by_its_variable(operator: Operator) -> None:
    path = operator.cwd / "a.yaml"
    path.write_text(
        "model:\n  model_id: evil/a\n  base_args: [--download-dir, /x/hf_a_20251130T120000Z]\n"
        "variants: {default: {precision: bf16, vram_minimum_gb: 10}}\n"
        "compatible_strategies: [single_node_tp]\n"
        "dependencies:\n"
        "- note: signs in\n"
        "  command: |\n"
        "    hf auth login --hf-token \\\n"
        '      "$HF_TOKEN"\n'
        "    git clone https://$USER:$TOKEN@github.com/x/y\n"
    )
    ran = operator.run("serve", str(path), "--hardware", "h200", "--dry-run")
    assert ran.status == 0, ran.err
    assert "--download-dir /x/hf_a_20251130T120000Z" in ran.out


def test_a_secret_of_the_environment_is_in_no_remark(operator: Operator) -> None:
    ran = operator.run("serve", SECRET, "--dry-run", env={"HF_TOKEN": SECRET})
    assert ran.error.startswith("error: there is no recipe for '…'\n")


def test_a_log_is_told_without_its_secrets(operator: Operator) -> None:
    log = operator.cwd / "log"
    log.write_text(
        f"# started as: vllm-launch serve a/b -e P=http://me:{SECRET}@proxy:1\n"
        f"torch.OutOfMemoryError: CUDA out of memory. HF_TOKEN={SECRET} hf_{'a' * 30}\n"
    )
    ran = operator.run("diagnose", "log", "--output", "json")
    assert "CUDA out of memory. HF_TOKEN=… hf_…" in json.loads(ran.out)["diagnosis"][0]["text"]
    assert SECRET not in ran.out


@pytest.mark.parametrize("kind", ["", ".json"], ids=["git", "json"])
def test_a_first_sync_that_fails_leaves_nothing(operator: Operator, kind: str) -> None:
    ran = operator.run("recipes", "sync", ADDRESS + kind, env={"PATH": os.environ["PATH"]})
    assert ran.status == 2
    assert f"error: cannot fetch {ADDRESS}" in ran.err
    assert list(operator.home.rglob("sources/*")) == []
