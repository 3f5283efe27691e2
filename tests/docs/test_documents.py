"""What the documents claim is what the launcher does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_launch.options import COMMANDS, GLOBAL
from vllm_launch.preflight import CHECKS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = {flag for command in COMMANDS for option in command.options for flag in option.flags}
FLAGS |= {flag for option in GLOBAL for flag in option.flags} | {
    "--version", "--help", "--install-completion",
}  # fmt: skip
# Flags of other programs that the documents speak of.
OTHERS = {"--privileged", "--api-key", "--export", "--gpus-per-node", "--gpus", "--max-model-len"}


def run(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "vllm_launch", *words],
        capture_output=True,
        text=True,
        cwd=home,
        env={**environment, "PYTHONPATH": str(ROOT)},
        check=False,
    )


def test_the_readme_shows_a_dry_run_as_it_is(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```console\n\$ vllm-launch (.*?)\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    done = run(*shown[1].split(), home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown[2]


def test_the_readme_has_two_set_up_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    assert [command.rpartition("&& ")[2].split()[0] for command in commands] == [
        ".venv/bin/vllm-launch",
        ".venv/bin/python",
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    missing = [target for target in targets if not (document.parent / target).exists()]
    assert missing == []


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = {f"docs/{path.name}" for path in DOCUMENTS if path.parent.name == "docs"}
    assert pages - set(re.findall(r"\]\(([^)#:]+)\)", readme)) == set()


def test_the_page_about_the_rooms_has_each_of_them() -> None:
    inside = (ROOT / "docs" / "inside.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\w+", inside.split("```")[1]))
    there = {
        path.stem
        for path in (ROOT / "vllm_launch").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert there - told == {"__init__"}


def test_the_counts_are_what_there_is() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"`check` runs {len(CHECKS)} checks" in changes


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_options_in_launcher_commands_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(
        r"vllm-launch ((?:serve|verify|status|logs|stop|explain|check|fit|detect|resolve|recipes"
        r"|--)[^`\n]*)",
        text,
    )
    used = {
        flag
        for line in lines
        for flag in re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", line.partition(" -- ")[0])
    }
    assert used - FLAGS - OTHERS == set()


# What chooses the plan: the rest of a command is left out, as it writes files or starts something.
CHOOSING = ("hardware", "variant", "strategy", "nodes", "tp", "prefill", "decode", "kv-offload",
            "feature", "preset")  # fmt: skip


def planned() -> list[str]:
    """The choices of all commands in the documents that plan for named hardware."""
    found: dict[str, None] = {}
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8").replace("\\\n", " ")
        for model, rest in re.findall(
            r"vllm-launch (?:serve|export|resolve|explain|check) (\w\S*/\S+)([^`|>#\n]*)", text
        ):
            chosen = re.findall(rf"--(?:{'|'.join(CHOOSING)})[ =]\S+", rest)
            if "--hardware" in rest:
                found[" ".join([model, *chosen])] = None
    return list(found)


def test_there_are_commands_that_plan() -> None:
    assert len(planned()) > 4


@pytest.mark.parametrize("choice", planned())
def test_what_a_document_plans_can_load(choice: str, tmp_path: Path) -> None:
    done = run("serve", *choice.split(), "--dry-run", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"needs [\d.]+ GB, and", done.stderr), done.stderr


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS for _ in c.examples], ids=lambda command: command.name
)
def test_examples_in_the_help_are_understood(command: object) -> None:
    from vllm_launch.commandline import parse, split

    for example in command.examples:  # type: ignore[attr-defined]
        words, _ = split(example.split()[1:])
        assert parse(words) is not None, example
