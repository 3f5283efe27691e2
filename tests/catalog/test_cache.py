"""The cache of parsed files: it is never stale, never in the way, and never needed."""

from __future__ import annotations

import marshal
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_launch.catalog import files
from vllm_launch.catalog.tree import plain
from vllm_launch.errors import RecipeError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been parsed, and not taken from the cache."""
    names: list[str] = []
    real = files.parse

    def parse(data: bytes, shown: str, *, is_json: bool) -> object:
        names.append(shown)
        return real(data, shown, is_json=is_json)

    monkeypatch.setattr(files, "parse", parse)
    return names


def read(path: Path) -> object:
    return plain(files.read_tree(str(path), path.name))


def cached(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_is_parsed_once(tmp_path: Path, parsed: list[str], suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_text('{"a": [1, 2.5, true, null, "é"]}')
    first = files.read_tree(str(path), "x")
    assert files.read_tree(str(path), "x") == first
    assert plain(first) == {"a": [1, 2.5, True, None, "é"]}
    assert parsed == ["x"]


def test_it_counts_what_a_file_says_and_not_when_it_was_written(
    tmp_path: Path, parsed: list[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    os.utime(path, ns=(10**18, 10**18))
    before = path.stat()
    assert read(path) == {"a": 1}
    path.write_text("a: 2")
    os.utime(path, ns=(10**18, 10**18))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    assert read(path) == {"a": 2}
    path.write_text("a: 1")
    assert read(path) == {"a": 1}
    assert len(parsed) == 3


def test_touching_a_file_changes_nothing(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    os.utime(path, ns=(1, 1))
    read(path)
    assert len(parsed) == 1


def test_another_version_reads_anew(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    monkeypatch.setattr(files, "_FORMAT", "another version")
    read(path)
    read(path)
    assert len(parsed) == 2


def test_another_python_has_a_cache_of_its_own(
    tmp_path: Path, cache: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    monkeypatch.setattr(sys.implementation, "cache_tag", "other-1")
    read(path)
    assert len(parsed) == 2
    assert len(cached(cache)) == 2


def test_files_of_one_name_are_told_apart(tmp_path: Path, parsed: list[str]) -> None:
    for name in ("a", "b", "a%b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(f"is: {name}")
    for _ in range(2):
        for name in ("a", "b", "a%b"):
            assert read(tmp_path / name / "x.yaml") == {"is": name}
    assert len(parsed) == 3


def test_the_same_text_may_be_yaml_and_json(tmp_path: Path) -> None:
    for suffix in (".yaml", ".json"):
        (tmp_path / f"x{suffix}").write_text('{"a": 1e3}')
    for _ in range(2):
        assert read(tmp_path / "x.yaml") == {"a": "1e3"}
        assert read(tmp_path / "x.json") == {"a": 1000.0}


FAULTY = {
    "read past": ("a: 1\na: 2\n", ".yaml"),
    "not read past": ("a: [\n", ".yaml"),
    "in JSON": ('{"a": 1, "a": 2}', ".json"),
    "too large": (" " * (1 << 20) + "1", ".yaml"),
}


@pytest.mark.parametrize(("text", "suffix"), FAULTY.values(), ids=FAULTY)
def test_a_file_with_faults_is_not_kept(
    tmp_path: Path, cache: Path, text: str, suffix: str
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_text(text)
    for _ in range(2):
        with pytest.raises(RecipeError):
            read(path)
    assert cached(cache) == []


def spoilt(content: bytes, seed: int) -> bytes:
    """A cache file with something wrong with it."""
    chance = random.Random(seed)
    at = chance.randrange(len(content))
    return chance.choice(
        [
            content[:at],
            content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :],
            content[:at] + bytes(len(content) - at),
            content[at:],
            chance.randbytes(at),
            content[:at] + b"\xff" * 4 + content[at + 4 :],
        ]
    )


def test_a_corrupt_cache_is_no_cache(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: [1, {b: 128}, true, 2026-01-02]\n")
    tree = files.read_tree(str(path), "x")
    [kept] = cached(cache)
    content = kept.read_bytes()
    for seed in range(150):
        changed = spoilt(content, seed)
        if changed == content:
            continue
        kept.write_bytes(changed)
        parsed.clear()
        assert files.read_tree(str(path), "x") == tree
        assert parsed == ["x"], seed
    assert kept.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [b"", b"x", marshal.dumps(None), marshal.dumps((1, 2)), b"\0" * 1000, b"[" * 100],
    ids=["empty", "a byte", "nothing", "a pair", "zeros", "text"],
)
def test_anything_else_in_its_place_is_no_cache_either(
    tmp_path: Path, cache: Path, content: bytes
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    [kept] = cached(cache)
    kept.write_bytes(content)
    assert read(path) == {"a": 1}


def test_a_directory_in_its_place_is_no_fault(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    [kept] = cached(cache)
    kept.unlink()
    kept.mkdir()
    assert read(path) == {"a": 1}
    assert cached(cache) == []


def test_the_directory_is_for_its_owner_alone(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    read(path)
    [kept] = cached(cache)
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def _is_file(base: Path) -> str:
    base.write_text("no directory")
    return str(base)


def _is_below_a_file(base: Path) -> str:
    base.write_text("no directory")
    return str(base / "below")


def _is_a_device(_: Path) -> str:
    return "/dev/null"


def _is_a_kernels(_: Path) -> str:
    return "/proc"  # where nobody makes a directory, root included


@pytest.mark.parametrize("place", [_is_file, _is_below_a_file, _is_a_device, _is_a_kernels])
def test_where_nothing_can_be_written_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", place(tmp_path / "base"))
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    assert read(path) == {"a": 1}
    assert read(path) == {"a": 1}


def test_a_full_disk_leaves_no_half_a_file(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    monkeypatch.setattr(os, "replace", full)
    assert read(path) == {"a": 1}
    assert cached(cache) == []


def test_xdg_cache_home_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    (tmp_path / "x.yaml").write_text("a: 1")
    read(tmp_path / "x.yaml")
    [kept] = cached(tmp_path / "other")
    assert kept.parent.parent == tmp_path / "other" / "vllm-launch"


@pytest.mark.parametrize("value", [None, "", "relative/path", "."])
def test_otherwise_it_is_under_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """A relative path counts as none, as the XDG specification has it."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    if value is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    (tmp_path / "x.yaml").write_text("a: 1")
    read(tmp_path / "x.yaml")
    [kept] = cached(tmp_path / "home" / ".cache" / "vllm-launch")
    assert kept.is_file()
    assert list((tmp_path / "work").iterdir()) == []


def test_a_user_without_a_home_has_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs under a number."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    (tmp_path / "x.yaml").write_text("a: 1")
    assert read(tmp_path / "x.yaml") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


@pytest.mark.parametrize("part", ["d" * 100, "é" * 100, "深" * 60, "%" * 100, "\udcff" * 100])
def test_a_very_long_path_is_kept_too(
    tmp_path: Path, cache: Path, parsed: list[str], part: str
) -> None:
    directory = tmp_path
    for _ in range(8):
        directory = directory / part
    try:
        directory.mkdir(parents=True)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    for name in ("x.yaml", "y.yaml"):
        (directory / name).write_text(f"is: {name}")
    for _ in range(2):
        for name in ("x.yaml", "y.yaml"):
            assert read(directory / name) == {"is": name}
    assert len(cached(cache)) == 2
    assert len(parsed) == 2


def test_long_paths_that_end_alike_do_not_mix(tmp_path: Path) -> None:
    long = Path(*["d" * 50] * 5)
    for name in ("a", "b"):
        (tmp_path / name / long).mkdir(parents=True)
        (tmp_path / name / long / "x.yaml").write_text(f"is: {name}")
    for _ in range(2):
        for name in ("a", "b"):
            assert read(tmp_path / name / long / "x.yaml") == {"is": name}


WRITER = """
import os, sys
from vllm_launch.catalog import files
from vllm_launch.catalog.tree import plain
os.getpid = lambda: 1  # as two containers with one home may both have it
for number in range(100):
    for path in sys.argv[1:]:
        tree = plain(files.read_tree(path, path))
        assert tree["is"] == os.path.basename(path), tree
        assert len(tree["list"]) == 500
"""


def test_two_processes_may_write_at_once(tmp_path: Path, cache: Path) -> None:
    """Two directories whose long paths are one for the cache: each read is a write."""
    long = Path(*["d" * 50] * 5)
    for name in ("a", "b"):
        (tmp_path / name / long).mkdir(parents=True)
        text = f"is: x.yaml\nfrom: {name}\nlist: [" + f"{name}, " * 500 + "]\n"
        (tmp_path / name / long / "x.yaml").write_text(text)
    paths = [str(tmp_path / name / long / "x.yaml") for name in ("a", "b")]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, *order],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in (paths, paths[::-1])
    ]
    for process in running:
        _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (0, "")
    assert len(cached(cache)) == 1


def test_what_is_kept_is_what_was_parsed(tmp_path: Path) -> None:
    path = ROOT / "recipes" / "taxonomy.yaml"
    copy = tmp_path / "taxonomy.yaml"
    copy.write_bytes(path.read_bytes())
    parsed = files.read_tree(str(copy), "x")
    kept = files.read_tree(str(copy), "x")
    assert kept == parsed
    assert kept is not parsed
