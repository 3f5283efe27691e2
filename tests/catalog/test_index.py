"""The index: what it says is what the files say now, whatever became of them or of its own file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.catalog.conftest import Write
from vllm_launch.catalog import index as indexes
from vllm_launch.catalog import outline as outlines
from vllm_launch.catalog.index import Index, entries
from vllm_launch.catalog.library import Library
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.errors import LaunchError
from vllm_launch.model.entry import Entry

ROOT = Path(__file__).parents[2]
UPSTREAM = ROOT.parent / "shared" / "reference" / "upstream" / "models"
RECIPE = """\
meta: {title: "T", provider: "P", tasks: [text], hardware: {h200: verified}}
model: {model_id: org/repo, parameter_count: "8B"}
variants: {default: {precision: bf16}}
guide: "words"
"""


def titles(directory: Path) -> dict[str, str]:
    """The titles of a directory's recipes, by id, as a process that starts now lists them."""
    found = entries(Shelf([str(directory)]))
    return {e.id: e.title for e in found if isinstance(e, Entry) and e.source == str(directory)}


@pytest.fixture
def outlined(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bytes that were read, and not taken from the index."""
    read: list[bytes] = []
    real = outlines.outline

    def outline(data: bytes) -> object:
        read.append(data)
        return real(data)

    monkeypatch.setattr(indexes, "outline", outline)
    return read


@pytest.fixture
def recipes(write: Write) -> Path:
    return write({"models/org/repo.yaml": RECIPE})


@pytest.fixture
def kept(cache: Path) -> Path:
    return cache / f"index-{sys.implementation.cache_tag}"


def test_a_recipe_is_read_once(recipes: Path, outlined: list[bytes]) -> None:
    first = titles(recipes)
    count = len(outlined)
    assert (first, RECIPE.encode() in outlined) == ({"org/repo": "T"}, True)
    assert titles(recipes) == first
    assert len(outlined) == count


def test_only_what_is_new_is_read(recipes: Path, write: Write, outlined: list[bytes]) -> None:
    titles(recipes)
    outlined.clear()
    new = RECIPE.replace("T", "New")
    write({"models/org/another.yaml": new})
    assert titles(recipes) == {"org/another": "New", "org/repo": "T"}
    assert outlined == [new.encode()]


def test_an_edit_of_the_same_size_at_the_same_time_is_seen(recipes: Path) -> None:
    path = recipes / "models/org/repo.yaml"
    os.utime(path, ns=(10**18, 10**18))
    assert titles(recipes) == {"org/repo": "T"}
    before = path.stat()
    with path.open("r+b") as file:  # the same inode too
        file.write(RECIPE.replace('"T"', '"U"').encode())
    os.utime(path, ns=(10**18, 10**18))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ino,
    )
    assert titles(recipes) == {"org/repo": "U"}


def test_what_is_gone_is_not_listed(recipes: Path, write: Write) -> None:
    write({"models/org/other.yaml": RECIPE})
    assert list(titles(recipes)) == ["org/other", "org/repo"]
    (recipes / "models/org/repo.yaml").unlink()
    assert list(titles(recipes)) == ["org/other"]


def test_a_file_that_took_anothers_place_is_read(recipes: Path, write: Write) -> None:
    write({"models/org/other.yaml": RECIPE.replace('"T"', '"Other"')})
    titles(recipes)
    one, other = recipes / "models/org/repo.yaml", recipes / "models/org/other.yaml"
    one.rename(recipes / "x")
    other.rename(one)
    (recipes / "x").rename(other)
    assert titles(recipes) == {"org/other": "T", "org/repo": "Other"}


def test_an_overlay_is_seen_and_its_going(recipes: Path, write: Write) -> None:
    assert titles(recipes) == {"org/repo": "T"}
    write({"overlays/org/repo.yaml": "meta: {title: Laid over}\n"})
    assert titles(recipes) == {"org/repo": "Laid over"}
    (recipes / "overlays/org/repo.yaml").unlink()
    assert titles(recipes) == {"org/repo": "T"}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:-1], id="cut"),
        pytest.param(lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], id="a bit"),
        pytest.param(lambda data: os.urandom(len(data)), id="noise"),
    ],
)
def test_a_damaged_index_is_made_again(recipes: Path, kept: Path, damage: object) -> None:
    titles(recipes)
    kept.write_bytes(damage(kept.read_bytes()))  # type: ignore[operator]
    assert titles(recipes) == {"org/repo": "T"}
    assert len(indexes._load(str(kept))[1]) > 1


def test_the_index_of_another_version_is_made_again(
    recipes: Path, outlined: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles(recipes)
    outlined.clear()
    monkeypatch.setattr(indexes, "_FORMAT", "another version")
    titles(recipes)
    assert RECIPE.encode() in outlined


def test_a_directory_in_its_place_is_no_fault(recipes: Path, kept: Path) -> None:
    kept.mkdir(parents=True)
    assert titles(recipes) == {"org/repo": "T"}


def test_a_cache_that_cannot_be_made_is_no_fault(
    recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert titles(recipes) == {"org/repo": "T"}


def test_a_cache_that_nobody_can_write_to_is_no_fault(
    recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/self")  # nor can root
    assert titles(recipes) == {"org/repo": "T"}


def test_without_a_home_nothing_is_kept(recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "cache_directory", lambda: "~/.cache/vllm-launch")
    assert titles(recipes) == {"org/repo": "T"}


def test_many_who_write_at_once_leave_a_whole_index(recipes: Path, kept: Path) -> None:
    code = (
        "import sys\nfrom vllm_launch.catalog.index import entries\n"
        "from vllm_launch.catalog.shelf import Shelf\n"
        "print(sorted(e.title for e in entries(Shelf(sys.argv[1:])) if e.id == 'org/repo'))"
    )
    command = [sys.executable, "-c", code, str(recipes)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) for _ in range(4)]
    assert {process.communicate()[0] for process in running} == {b"['T']\n"}
    assert indexes._load(str(kept))[1]
    assert [path.name for path in kept.parent.glob("index-*")] == [kept.name]


def test_the_index_does_not_grow_for_ever(
    recipes: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_MOST", 40)
    path = recipes / "models/org/repo.yaml"
    for number in range(30):
        path.write_text(RECIPE.replace("words", str(number)))
        titles(recipes)
    key, facts = indexes._load(str(kept))
    assert len(facts) == 40
    assert indexes.source_hash(key, path.read_bytes()) in facts


def test_two_indexes_hash_with_keys_of_their_own() -> None:
    assert Index("").key != Index("").key


def test_one_that_cannot_be_read_is_told_and_the_rest_listed(recipes: Path, write: Write) -> None:
    write({"models/org/broken.yaml": "model: {}\nvariants: {}\n"})
    said = [e for e in entries(Shelf([str(recipes)])) if isinstance(e, LaunchError)]
    assert [error.message for error in said] == [
        f"{recipes}/models/org/broken.yaml cannot be used: 2 errors"
    ]
    assert titles(recipes) == {"org/repo": "T"}


FILES = sorted((ROOT / "recipes" / "models").glob("*/*.yaml"))
FILES += sorted(UPSTREAM.glob("*/*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parents[2].name}/{path.stem}")
def test_the_first_pages_say_what_the_whole_says(path: Path, bundled: Library) -> None:
    library = Library(str(path.parents[2]), own=False, fallback=bundled)
    found = outlines.outline(path.read_bytes())
    assert found is not None, "a plain file need not be read whole"
    assert indexes._facts(found) == indexes._facts(library.read_recipe(str(path)))


PIECES = st.sampled_from(
    [
        "meta: {title: a}\n", 'meta:\n  title: "a\n', 'meta:\n  title: &x b\n',
        '"meta": {title: c}\n',
        "model: {model_id: a/b}\n", "model:\n  model_id: a/b\n", "model: {model_id: a/b,\n",
        "variants: {default: {}}\n", "variants:\n  default: {description: *x}\n",
        "variants:\n  v:\n    description: |\n      model:\n", 'guide: "\n', '"\n', "}\n", "'\n",
        "guide: |\n  x\n", "guide: '\n", "features: {a: &x {description: z}}\n", "# meta:\n",
        "notes: []\n", "notes: [\n", "]\n", "---\n", "\n", " \n", "guide: &x text\n",
        "client: {a: *x}\n", "? meta\n: {title: d}\n", "meta:\n", "  title: e\n",
    ]
)  # fmt: skip


@settings(max_examples=300)
@given(pieces=st.lists(PIECES, min_size=2, max_size=9))
@example(pieces=['guide: "\n', "meta:\n", "  title: e\n", '"\n', "model: {model_id: a/b}\n",
          "variants: {default: {}}\n"])  # fmt: skip
@example(pieces=["meta: {title: a}\n", "model: {model_id: a/b}\n", "guide: &x text\n",
          "variants:\n  default: {description: *x}\n"])  # fmt: skip
def test_no_way_to_write_a_recipe_makes_the_first_pages_lie(
    pieces: list[str], tmp_path: Path, bundled: Library
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("".join(pieces))
    try:
        whole = Library(str(tmp_path), own=False, fallback=bundled).read_recipe(str(path))
    except LaunchError:
        return
    found = outlines.outline(path.read_bytes())
    assert found is None or indexes._facts(found) == indexes._facts(whole)
