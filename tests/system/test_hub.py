"""Models on disk, the hub's cache, its answers; a disk that is really full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.preflight.build import recipe, situation, told
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.host.system.hub import cache, token
from vllm_launch.model.system import Hub, SystemFacts, Wanted, Weights

INDEX = json.dumps(
    {
        "metadata": {"total_size": 12},
        "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"},
    }
)
REPO = "home/.cache/huggingface/hub/models--org--model"
SNAPSHOT = f"{REPO}/snapshots/abc"
HOME = {"HOME": "/home"}


def read(root: str, environ: Mapping[str, str] = HOME, model: str = "org/model") -> SystemFacts:
    return read_system(Wanted(model=model, memory=False), root, environ)


def model(directory: str, *shards: str, **more: str) -> dict[str, str]:
    files = {"config.json": "{}", "model.safetensors.index.json": INDEX, **more}
    files.update(dict.fromkeys(shards, "123456"))
    return {f"{directory}/{name}": text for name, text in files.items()}


BOTH = ("model-1.safetensors", "model-2.safetensors")


def test_a_model_in_the_cache(tree: Tree) -> None:
    root = tree({**model(SNAPSHOT, *BOTH), f"{REPO}/refs/main": "abc"})
    facts = read(root)
    assert facts.weights == Weights(
        path=f"{root}/{SNAPSHOT}", present=True, expected=2, total_bytes=12, present_bytes=12
    )
    assert facts.weights.complete
    assert facts.hub == Hub(cache="/home/.cache/huggingface/hub", token=False)


def test_a_download_that_was_begun(tree: Tree) -> None:
    root = tree({**model(SNAPSHOT, BOTH[0]), f"{REPO}/blobs/x.incomplete": "123"})
    (Path(root) / SNAPSHOT / "model-2.safetensors").symlink_to("../../blobs/nothing")
    found = read(root).weights
    assert found is not None
    assert (found.missing, found.present_bytes) == (("model-2.safetensors",), 9)
    assert not found.complete


def test_a_model_that_is_not_there(tree: Tree) -> None:
    root = tree({f"{REPO}/blobs/x.incomplete": "1234"})
    assert read(root).weights == Weights(
        path="/home/.cache/huggingface/hub/models--org--model", present=False, present_bytes=4
    )


def test_one_file_needs_no_index(tree: Tree) -> None:
    root = tree({f"{SNAPSHOT}/config.json": "{}", f"{SNAPSHOT}/model.safetensors": "123"})
    found = read(root).weights
    assert found is not None
    assert (found.expected, found.complete) == (1, True)


@pytest.mark.parametrize(
    ("shards", "told_"),
    [
        (BOTH, []),
        (
            BOTH[:1],
            ["fail: 1 weight file of 2 missing in /models/m: model-2.safetensors"],
        ),
    ],
)
def test_a_local_directory(tree: Tree, shards: tuple[str, ...], told_: list[str]) -> None:
    facts = read(tree(model("models/m", *shards)), model="/models/m")
    assert facts.hub is None
    assert told(situation("", model="/models/m", system=facts), "MODEL_INCOMPLETE") == told_


def test_a_directory_that_is_not_there(tree: Tree) -> None:
    facts = read(tree({}), model="/models/m")
    plan = situation("", model="/models/m", system=facts)
    assert told(plan, "MODEL_INCOMPLETE") == ["fail: /models/m is not there"]


def test_an_index_of_megabytes_is_not_parsed(tree: Tree) -> None:
    """A quarter of a million tensors, and what follows is still at hand in a moment."""
    weights = {f"model.layers.{i}.weight": f"model-{i % 90}.safetensors" for i in range(250_000)}
    index = json.dumps({"metadata": {"total_size": 7}, "weight_map": weights})
    found = read(
        tree(model("models/m", **{"model.safetensors.index.json": index})), model="/models/m"
    )
    assert found.weights is not None
    assert (found.weights.expected, found.weights.total_bytes) == (90, 7)


@pytest.mark.parametrize(
    ("environ", "download_dir", "directory"),
    [
        ({"HOME": "/h"}, "", "/h/.cache/huggingface/hub"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "", "/x/huggingface/hub"),
        ({"HOME": "/h", "HF_HOME": "/f"}, "", "/f/hub"),
        ({"HOME": "/h", "HF_HOME": "/f", "HF_HUB_CACHE": "/c"}, "", "/c"),
        ({"HOME": "/h"}, "/d", "/d"),
    ],
)
def test_where_downloads_go(environ: dict[str, str], download_dir: str, directory: str) -> None:
    assert cache(environ, download_dir) == directory


@pytest.mark.parametrize(
    ("environ", "files", "there"),
    [
        ({}, {}, False),
        ({"HF_TOKEN": ""}, {}, False),
        ({"HF_TOKEN": "hf_1"}, {}, True),
        ({"HUGGING_FACE_HUB_TOKEN": "hf_1"}, {}, True),
        ({}, {"home/.cache/huggingface/token": "hf_1\n"}, True),
        ({}, {"home/.cache/huggingface/token": "\n"}, False),
        ({"HF_HOME": "/f"}, {"f/token": "hf_1"}, True),
        ({"HF_TOKEN_PATH": "/t"}, {"t": "hf_1"}, True),
    ],
)
def test_tokens(tree: Tree, environ: dict[str, str], files: dict[str, str], there: bool) -> None:
    root = tree(files)
    facts = read(root, {**HOME, **environ})
    assert facts.hub is not None
    assert facts.hub.token is there
    assert "hf_1" not in repr(facts)
    assert bool(token(root, {**HOME, **environ})) is there


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({}, ""),
        ({"HF_HUB_OFFLINE": "0"}, ""),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE"),
        ({"TRANSFORMERS_OFFLINE": "true"}, "TRANSFORMERS_OFFLINE"),
    ],
)
def test_offline(tree: Tree, environ: dict[str, str], variable: str) -> None:
    facts = read(tree({}), {**HOME, **environ})
    assert facts.hub is not None
    assert facts.hub.offline == variable


@pytest.mark.parametrize(
    ("caller", "elsewhere"),
    [("me", "/home/me/.cache/huggingface/hub"), ("you", ""), ("nobody", ""), ("", "")],
)
def test_the_home_of_who_called_sudo(tree: Tree, caller: str, elsewhere: str) -> None:
    root = tree(
        {
            "etc/passwd": "me:x:1:1::/home/me:/bin/sh\nyou:x:2:2::/home/you:/bin/sh\n",
            "home/me/.cache/huggingface/hub/models--org--model/snapshots/abc/config.json": "{}",
        }
    )
    facts = read(root, {"HOME": "/root", "SUDO_USER": caller})
    assert facts.hub is not None
    assert (facts.hub.cache, facts.hub.elsewhere) == ("/root/.cache/huggingface/hub", elsewhere)


def test_the_plans_variables_win(tree: Tree) -> None:
    asked = Wanted(model="org/model", variables=(("HF_HOME", "/plan"),), memory=False)
    facts = read_system(asked, tree({}), {**HOME, "HF_HOME": "/around"})
    assert facts.hub is not None
    assert facts.hub.cache == "/plan/hub"


def test_space_is_that_of_the_nearest_directory(tree: Tree) -> None:
    root = tree({"home/": ""})
    facts, figures = read(root), os.statvfs(root)
    assert facts.disk is not None
    assert facts.disk.path == "/home/.cache/huggingface/hub"
    assert facts.disk.size == figures.f_blocks * figures.f_frsize


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte, or a directory where none may be mounted."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
    mounted = os.geteuid() == 0 and subprocess.call(mount, stderr=subprocess.DEVNULL) == 0
    yield directory
    if mounted:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_disk_that_is_full(full: Path) -> None:
    facts = read("/", {"HF_HOME": str(full)})
    figures = os.statvfs(full)
    assert facts.disk is not None
    assert facts.disk.size == figures.f_blocks * figures.f_frsize
    plan = situation("", system=facts, of=recipe(vram=1e9))  # no disk is that large
    (line,) = told(plan, "DISK") or ()
    assert line.endswith("still to be downloaded")
    if os.path.ismount(full):
        (full / "some").write_bytes(bytes(512 * 1024))
        again = read("/", {"HF_HOME": str(full)})
        assert again.disk is not None
        assert again.disk.free == facts.disk.free - 512 * 1024
        line = (told(situation("", system=again, of=recipe(vram=1e9)), "DISK") or [""])[0]
        assert line.startswith(f"fail: 512 KiB free under {full}/hub, about ")


SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        name = self.path.split("/")[1]
        known = self.headers.get("Authorization") == "Bearer hf_1"
        code = {"open": 200, "moved": 307, "gated": 200 if known else 401,
                "closed": 403, "gone": 404}[name]
        self.send_response(code)
        self.end_headers()
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A hub of our own."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.terminate()


@pytest.mark.parametrize(
    ("owner", "environ", "status"),
    [
        ("open", {}, 200),
        ("moved", {}, 200),
        ("gated", {}, 401),
        ("gated", {"HF_TOKEN": "hf_1"}, 200),
        ("gated", {"HF_TOKEN": "hf_2"}, 401),
        ("closed", {"HF_TOKEN": "hf_1"}, 403),
        ("gone", {}, 404),
    ],
)
def test_the_hubs_answers(
    tree: Tree, endpoint: str, owner: str, environ: dict[str, str], status: int
) -> None:
    asked = Wanted(model=f"{owner}/model", ask_hub=True, memory=False)
    facts = read_system(asked, tree({}), {**HOME, **environ, "HF_ENDPOINT": endpoint})
    assert facts.hub_status == status
    assert "hf_" not in repr(facts)


def test_no_hub_to_be_reached(tree: Tree) -> None:
    asked = Wanted(model="org/model", ask_hub=True, memory=False)
    facts = read_system(asked, tree({}), {**HOME, "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert facts.hub_status is None
    assert facts.why_unknown("hub_status") == "Connection refused"
    assert told(situation("", system=facts), "HF_GATED") == []


def test_the_hub_is_not_asked_unless_told_to(tree: Tree) -> None:
    facts = read(tree({}), {**HOME, "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert facts.hub_status is None
    assert facts.why_unknown("hub_status") == ""
