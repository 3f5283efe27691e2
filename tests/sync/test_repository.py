"""A git repository as a source, from git's own server; and what a repository can hold of evil."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sync.conftest import LIMITS, Synced, held, revisions
from tests.sync.server import Handler, Server
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.catalog.sources import name_of
from vllm_launch.errors import MissingProgram
from vllm_launch.sync.limits import Limits, SourceError

RECIPE = "meta: {{title: {}}}\nmodel: {{model_id: org/repo}}\nvariants: {{default: {{}}}}\n"
LINK, SUBMODULE, FILE, TREE = "120000", "160000", "100644", "40000"


def recipe(title: str = "One") -> bytes:
    return RECIPE.format(title).encode()


class Origin:
    """A bare repository behind the server, written object by object, as an attacker would."""

    def __init__(self, path: Path, url: str) -> None:
        self.path, self.url = path, url
        self.git("init", "-q", "--bare", "-b", "main", "--template=", str(path))
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def git(self, *words: str, given: bytes = b"") -> str:
        who = {
            "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x", "GIT_COMMITTER_NAME": "x",
            "GIT_COMMITTER_EMAIL": "x@x", "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": str(self.path), "PATH": os.environ["PATH"],
        }  # fmt: skip
        done = subprocess.run(
            ["git", *words], input=given, env=who, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def blob(self, body: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=body)

    def tree(self, *entries: tuple[str, str, str | bytes]) -> str:
        """A tree of mode, name and object or body; nothing is checked."""
        raw = b""
        for mode, name, what in entries:
            made = self.blob(what) if isinstance(what, bytes) else what
            raw += f"{mode} {name}\0".encode() + bytes.fromhex(made)
        return self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=raw)

    def commit(self, tree: str, ref: str = "refs/heads/main") -> str:
        commit = self.git("commit-tree", tree, "-m", "x")
        self.git("update-ref", ref, commit)
        return commit

    def models(self, *entries: tuple[str, str, str | bytes]) -> str:
        """The tree of a repository that has one good recipe, and more in its folder."""
        org = self.tree(*sorted((*entries, (FILE, "repo.yaml", recipe())), key=lambda e: e[1]))
        return self.tree((TREE, "models", self.tree((TREE, "org", org))))

    def good(self, title: str = "One") -> str:
        """A commit with nothing but a recipe."""
        org = self.tree((FILE, "repo.yaml", recipe(title)))
        return self.commit(self.tree((TREE, "models", self.tree((TREE, "org", org)))))


@pytest.fixture
def origin(server: Server, request: pytest.FixtureRequest) -> Origin:
    shutil.rmtree(server.repositories, ignore_errors=True)
    server.repositories.mkdir()
    return Origin(server.repositories / "r", f"{server.url}/git/r")


def test_the_newest_commit_is_synced_and_served_offline(
    origin: Origin, synced: Synced, server: Server, cache: Path
) -> None:
    commit = origin.good()
    outcome = synced(origin.url)
    assert (outcome.current.revision, outcome.current.kind) == (commit, "git")
    assert (outcome.changed, outcome.current.recipes, outcome.broken) == (True, 1, {})
    server.asked.clear()
    shutil.rmtree(origin.path)
    assert held(origin.url)[1] == "One"
    found = Shelf([origin.url]).find("org/repo")
    assert found.origin.revision == commit
    assert server.asked == []


def test_a_later_commit_takes_the_place_of_the_first(
    origin: Origin, synced: Synced, cache: Path
) -> None:
    commits = []
    for title in ("One", "Two", "Three"):
        commits.append(origin.good(title))
        outcome = synced(origin.url)
        assert held(origin.url)[1] == title
    assert outcome.current.previous == commits[1]
    assert revisions(cache, origin.url) == set(commits[1:])


def test_everything_of_a_recipes_directory_is_taken_and_nothing_else(
    origin: Origin, synced: Synced, cache: Path
) -> None:
    bundled = Path(__file__).parents[2] / "recipes"
    strategy = (bundled / "strategies/single_node_tp.yaml").read_bytes()
    store = (bundled / "kv_store/kv_store_distributed_mooncake.yaml").read_bytes()
    org = origin.tree(
        (FILE, ".hidden.yaml", b"x"),
        (FILE, "README.md", b"x"),
        ("100755", "repo.yaml", recipe()),
        (FILE, "run.sh", b"x"),
    )
    tree = origin.tree(
        (LINK, "AGENTS.md", b"README.md"),
        (FILE, "README.md", b"x"),
        (TREE, "kv_store", origin.tree((FILE, "kv_store_distributed_mooncake.yaml", store))),
        (TREE, "models", origin.tree((FILE, "README.yaml", b"x"), (TREE, "org", org))),
        (TREE, "overlays", origin.tree(
            (TREE, "org", origin.tree((FILE, "repo.yaml", b"meta: {title: Over}")))
        )),
        (TREE, "strategies", origin.tree((FILE, "single_node_tp.yaml", strategy))),
        (FILE, "taxonomy.yaml", (bundled / "taxonomy.yaml").read_bytes()),
    )  # fmt: skip
    commit = origin.commit(tree)
    assert synced(origin.url).current.recipes == 1
    directory = cache / "vllm-launch/sources" / name_of(origin.url) / commit
    files = [str(p.relative_to(directory)) for p in sorted(directory.rglob("*")) if p.is_file()]
    assert files == [
        "kv_store/kv_store_distributed_mooncake.yaml",
        "models/org/repo.yaml",
        "overlays/org/repo.yaml",
        "strategies/single_node_tp.yaml",
        "taxonomy.yaml",
    ]
    assert (directory / "models/org/repo.yaml").stat().st_mode & 0o777 == 0o644
    assert held(origin.url)[1] == "Over"


def test_recipes_may_stand_below_the_root(origin: Origin, synced: Synced) -> None:
    origin.commit(origin.tree((TREE, "recipes", origin.models())))
    synced(origin.url)
    assert held(origin.url)[1] == "One"


def test_objects_that_are_there_are_not_fetched_again(
    origin: Origin, synced: Synced, cache: Path
) -> None:
    noise = (FILE, "noise.bin", os.urandom(100_000))
    origin.commit(origin.models(noise))
    synced(origin.url)
    origin.commit(origin.models(noise, (FILE, "two.yaml", recipe("Two"))))
    synced(origin.url)
    store = cache / "vllm-launch/sources" / name_of(origin.url) / "git/objects/pack"
    assert 100_000 < sum(path.stat().st_size for path in store.glob("*.pack")) < 110_000


# Pins.


@pytest.mark.parametrize("kind", ["a commit", "a branch", "a tag", "an annotated tag"])
def test_a_pin_is_taken_and_kept(origin: Origin, synced: Synced, server: Server, kind: str) -> None:
    old = origin.good("Old")
    origin.git("update-ref", "refs/heads/stable", old)
    origin.git("tag", "v1", old)
    origin.git("tag", "-a", "-m", "x", "v2", old)
    origin.good("New")
    pin = {"a commit": old, "a branch": "stable", "a tag": "v1", "an annotated tag": "v2"}[kind]
    outcome = synced(origin.url, pin=pin)
    assert (outcome.current.revision, outcome.current.pin) == (old, pin)
    origin.git("update-ref", "refs/heads/stable", origin.git("rev-parse", "main"))
    server.asked.clear()
    again = synced(origin.url)
    assert (again.kept_pin, again.current.revision, server.asked) == (True, old, [])
    assert held(f"{origin.url}#{pin}")[1] == "Old"
    free = synced(origin.url, unpin=True)
    assert (free.current.pin, held(origin.url)[1]) == ("", "New")


def test_a_commit_that_was_fetched_once_is_pinned_offline(
    origin: Origin, synced: Synced, server: Server
) -> None:
    old = origin.good("Old")
    synced(origin.url)
    origin.good("New")
    synced(origin.url)
    shutil.rmtree(origin.path)
    assert synced(origin.url, pin=old).current.revision == old
    assert held(origin.url)[1] == "Old"


@pytest.mark.parametrize(
    ("pin", "told"),
    [
        ("v9", "cannot fetch {url}: couldn't find remote ref v9"),
        ("0" * 40, "cannot fetch {url}: remote error: upload-pack: not our ref " + "0" * 40),
    ],
    ids=["a tag", "a commit"],
)
def test_a_pin_that_is_not_there(
    origin: Origin, synced: Synced, cache: Path, pin: str, told: str
) -> None:
    origin.good()
    synced(origin.url)
    before = held(origin.url)
    with pytest.raises(SourceError) as caught:
        synced(origin.url, pin=pin)
    assert caught.value.message == told.format(url=origin.url)
    assert held(origin.url) == before
    assert revisions(cache, origin.url) == {before[0].revision}


# What a repository can hold. Each makes a tree, and is refused with these words.

Evil = Callable[[Origin], str]
BAD: dict[str, tuple[Evil, Limits, str]] = {
    "a link for a recipe": (
        lambda o: o.models((LINK, "evil.yaml", b"/etc/passwd")),
        LIMITS,
        "{url}: models/org/evil.yaml is a link",
    ),
    "a link for a folder": (
        lambda o: o.tree((TREE, "models", o.tree(
            (LINK, "evil", b"../../.."),
            (TREE, "org", o.tree((FILE, "repo.yaml", recipe()))),
        ))),
        LIMITS,
        "{url}: models/evil is a link",
    ),
    "a link for models": (
        lambda o: o.tree((LINK, "models", b"/home")),
        LIMITS,
        "{url} has no recipes: no folder models/ at {commit}",
    ),
    "a link for the taxonomy": (
        lambda o: o.tree((TREE, "models", o.tree((TREE, "org", o.tree(
            (FILE, "repo.yaml", recipe()))))), (LINK, "taxonomy.yaml", b"/etc/passwd")),
        LIMITS,
        "{url}: taxonomy.yaml is a link",
    ),
    "a submodule": (
        lambda o: o.models((SUBMODULE, "sub", "1" * 40)),
        LIMITS,
        "{url}: models/org/sub is a submodule",
    ),
    "names in another case": (
        lambda o: o.models((FILE, "Repo.yaml", b"x")),
        LIMITS,
        (
            "{url} has two files that differ only in case: 'models/org/Repo.yaml', "
            "'models/org/repo.yaml'"
        ),
    ),
    "a name that no terminal should show": (
        lambda o: o.models((FILE, "a\x1b[2Jb.yaml", b"x")),
        LIMITS,
        "{url} has a file with the name 'models/org/a\\x1b[2Jb.yaml'",
    ),
    "a name that a shell would obey": (
        lambda o: o.models((FILE, "$(id).yaml", b"x")),
        LIMITS,
        "{url} has a file with the name 'models/org/$(id).yaml'",
    ),
    "an overlong name": (
        lambda o: o.models((FILE, "x" * 200 + ".yaml", b"x")),
        LIMITS,
        "{url} has a file with the name 'models/org/" + "x" * 89 + "'",
    ),
    "a backslash": (
        lambda o: o.models((FILE, "a\\..\\b.yaml", b"x")),
        LIMITS,
        "{url} has a file with the name 'models/org/a\\\\..\\\\b.yaml'",
    ),
    "a file that is too large": (
        lambda o: o.models((FILE, "big.yaml", b"x" * 2_000_000)),
        LIMITS,
        "{url}: models/org/big.yaml has 2000000 bytes; a recipe has at most 1048576",
    ),
    "a pack that is too large": (
        lambda o: o.models((FILE, "noise.bin", os.urandom(400_000))),
        LIMITS.replace(bytes=100_000),
        "{url} has more than 100000 bytes",
    ),
    "too many files": (
        lambda o: o.models(*((FILE, f"{i}.yaml", b"x") for i in range(5))),
        LIMITS.replace(files=5),
        "{url} has 6 files; at most 5 are taken",
    ),
    "no recipes": (
        lambda o: o.tree((FILE, "README.md", b"x")),
        LIMITS,
        "{url} has no recipes: no folder models/ at {commit}",
    ),
    "only broken ones": (
        lambda o: o.tree((TREE, "models", o.tree((TREE, "a", o.tree((FILE, "b.yaml", b"[")))))),
        LIMITS,
        (
            "{url} has no recipe that can be read: models/a/b.yaml:2:1: not valid YAML: while "
            "parsing a flow node did not find expected node content"
        ),
    ),
    "a way out": (
        lambda o: o.tree((TREE, "models", o.tree(
            (TREE, "..", o.tree((FILE, "victim.yaml", b"x"))),
            (TREE, "org", o.tree((FILE, "repo.yaml", recipe()))),
        ))),
        LIMITS,
        "",
    ),
    "a slash in a name": (
        lambda o: o.models((FILE, "../../x.yaml", b"x")),
        LIMITS,
        "",
    ),
    "a .git of its own": (
        lambda o: o.models((TREE, ".git", o.tree((FILE, "config", b"[core]\n")))),
        LIMITS,
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("evil", "limits", "told"), BAD.values(), ids=BAD)
def test_an_evil_repository_is_refused_and_changes_nothing(
    origin: Origin, synced: Synced, cache: Path, evil: Evil, limits: Limits, told: str
) -> None:
    origin.good()
    synced(origin.url)
    before = held(origin.url)
    commit = origin.commit(evil(origin))
    with pytest.raises(SourceError) as caught:
        synced(origin.url, limits)
    if told:
        assert caught.value.message == told.format(url=origin.url, commit=commit[:12])
    else:  # git's own check of what it is sent, in git's words
        assert caught.value.message.startswith(f"cannot fetch {origin.url}: ")
    assert held(origin.url) == before
    assert revisions(cache, origin.url) == {before[0].revision}
    origin.good("Better")
    synced(origin.url)
    assert held(origin.url)[1] == "Better"


def test_nothing_that_a_repository_brings_along_is_run(
    origin: Origin, synced: Synced, cache: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "repo-was-run"
    hook = f"#!/bin/sh\ntouch {mark}\n".encode()
    hooks = [("100755", name, hook) for name in ("post-checkout", "post-merge", "update")]
    org = origin.tree((FILE, "repo.yaml", recipe()))
    origin.commit(origin.tree(
        (FILE, ".gitattributes", b"*.yaml filter=evil diff=evil\n"),
        (TREE, ".githooks", origin.tree(*hooks)),
        (TREE, "hooks", origin.tree(*hooks)),
        (TREE, "models", origin.tree((TREE, "org", org))),
    ))  # fmt: skip
    (tmp_path / "home" / ".gitconfig").write_text((tmp_path / "home" / ".gitconfig").read_text())
    synced(origin.url)
    assert held(origin.url)[1] == "One"
    assert not mark.exists()
    directory = cache / "vllm-launch/sources" / name_of(origin.url)
    assert sorted(p.name for p in directory.rglob("*.yaml")) == ["repo.yaml"]
    assert not (directory / "git" / "hooks").exists()


LEFT: dict[str, Callable[[Path], object]] = {
    "a lock on what is shallow": lambda git: (git / "shallow.lock").touch(),
    "a lock on the reference": lambda git: (git / "refs/sync/head.lock").touch(),
    "no HEAD": lambda git: (git / "HEAD").unlink(),
    "an empty HEAD": lambda git: (git / "HEAD").write_text(""),
    "no references": lambda git: shutil.rmtree(git / "refs"),
    "no objects": lambda git: shutil.rmtree(git / "objects"),
}


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_what_a_git_that_was_ended_left_is_mended(
    origin: Origin, synced: Synced, cache: Path, left: Callable[[Path], object]
) -> None:
    origin.good()
    synced(origin.url)
    left(cache / "vllm-launch/sources" / name_of(origin.url) / "git")
    origin.good("Two")
    synced(origin.url)
    assert held(origin.url)[1] == "Two"


def test_a_disk_without_room_for_what_git_is_given(
    origin: Origin, synced: Synced, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin.good()

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("vllm_launch.sync.repository.TemporaryFile", full)
    with pytest.raises(SourceError) as caught:
        synced(origin.url)
    assert caught.value.message == f"cannot run git for {origin.url}: No space left on device"


def test_a_tree_without_end_is_broken_off(origin: Origin, synced: Synced) -> None:
    """Ten folders of ten folders of …: as many files as nobody can list, out of few objects."""
    tree = origin.tree((FILE, "x.yaml", b"x"))
    for _ in range(9):
        tree = origin.tree(*((TREE, str(i), tree) for i in range(10)))
    origin.commit(origin.tree((TREE, "models", tree)))
    with pytest.raises(SourceError) as caught:
        synced(origin.url, LIMITS.replace(bytes=1 << 20))
    assert caught.value.message == f"{origin.url} has too many files to be listed"


def test_a_branch_that_moves_meanwhile_is_taken_as_it_was_said_to_be(
    origin: Origin, synced: Synced, server: Server
) -> None:
    first = origin.good("First")
    seen: list[str] = []

    def move(handler: Handler) -> None:
        """Between what the server says it has and what it is asked for."""
        seen.append(handler.command)
        if seen.count("POST") == 2 and origin.git("rev-parse", "main") == first:
            origin.good("Second")

    server.before_git = move
    assert synced(origin.url).current.revision == first
    assert origin.git("rev-parse", "main") != first
    assert held(origin.url)[1] == "First"
    synced(origin.url)
    assert held(origin.url)[1] == "Second"


def test_a_commit_that_is_gone_meanwhile(
    origin: Origin, synced: Synced, server: Server, cache: Path
) -> None:
    origin.good("First")
    synced(origin.url)
    before = held(origin.url)
    origin.good("Second")

    def lose(handler: Handler) -> None:
        if handler.command == "POST" and server.asked[-1][1].get("Content-Length") != "0":
            shutil.rmtree(origin.path / "objects", ignore_errors=True)
            (origin.path / "objects").mkdir()

    server.before_git = lose
    with pytest.raises(SourceError) as caught:
        synced(origin.url)
    assert caught.value.message.startswith(f"cannot fetch {origin.url}: ")
    assert held(origin.url) == before
    assert revisions(cache, origin.url) == {before[0].revision}


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_server_that_refuses_asks_nobody_for_a_password(
    server: Server, synced: Synced, status: int
) -> None:
    server.answers["/r/info/refs"] = lambda h: h.say(
        status, b"", "text/plain", WWW_Authenticate='Basic realm="x"'
    )
    url = f"{server.url}/r"
    with pytest.raises(SourceError) as caught:
        synced(url)
    said = {
        401: f"could not read Username for '{server.url}': terminal prompts disabled",
        403: f"unable to access '{url}/': The requested URL returned error: 403",
        404: f"repository '{url}/' not found",
        500: f"unable to access '{url}/': The requested URL returned error: 500",
    }[status]
    assert caught.value.message == f"cannot fetch {url}: {said}"
    assert not any("Authorization" in headers for _, headers in server.asked)


@pytest.mark.parametrize(
    "location", ["http://localhost:1/r", "file:///etc", "git://localhost/r", "ssh://localhost/r"]
)
def test_a_redirect_to_another_protocol_is_refused(
    server: Server, synced: Synced, location: str
) -> None:
    server.answers["/r/info/refs"] = lambda h: h.say(302, b"", "text/plain", Location=location)
    with pytest.raises(SourceError) as caught:
        synced(f"{server.url}/r")
    assert caught.value.message.startswith(f"cannot fetch {server.url}/r: ")
    assert "not supported or disabled" in caught.value.message or (
        "Unsupported URL scheme" in caught.value.message
    )


def test_a_server_that_hangs_is_left(server: Server, synced: Synced) -> None:
    server.answers["/r/info/refs"] = Handler.hang
    with pytest.raises(SourceError) as caught:
        synced(f"{server.url}/r", LIMITS.replace(seconds=2))
    assert caught.value.message == f"{server.url}/r takes longer than 2 s"


def test_a_server_that_breaks_off(server: Server, synced: Synced) -> None:
    def half(handler: Handler) -> None:
        handler.head(200, {
            "Content-Type": "application/x-git-upload-pack-advertisement", "Content-Length": "900"
        })  # fmt: skip
        handler.wfile.write(b"001e# service=git-upload-pack\n0000")
        handler.close_connection = True

    server.answers["/r/info/refs"] = half
    with pytest.raises(SourceError) as caught:
        synced(f"{server.url}/r")
    assert caught.value.message.startswith(f"cannot fetch {server.url}/r: ")


def test_a_page_is_no_repository(server: Server, synced: Synced) -> None:
    server.answers["/r/info/refs"] = lambda h: h.say(200, b"<html>", "text/html")
    with pytest.raises(SourceError) as caught:
        synced(f"{server.url}/r")
    assert caught.value.message.startswith(f"cannot fetch {server.url}/r: ")


def test_an_untrusted_certificate(
    origin: Origin, synced: Synced, tmp_path: Path, authority: tuple[Path, Path]
) -> None:
    other = authority[1]
    with pytest.raises(SourceError) as caught:
        synced(origin.url.replace("localhost", "127.0.0.1"))
    assert caught.value.message.startswith("cannot fetch https://127.0.0.1:")
    assert other.exists()


def test_without_git(synced: Synced, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingProgram) as caught:
        synced(f"{server.url}/git/r")
    assert caught.value.exit_status == 5
    assert caught.value.message == "git is not there, which a git source is fetched with"
