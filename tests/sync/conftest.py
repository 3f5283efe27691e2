"""A server, an authority and a cache of one's own; nothing else on the disk may change."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sync import server as servers
from tests.sync.server import Server
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.catalog.sources import Current, current_of, parse
from vllm_launch.sync.limits import Limits
from vllm_launch.sync.source import Outcome, Telling, Wish, sync

LIMITS = Limits(seconds=120, idle_seconds=60)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return servers.certify(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def running(
    authority: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with servers.running(authority[1], tmp_path_factory.mktemp("repositories")) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    running.forget()
    yield running
    running.over.set()


@pytest.fixture
def ca(authority: tuple[Path, Path]) -> str:
    return str(authority[0])


def snapshot(root: Path, without: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a directory with its mode and content, but for one part of it."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path != without and without not in path.parents:
            mode = path.lstat().st_mode
            body = path.read_bytes() if stat.S_ISREG(mode) else b""
            found[str(path.relative_to(root))] = (mode, body)
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache. When the test is over, nothing beside it has changed."""
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    (home / ".netrc").write_text("machine localhost login me password secret\n")
    (home / ".gitconfig").write_text('[core]\n\thooksPath = /nowhere\n[alias]\n\tx = "!false"\n')
    (tmp_path / "models").mkdir()
    (tmp_path / "victim.yaml").write_text("untouched")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "models")
    before = snapshot(tmp_path, tmp_path / "cache")
    yield tmp_path / "cache"
    after = snapshot(tmp_path, tmp_path / "cache")
    assert {k: v for k, v in after.items() if not k.startswith("repo")} == before


Synced = Callable[..., Outcome]


@pytest.fixture
def said() -> list[str]:
    """What was told of a sync."""
    return []


@pytest.fixture
def synced(ca: str, said: list[str]) -> Synced:
    """Sync a source, trusting the tests' authority."""

    def do(text: str, limits: Limits = LIMITS, **wish: object) -> Outcome:
        telling = Telling(line=said.append, step=said.append, count=said.append)
        return sync(parse(text), Wish(ca=ca, **wish), limits, telling)  # type: ignore[arg-type]

    return do


def held(url: str) -> tuple[Current, str]:
    """What a source holds, and the title of the recipe org/repo as it is served from it."""
    spec = parse(url)
    current = current_of(spec.name)
    assert current is not None
    return current, Shelf([url]).find("org/repo").recipe.meta.title


def revisions(cache: Path, url: str) -> set[str]:
    """What lies in a source's directory beside its records."""
    directory = cache / "vllm-launch" / "sources" / parse(url).name
    return {path.name for path in directory.glob("*")} - {"lock", "current", "http", "git"}
