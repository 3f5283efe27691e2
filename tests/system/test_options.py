"""The table of releases, and the scripts that make it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

import pytest

from vllm_launch.model.vllm import VllmOptions
from vllm_launch.vllm_options import collect, load

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def option(*flags: str, **fields: Any) -> dict[str, Any]:
    values = {
        "flags": list(flags), "dest": flags[0][2:], "kind": "value", "nargs": None, "type": "str",
        "choices": None, "deprecated": False,
    }  # fmt: skip
    return {**values, **fields}


def switch(*flags: str) -> dict[str, Any]:
    return option(*flags, kind="bool", nargs="0", type=None, dest=flags[0][2:])


def release(version: str, *options: dict[str, Any], **names: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "env": [], "config_fields": {}, "attention_backends": [], "kv_connectors": [],
        "tool_parsers": [], "reasoning_parsers": [],
    }  # fmt: skip
    return {"vllm": version, "options": list(options), **empty, **names}


RELEASES = [
    release(
        "0.1.0",
        option("--port", "-p", type="int"),
        option("--dtype", choices=["auto", "half"]),
        switch("--enable-x", "--no-enable-x"),
        env=["VLLM_A", "VLLM_B"],
        config_fields={"XConfig": ["a", "b"]},
        tool_parsers=["one"],
    ),
    release(
        "0.9.0",
        option("--port", "-p", type="int"),
        option("--dtype", choices=["auto", "half", "float"], deprecated=True),
        switch("--enable-x", "--no-enable-x"),
        env=["VLLM_A"],
        config_fields={"XConfig": ["b"]},
    ),
    release(
        "0.10.0",
        option("--port", "-p", "--listen", type="int"),
        option("--dtype"),
        switch("--enable-x", "--disable-x"),
        env=["VLLM_A", "VLLM_B"],
        config_fields={"XConfig": ["b", "c"]},
        tool_parsers=["one", "two"],
    ),
]


@pytest.fixture
def table(tmp_path: Path) -> VllmOptions:
    """Three releases, written to files, folded and loaded."""
    source = tmp_path / "releases"
    source.mkdir()
    for one in RELEASES:
        (source / f"{one['vllm']}.json").write_text(json.dumps(one))
    output = tmp_path / "releases.txt"
    assert script("compact_vllm_options").main([str(source), str(output)]) == 0
    return load(str(output))


def test_releases_in_their_order(table: VllmOptions) -> None:
    assert table.releases == ("0.1.0", "0.9.0", "0.10.0")


def test_names_by_release(table: VllmOptions) -> None:
    assert table.having("variables", "VLLM_A") == 0b111
    assert table.having("variables", "VLLM_B") == 0b101
    assert table.having("variables", "VLLM_C") == 0
    assert table.known("fields:XConfig", 0b001) == ["a", "b"]
    assert table.known("fields:XConfig", 0b100) == ["b", "c"]
    assert table.known("tool_parsers", 0b010) == []


def test_options_by_release(table: VllmOptions) -> None:
    (port,) = table.forms("--port")
    assert (port.flags, port.kind, port.type) == (("--port", "-p", "--listen"), "value", "int")
    assert table.having_flag("-p") == 0b111
    assert table.having_flag("--listen") == 0b100
    assert table.known("choices:--dtype", 0b001) == ["auto", "half"]
    assert table.known("choices:--dtype", 0b100) == []
    (dtype,) = table.forms("--dtype")
    assert dtype.deprecated == 0b010


def test_switches_by_release(table: VllmOptions) -> None:
    assert table.having_flag("--no-enable-x") == 0b111  # taken by all, listed by two
    assert table.having_flag("--disable-x") == 0b100
    assert table.having_flag("--no-disable-x") == 0
    assert table.having_flag("--no-port") == 0


def test_what_is_shipped() -> None:
    table = load()
    assert table.releases[0] == "0.24.0"
    assert table.releases[-1] == "0.33.0"
    assert table.having("fields:AttentionConfig", "indexer_decode_cp") == 0
    assert table.having("fields:AttentionConfig", "indexer_kv_dtype")
    newest = 1 << len(table.releases) - 1
    assert table.having_flag("--monokernel") == newest
    assert len(table.known("flags", newest)) > 300


def test_what_is_shipped_is_quickly_read() -> None:
    """Some three milliseconds; of the processor, the best of several."""
    times = []
    for _ in range(20):
        started = process_time()
        load()
        times.append(process_time() - started)
    assert min(times) < 0.02


def test_the_scripts_say_how_they_are_called() -> None:
    with pytest.raises(SystemExit, match="compact_vllm_options"):
        script("compact_vllm_options").main([])
    with pytest.raises(SystemExit, match=r"no VERSION\.json"):
        script("compact_vllm_options").main([str(SCRIPTS / "bin")])


def test_an_option_as_it_is_collected() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    actions = [
        parser.add_argument("--port", "-p", type=int, default=1),
        parser.add_argument("--x", action=argparse.BooleanOptionalAction),
        parser.add_argument("--y", action="store_true"),
        parser.add_argument("--z", choices=["a", None], nargs="+"),
    ]
    assert [collect.option(action) for action in actions] == [
        option("--port", "-p", type="int"),
        option("--x", "--no-x", kind="bool", nargs="0", type=None),
        option("--y", kind="flag", nargs="0", type=None),
        option("--z", nargs="+", choices=["a", "None"], type=None),
    ]


def test_fields_as_they_are_collected(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "class A:\n    x: int = 1\n    y: ClassVar[int] = 2\n    z = 3\n"
        "    _w: str\nclass B:\n    def f(self): ...\n"
    )
    assert dict(collect.fields(tmp_path)) == {"A": ["x", "_w"]}
