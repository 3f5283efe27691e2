"""``recipes sync`` and ``recipes sources`` as an operator types them, against a real server."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import B300, FLASH, Operator
from tests.sync import server as servers
from tests.sync.server import Handler, Server
from vllm_launch import __version__
from vllm_launch.catalog.sources import name_of


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return servers.certify(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def running(
    authority: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with servers.running(authority[1], tmp_path_factory.mktemp("repositories")) as server:
        yield server


def recipe(title: str) -> bytes:
    return json.dumps(
        {
            "hf_id": "org/repo",
            "meta": {"title": title},
            "model": {"model_id": "org/repo"},
            "variants": {"default": {}},
            "recommended_command": {"strategy": "single_node_tp"},
        }
    ).encode()


@pytest.fixture
def site(running: Server, operator: Operator, authority: tuple[Path, Path]) -> Iterator[Server]:
    """A site with one recipe; its operator has a cache of their own."""
    running.forget()
    index = b'[{"hf_id": "org/repo", "json": "/org/repo.json"}]'
    running.answers["/models.json"] = lambda handler: handler.say(200, index)
    running.answers["/org/repo.json"] = lambda handler: handler.say(200, recipe("One"))
    operator.env["XDG_CACHE_HOME"] = str(operator.home / "cache")
    operator.env["SSL_CERT_FILE"] = str(authority[0])
    yield running
    running.over.set()


@pytest.fixture
def url(site: Server) -> str:
    return f"{site.url}/models.json"


def sync(operator: Operator, *words: str) -> Any:
    """What a sync says of each source."""
    ran = operator.run("recipes", "sync", *words, "--output", "json")
    assert ran.status == 0, ran.err
    return ran.json["sync"]


def test_a_source_is_synced_then_served_without_it(
    operator: Operator, site: Server, url: str
) -> None:
    ran = operator.run("recipes", "sync", url)
    [said] = sync(operator, url)
    revision = said["revision"]
    name = name_of(url)
    assert (ran.status, ran.out) == (0, f"{name}  {revision[:12]}  1 recipe  new\n")
    assert ran.err == (
        f"{name}: fetching\n"
        f"to use it, give --recipes-dir {url}, or put into "
        f"{operator.home}/.config/vllm-launch/config.yaml:\nsources:\n- {url}\n"
    )
    site.answers.clear()
    served = operator.run("--recipes-dir", url, "serve", "org/repo", "--hardware", "h200",
                          "--dry-run")  # fmt: skip
    assert served.out == "vllm serve org/repo \\\n  --tensor-parallel-size 8\n"


def test_the_lines_that_it_tells_to_add_are_right(operator: Operator, url: str) -> None:
    ran = operator.run("recipes", "sync", url)
    operator.configure(ran.err.partition("config.yaml:\n")[2])
    shown = operator.run("recipes", "show", "org/repo", "--output", "json").json["recipe"]
    assert shown["origin"]["source"] == url
    again = operator.run("recipes", "sync")
    assert again.out.endswith("  1 recipe  as before\n")
    assert "to use it" not in again.err


def test_a_dry_run_asks_the_server_nothing(operator: Operator, site: Server, url: str) -> None:
    operator.configure(f"sources: [{url}]\n")
    sync(operator, url)
    site.asked.clear()
    assert operator.run(*B300, "--dry-run").status == 0
    assert operator.run("recipes", "list").status == 0
    assert operator.run("recipes", "sources").status == 0
    assert site.asked == []


def test_a_failure_is_told_and_what_was_there_is_served(
    operator: Operator, site: Server, url: str
) -> None:
    sync(operator, url)
    site.answers["/models.json"] = lambda handler: handler.say(503, b"")
    ran = operator.run("recipes", "sync", url)
    assert ran.status == 2
    assert ran.error == (
        f"{name_of(url)}: fetching\nerror: {url} answers 503 Service Unavailable\n"
    )
    assert operator.run("--recipes-dir", url, "recipes", "show", "org/repo").status == 0


def test_one_source_that_fails_keeps_no_other_from_it(
    operator: Operator, site: Server, url: str
) -> None:
    site.answers["/x.json"] = lambda handler: handler.say(200, recipe("One"))
    gone, fine = f"{site.url}/gone.json", f"{site.url}/x.json"
    operator.configure(f"sources:\n- {gone}\n- {{name: fine, url: {fine}}}\n")
    ran = operator.run("recipes", "sync")
    assert ran.status == 2
    assert ran.out.startswith("fine  ")
    assert f"error: {gone} answers 404 Not Found\n" in ran.err


def test_a_pin_is_kept_and_said(operator: Operator, site: Server, url: str) -> None:
    [first] = sync(operator, url)
    site.answers["/org/repo.json"] = lambda handler: handler.say(200, recipe("Two"))
    [second] = sync(operator, url)
    assert second["previous"] == first["revision"]
    [pinned] = sync(operator, url, "--pin", first["revision"])
    assert pinned["revision"] == first["revision"]
    ran = operator.run("recipes", "sync", name_of(url))
    assert ran.out.endswith(f"pinned to {first['revision']}; nothing was fetched\n")
    assert f"{name_of(url)} stays at {first['revision']}; --unpin follows the newest\n" in ran.err
    [free] = sync(operator, name_of(url), "--unpin")
    assert (free["revision"], free["pin"]) == (second["revision"], None)


def test_recipes_that_cannot_be_read_are_told(operator: Operator, site: Server, url: str) -> None:
    ids = ["org/repo", *(f"bad/r{i:02}" for i in range(12))]
    index = json.dumps([{"hf_id": each} for each in ids]).encode()
    site.answers["/models.json"] = lambda handler: handler.say(200, index)
    for each in ids[1:]:
        site.answers[f"/{each}.json"] = lambda handler: handler.say(200, b"[]")
    ran = operator.run("recipes", "sync", url)
    assert ran.out.endswith("  13 recipes (12 cannot be read)  new\n")
    lines = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert lines[0].startswith("warning: bad/r00: models/bad/r00.json:1:1: found a list; expected")
    assert lines[10:] == ["warning: and 2 more"]


def test_the_sources_are_listed_in_their_order(operator: Operator, site: Server, url: str) -> None:
    directory = operator.home / "mine"
    for path, text in {
        "models/a/b.yaml": "model: {model_id: a/b}\nvariants: {default: {}}\n",
        "overlays/a/c.yaml": "guide: x",
    }.items():
        (directory / path).parent.mkdir(parents=True)
        (directory / path).write_text(text)
    overlay = operator.home / ".config/vllm-launch/recipes" / f"{FLASH}.yaml"
    overlay.parent.mkdir(parents=True)
    overlay.write_text("guide: x")
    [said] = sync(operator, url)
    other = f"{site.url}/x.json"
    site.answers["/x.json"] = lambda handler: handler.say(200, recipe("One"))
    sync(operator, other)
    missing = "https://h.example/r"
    operator.configure(f"recipes_dir: [{directory}]\nsources: [{url}, {missing}]\n")
    ran = operator.run("recipes", "sources")
    bundled = operator.run("recipes", "sources", "-o", "json").json["sources"]["in_use"][-1]
    lines = ran.out.splitlines()
    assert lines[:8] == [
        f"1. {directory}",
        "   1 recipe",
        f"2. {url}",
        f"   {name_of(url)}, revision {said['revision'][:12]}, synced {said['synced']}, 1 recipe",
        f"3. {missing}",
        f"   {missing} has not been synced; vllm-launch recipes sync {missing}",
        "4. bundled",
        f"   revision {__version__}, {bundled['recipes']} recipes",
    ]
    assert lines[8:11] == ["", "Synced, and not in use", f"-  {other}"]
    assert lines[12:] == [
        "",
        "Overlays",
        f"   {overlay}",
        f"   {directory}/overlays/a/c.yaml: no recipe has this id",
    ]
    listed = operator.run("recipes", "sources", "--output", "json").json["sources"]
    assert [each["source"] for each in listed["in_use"]] == [
        str(directory), url, missing, "bundled"
    ]  # fmt: skip
    assert [each["source"] for each in listed["not_in_use"]] == [other]
    assert [each["used"] for each in listed["overlays"]] == [True, False]


NO_SOURCE = "error: '{}' is no source of recipes\n  write [NAME=]https://HOST/PATH[#PIN]\n"
WRONG = {
    "nothing to sync": (
        (),
        (
            "error: there is no source to sync\n  name one, such as vllm-launch recipes sync "
            "https://github.com/vllm-project/recipes\n"
        ),
    ),
    "an unknown name": (("near",), "error: there is no source 'near'\n  there are: none\n"),
    "http": (
        ("http://h.example/r",),
        NO_SOURCE.format('http://h.example/r'),
    ),
    "ssh": (
        ("ssh://h.example/r",),
        NO_SOURCE.format('ssh://h.example/r'),
    ),
    "a file": (
        ("file:///etc/passwd",),
        NO_SOURCE.format('file:///etc/passwd'),
    ),
    "a password, which is not shown": (
        ("https://me:secret@h.example/r",),
        NO_SOURCE.format("https://…@h.example/r"),
    ),
    "a remote helper": (("ext::sh",), "error: there is no source 'ext::sh'\n  there are: none\n"),
    "two pins": (
        ("https://h.example/r", "--pin", "v1", "--unpin"),
        "error: --pin and --unpin contradict each other\n  leave one out\n",
    ),
    "an option for git": (
        ("https://h.example/r", "--pin=--upload-pack=x"),
        "error: --pin: found '--upload-pack=x'; expected a commit, a branch or a tag\n",
    ),
}  # fmt: skip


def test_several_at_once_take_turns(operator: Operator, site: Server, url: str) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    many = [operator.start("recipes", "sync", url, **pipes) for _ in range(4)]
    said = [process.communicate(timeout=60) for process in many]
    assert [process.returncode for process in many] == [0] * 4, said
    assert sorted(out.split()[-1] for out, _ in said) == [b"before"] * 3 + [b"new"]
    assert operator.run("--recipes-dir", url, "recipes", "show", "org/repo").status == 0


@pytest.mark.parametrize(
    ("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else "",
)  # fmt: skip
def test_a_sync_that_is_ended_changes_nothing(
    operator: Operator, site: Server, url: str, how: signal.Signals, status: int
) -> None:
    [before] = sync(operator, url)
    reached = threading.Event()

    def hang(handler: Handler) -> None:
        reached.set()
        handler.hang()

    whole = site.answers["/org/repo.json"]
    site.answers["/org/repo.json"] = hang
    process = operator.start("recipes", "sync", url, stderr=subprocess.PIPE)
    assert reached.wait(30)
    process.send_signal(how)
    _, said = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in said
    listed = operator.run("recipes", "sources", "-o", "json").json["sources"]["not_in_use"]
    assert listed[0]["revision"] == before["revision"]
    assert operator.run("--recipes-dir", url, "recipes", "show", "org/repo").status == 0
    site.answers["/org/repo.json"] = whole
    assert operator.run("recipes", "sync", url).out.endswith("as before\n")


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense(
    operator: Operator, site: Server, words: tuple[str, ...], told: str
) -> None:
    ran = operator.run("recipes", "sync", *words)
    assert (ran.status, ran.error) == (2, told)


def test_a_pin_without_a_source(operator: Operator, url: str) -> None:
    sync(operator, url)
    for named in ((), (url, url)):
        ran = operator.run("recipes", "sync", *named, "--pin", "v1")
        assert (ran.status, ran.out) == (2, "")
    assert (ran.status, ran.error) == (2, "error: --pin: a revision of which source?\n  name one\n")


def test_without_git_it_says_what_to_install(operator: Operator, site: Server) -> None:
    ran = operator.run("recipes", "sync", f"{site.url}/r")
    assert ran.status == 5
    assert ran.error == (
        "error: git is not there, which a git source is fetched with\n"
        "  install git, or use a published JSON address (ending in .json)\n"
    )


def test_a_time_limit_of_the_operators(operator: Operator, site: Server, url: str) -> None:
    site.answers["/models.json"] = lambda handler: handler.hang()
    ran = operator.run("recipes", "sync", url, "--timeout", "1")
    assert ran.status == 2
    assert ran.err.endswith(f"error: {url} takes longer than 1 s\n  give --timeout SECONDS\n")


def test_synced_names_are_completed(operator: Operator, url: str) -> None:
    sync(operator, url)
    ran = operator.run(
        env={
            "_VLLM_LAUNCH_COMPLETE": "complete_bash",
            "COMP_WORDS": "vllm-launch\nrecipes\nsync\nlocal",
            "COMP_CWORD": "3",
        }
    )
    assert ran.out.split() == [name_of(url)]
