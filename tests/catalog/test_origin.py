"""Which source and revision a recipe is from, and what it hides."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Write
from vllm_launch import __version__
from vllm_launch.catalog.checkout import commit_of
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.catalog.sources import directory_of, name_of, parse
from vllm_launch.errors import UsageError

M3 = "MiniMaxAI/MiniMax-M3"
URL = "https://h.example/recipes"


def digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def published(recipe_id: str) -> str:
    return texts.published().replace('"org/repo"', f'"{recipe_id}"')


def test_a_bundled_recipe_has_the_launchers_version() -> None:
    found = Shelf().find(M3)
    origin = found.origin
    assert (origin.source, origin.revision, origin.shadowed) == ("bundled", __version__, ())
    assert origin.digest == digest(Path(found.path))


def test_the_nearest_wins_and_says_what_it_hides(write: Write) -> None:
    directory = write({f"models/{M3}.yaml": texts.SMALL})
    for name in (M3, M3.lower()):
        origin = Shelf([str(directory)]).find(name).origin
        assert (origin.source, origin.revision) == (str(directory), "")
        assert origin.shadowed == ("bundled",)
        assert origin.digest == digest(directory / f"models/{M3}.yaml")


def test_a_source_that_is_named_twice_is_there_once(write: Write) -> None:
    directory = str(write({"models/a/b.yaml": texts.SMALL}))
    assert Shelf([directory, directory]).find("a/b").shadowed == ()


def test_an_overlay_has_its_own_digest(write: Write) -> None:
    directory = write({"models/a/b.yaml": texts.SMALL, "overlays/a/b.yaml": "guide: x"})
    path = directory / "overlays/a/b.yaml"
    assert Shelf([str(directory)]).find("a/b").origin.overlays == ((str(path), digest(path)),)


def test_a_file_that_is_named_is_its_own_source(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(texts.SMALL)
    origin = Shelf().find(str(path)).origin
    assert (origin.source, origin.revision, origin.digest) == (str(path), "", digest(path))


# A checkout's commit.


def git(directory: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(write: Write) -> Path:
    directory = write({"models/a/b.yaml": texts.SMALL})
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "x")
    return directory


STATES = {
    "a branch": [],
    "packed": [("pack-refs", "--all")],
    "detached": [("checkout", "-q", "--detach")],
    "a branch with a slash": [("checkout", "-q", "-b", "topic/x"), ("pack-refs", "--all")],
}


@pytest.mark.parametrize("steps", STATES.values(), ids=STATES)
def test_a_checkout_has_its_commit(checkout: Path, steps: list[tuple[str, ...]]) -> None:
    for step in steps:
        git(checkout, *step)
    commit = git(checkout, "rev-parse", "HEAD")
    assert Shelf([str(checkout)]).find("a/b").origin.revision == commit
    assert Shelf().find(str(checkout / "models/a/b.yaml")).origin.revision == commit
    assert commit_of(str(checkout / "models" / "a")) == commit


def test_a_worktree_has_its_own_commit(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "y")
    commit = git(tmp_path / "tree", "rev-parse", "HEAD")
    assert commit != git(checkout, "rev-parse", "HEAD")
    assert commit_of(str(tmp_path / "tree")) == commit


ODD = {
    "no commit yet": "ref: refs/heads/none\n",
    "a way out": "ref: refs/../../secret\n",
    "elsewhere": "ref: /etc/hostname\n",
    "words": "nothing of the kind\n",
    "empty": "",
    "not text": "\udcff",
}


@pytest.mark.parametrize("head", ODD.values(), ids=ODD)
def test_a_commit_that_cannot_be_seen_is_none(checkout: Path, head: str) -> None:
    (checkout / "secret").write_text("0" * 40)
    (checkout / ".git/HEAD").write_bytes(os.fsencode(head))
    assert commit_of(str(checkout)) == ""


def test_no_git_is_run(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert len(commit_of(str(checkout))) == 40


def test_a_checkout_of_this_project_is_a_recipes_directory(tmp_path: Path, write: Write) -> None:
    directory = write({"models/a/b.yaml": texts.SMALL})
    assert Shelf([str(directory.parent)]).find("a/b").library.directory == str(directory)
    assert Shelf([str(directory.parent)]).find("a/b").library.source == str(directory.parent)


# A published file.


def test_a_published_recipe_is_a_source_of_one(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(published("Org/Pub"))
    shelf = Shelf([str(path)])
    for name in ("Org/Pub", "org/pub"):
        found = shelf.find(name)
        assert (found.recipe.id, found.origin.source) == ("Org/Pub", str(path))
        assert found.origin.digest == digest(path)
    assert [each for each, library in shelf.ids() if not library.own] == ["Org/Pub"]
    assert shelf.find("org/repo-FP8").variant == "fp8"
    assert "h200" in found.library.taxonomy.hardware_profiles
    assert found.library.strategy("single_node_tp").name == "single_node_tp"


def test_an_index_lists_what_stands_beside_it(tmp_path: Path) -> None:
    ids = ["Org/A", "Org/B", "Org/A-FP8", "../x/y", "a/../b", "/etc/passwd", "-x/y", "Org/Gone"]
    index = [{"hf_id": each, "json": f"/{each}.json"} for each in ids]
    index[2]["derived_from"] = "Org/A"
    (tmp_path / "models.json").write_text(json.dumps([*index, 5, {"hf_id": 7}, {}]))
    for each in ("Org/A", "Org/B", "Org/A-FP8"):
        path = tmp_path / f"{each}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(published(each))
    shelf = Shelf([str(tmp_path / "models.json")])
    assert [each for each, library in shelf.ids() if not library.own] == ["Org/A", "Org/B"]
    assert shelf.find("org/b").path == str(tmp_path / "Org/B.json")


@pytest.mark.parametrize("text", ["{}", "[]", "5", '{"hf_id": "../x"}', '[{"hf_id": "a/b"}]'])
def test_a_file_of_another_shape(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        Shelf([str(path)])
    assert str(caught.value) == (
        f"{path} is neither a published recipe nor an index with recipes beside it"
    )


# A synced source, as it lies in the cache.


def lay(revision: str = "abc", said: str = "", url: str = URL, name: str = "") -> Path:
    """A copy of a source in the cache."""
    directory = Path(directory_of(name or name_of(url)))
    path = directory / revision / "models" / "MiniMaxAI" / "MiniMax-M3.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(texts.SMALL)
    (directory / "current").write_text(f"revision: {revision}\nurl: {url}\n{said}")
    return path


def test_a_synced_source_is_used_by_its_address() -> None:
    path = lay()
    for shelf in (Shelf([URL]), Shelf(sources=[URL]), Shelf([f"{URL}/"])):
        origin = shelf.find(M3).origin
        assert (origin.source, origin.revision, origin.shadowed) == (URL, "abc", ("bundled",))
        assert shelf.find(M3).path == str(path)


def test_sources_come_after_directories_and_before_the_bundled(write: Write) -> None:
    lay()
    directory = write({f"models/{M3}.yaml": texts.SMALL})
    shelf = Shelf([str(directory)], [URL])
    assert [library.source for library in shelf.libraries] == [str(directory), URL, "bundled"]
    assert shelf.find(M3).shadowed == (URL, "bundled")


def test_a_source_goes_by_its_address_whatever_its_name() -> None:
    lay(name="near")
    assert Shelf(sources=[f"near={URL}"]).libraries[0].source == URL
    assert Shelf([URL]).libraries[0].source == URL
    with pytest.raises(UsageError):
        Shelf(sources=["near=https://other.example/recipes"])


def refusal(text: str) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        Shelf([text])
    return caught.value.message, caught.value.hint


def test_a_source_that_was_not_synced_says_what_to_type() -> None:
    assert refusal(URL) == (f"{URL} has not been synced", f"vllm-launch recipes sync {URL}")
    assert refusal(f"{URL}/$(id)")[1] == f"vllm-launch recipes sync '{URL}/$(id)'"
    assert refusal(f"{URL}#v1") == (
        f"{URL} has not been synced",
        f"vllm-launch recipes sync {URL} --pin v1",
    )


def test_a_pin_that_the_copy_is_not_at() -> None:
    lay(said="pin: v1\n")
    assert Shelf([f"{URL}#v1"]).libraries[0].source == URL
    assert Shelf([URL]).libraries[0].source == URL
    assert refusal(f"{URL}#v2") == (
        f"{URL} is synced at v1, and v2 is asked for",
        f"vllm-launch recipes sync {URL} --pin v2",
    )


def test_a_copy_that_is_gone() -> None:
    path = lay()
    path.unlink()
    for parent in list(path.parents)[:2]:
        parent.rmdir()
    directory = str(path.parents[2])
    assert refusal(URL)[0] == f"the copy of {URL} is gone: {directory}"


@pytest.mark.parametrize(
    "record",
    ["", "revision: ../x\nurl: https://h.example/recipes\n", "url: https://h.example/recipes\n",
     "revision: abc\nurl: http://h.example/recipes\n", "\0", "\xff"],
    ids=ascii,
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_none(record: str) -> None:
    path = lay().parents[3] / "current"
    path.write_bytes(record.encode("latin-1"))
    assert refusal(URL)[0] == f"{URL} has not been synced"


@pytest.mark.parametrize(
    "text",
    ["http://h.example/r", "ssh://h.example/r", "git://h.example/r", "file:///etc", "ext::sh",
     "https://", "https://user:pw@h.example/r", "https://h.example/a b", "https://h.example/\n",
     "https://h.example/r#--upload-pack=x", "https://h.example/r#a..b", "https://h.example/r#",
     "A=https://h.example/r", "../x=https://h.example/r", "=https://h.example/r",
     "https://h.example/" + "x" * 500],
)  # fmt: skip
def test_what_is_no_source(text: str) -> None:
    with pytest.raises(ValueError, match="https://HOST/PATH"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "name", "url", "pin"),
    [
        ("https://h.example/O/R.git", "h.example-o-r", "https://h.example/O/R.git", ""),
        ("https://h.example/r/#v1", "h.example-r", "https://h.example/r", "v1"),
        ("near=https://h.example/r/b#x/y", "near", "https://h.example/r/b", "x/y"),
        ("https://h.example:8443/../r", "h.example-8443-..-r", "https://h.example:8443/../r", ""),
    ],
)  # fmt: skip
def test_the_parts_of_a_source(text: str, name: str, url: str, pin: str) -> None:
    spec = parse(text)
    assert (spec.name, spec.url, spec.pin) == (name, url, pin)
