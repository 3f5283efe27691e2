"""Malformed recipes by the hundred: each is read, or refused with a place, and nothing else."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog import texts
from vllm_launch.catalog import files, yamltext
from vllm_launch.catalog.format import KV_STORE, RECIPE, STRATEGY, TAXONOMY
from vllm_launch.catalog.library import Library
from vllm_launch.catalog.published import as_recipe
from vllm_launch.catalog.reading import Reading
from vllm_launch.catalog.references import check
from vllm_launch.errors import LaunchError

RECIPES = Path(__file__).parents[2] / "recipes"
FLASH = (RECIPES / "models/MiniMaxAI/MiniMax-M3.1-Flash.yaml").read_bytes()
# Each good file, and the reader of its kind.
GOOD: dict[str, tuple[bytes, Any]] = {
    "full.yaml": (texts.FULL.encode(), RECIPE),
    "full.json": (texts.published().encode(), RECIPE),
    "flash.yaml": (FLASH, RECIPE),
    "taxonomy.yaml": ((RECIPES / "taxonomy.yaml").read_bytes(), TAXONOMY),
    "pd_cluster.yaml": ((RECIPES / "strategies/pd_cluster.yaml").read_bytes(), STRATEGY),
    "store.yaml": (
        (RECIPES / "kv_store/kv_store_centralized_mooncake.yaml").read_bytes(),
        KV_STORE,
    ),
}
SCALARS = [
    "5", "-1", "0.30", "1e999", "true", "no", "~", "null", "12:30", "010", "0x1f", "1_000", ".inf",
    "[]", "{}", "[a, 1]", "{a: b}", '""', '"x"', "''", "'", '"', "*x", "&x y", "!!int x",
    "!!python/object:os.system {}", "|", ">", "<<", "=", "2026-01-02", "- a", "? a", "a: b: c",
    "%", "@", "`", "9" * 30, "-", "--x", "../x", "é", "\\", "\t", "x" * 300,
]  # fmt: skip
BYTES = [
    b"\0", b"\t", b"\x01", b"\x1b", b"\x7f", b"\x85", b"\xc2\x85", b"\xff", b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\xf0\x9f", b"\r", b"\n", b"'", b'"', b":", b"-", b"{", b"[", b"}", b"#",
    b"&", b"*", b"!", b"|", b"%", b"\\", b"\xe2\x80\xa8", b"\xe2\x80\xae",
]  # fmt: skip

Chance = random.Random


def without_a_line(data: bytes, chance: Chance) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def with_a_line_twice(data: bytes, chance: Chance) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines.insert(chance.randrange(at, min(at + 3, len(lines))), lines[at])
    return b"".join(lines)


def with_a_line_elsewhere(data: bytes, chance: Chance) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
    return b"".join(lines)


def with_other_indentation(data: bytes, chance: Chance) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines[at] = b" " * chance.randrange(8) + lines[at].lstrip()
    return b"".join(lines)


def with_another_scalar(data: bytes, chance: Chance) -> bytes:
    places = [*re.finditer(rb"(?<=: )[^\n]+|(?<=- )[^\n]+", data)]
    place = chance.choice(places)
    return data[: place.start()] + chance.choice(SCALARS).encode() + data[place.end() :]


def cut_off(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(len(data))]


def without_its_beginning(data: bytes, chance: Chance) -> bytes:
    return data[chance.randrange(len(data)) :]


def with_bytes_put_in(data: bytes, chance: Chance) -> bytes:
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data))
        data = data[:at] + chance.choice(BYTES) + data[at:]
    return data


def with_bytes_changed(data: bytes, chance: Chance) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def with_a_block_moved(data: bytes, chance: Chance) -> bytes:
    a, b, c = sorted(chance.randrange(len(data)) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


TEXT = [
    without_a_line, with_a_line_twice, with_a_line_elsewhere, with_other_indentation,
    with_another_scalar, cut_off, without_its_beginning, with_bytes_put_in, with_bytes_changed,
    with_a_block_moved,
]  # fmt: skip

VALUES: list[Any] = [
    None, True, False, 0, 5, -1, 0.3, 10**30, "", "x", "-x", "../x", "no", [], {}, [None], [[]],
    ["x", 5], {"x": None}, {"": {}}, {"-x": {}}, {"default": {}}, {"x": [1]}, ["--x", {"a": 1}],
    "2026-01-02", "h200", "single_node_tp", "x" * 1000,
]  # fmt: skip


def inner(whole: Any, chance: Chance) -> tuple[Any, Any]:
    """A block somewhere inside, and a key or index of it."""
    block = whole
    while True:
        key = chance.choice(list(block) if isinstance(block, dict) else range(len(block)))
        below = block[key]
        if not isinstance(below, dict | list) or not below or chance.random() < 0.2:
            return block, key
        block = below


def key_deleted(whole: Any, chance: Chance) -> None:
    block, key = inner(whole, chance)
    del block[key]


def value_replaced(whole: Any, chance: Chance) -> None:
    block, key = inner(whole, chance)
    block[key] = copy.deepcopy(chance.choice(VALUES))


def list_and_mapping_swapped(whole: Any, chance: Chance) -> None:
    block, key = inner(whole, chance)
    value = block[key]
    if isinstance(value, dict):
        block[key] = list(value.values()) if chance.random() < 0.5 else list(value)
    elif isinstance(value, list):
        block[key] = {f"k{i}": each for i, each in enumerate(value)}
    else:
        block[key] = {value: value} if isinstance(value, str) else [value]


def key_renamed(whole: Any, chance: Chance) -> None:
    block, key = inner(whole, chance)
    if isinstance(block, dict):
        block[chance.choice(["x", "", "-x", "null", f"{key}s", str(key)[1:], "id", "where"])] = (
            block.pop(key)
        )


def subtree_replaced(whole: Any, chance: Chance) -> None:
    block, key = inner(whole, chance)
    other, there = inner(whole, chance)
    block[key] = json.loads(json.dumps(other[there]))


TREE = [key_deleted, value_replaced, list_and_mapping_swapped, key_renamed, subtree_replaced]


def read(data: bytes, name: str, reader: Any, library: Library) -> bool:
    """Read bytes as a file: whether they are good. Whatever is wrong has a place and a message."""
    try:
        tree, problems = files.parse(data, name, is_json=name.endswith(".json"))
        reading = Reading(name, own=True)
        reading.key = "x"
        reading.problems += problems
        reader(as_recipe(tree) if name.endswith(".json") else tree, "", reading)
        if reader is RECIPE:
            check(tree, library.taxonomy, library.kv_stores(), reading)
        if reading.problems:
            raise files.broken(name, reading.problems)
    except LaunchError as error:
        problems = error.problems  # type: ignore[attr-defined]
        lines = data.count(b"\n") + data.count(b"\r") + data.count("\u2028".encode()) + 1
        assert problems
        for problem in problems:
            assert problem.file == name
            assert 1 <= problem.line <= lines + 1
            assert problem.column >= 1
            assert problem.message
            str(problem).encode()
            assert "\x1b" not in str(problem)
        assert problems == tuple(sorted(problems, key=lambda each: (each.line, each.column)))
        return False
    return True


@pytest.mark.parametrize("name", GOOD)
def test_unchanged_they_are_good(bundled: Library, name: str) -> None:
    data, reader = GOOD[name]
    if reader in (STRATEGY, KV_STORE):
        data = re.sub(rb"(?m)^name: .*$", b"name: x", data)
    assert read(data, name, reader, bundled)


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("mutation", TEXT, ids=lambda each: each.__name__)
def test_changed_as_text(
    bundled: Library, mutation: Callable[[bytes, Chance], bytes], name: str
) -> None:
    data, reader = GOOD[name]
    for seed in range(4 if name == "flash.yaml" else 12):
        read(mutation(data, Chance(f"{name} {seed}")), name, reader, bundled)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("mutation", TREE, ids=lambda each: each.__name__)
def test_changed_as_data(
    bundled: Library, mutation: Callable[[Any, Chance], None], suffix: str
) -> None:
    good = 0
    for seed in range(25):
        whole = texts.full() if suffix == ".yaml" else json.loads(texts.published())
        for _ in range(1 + seed % 3):
            mutation(whole, Chance(f"{seed}"))
        text = texts.as_yaml(whole) if suffix == ".yaml" else json.dumps(whole)
        good += read(text.encode(), f"x{suffix}", RECIPE, bundled)
    assert good < 25


@pytest.mark.parametrize("mutation", TEXT, ids=lambda each: each.__name__)
def test_changed_as_text_without_libyaml(
    bundled: Library,
    monkeypatch: pytest.MonkeyPatch,
    mutation: Callable[[bytes, Chance], bytes],
) -> None:
    monkeypatch.setattr(yamltext, "_Loader", yaml.SafeLoader)
    data = texts.FULL.encode()[:1500]
    for seed in range(6):
        read(mutation(data, Chance(seed)), "x.yaml", RECIPE, bundled)


@pytest.mark.parametrize("name", ["full.yaml", "full.json"])
def test_cut_off_anywhere(bundled: Library, name: str) -> None:
    data = GOOD[name][0]
    for end in range(0, len(data), 61):
        read(data[:end], name, RECIPE, bundled)


ANYTHING = settings(max_examples=150)
KINDS = st.sampled_from([("x.yaml", RECIPE), ("x.json", RECIPE), ("x.yaml", TAXONOMY)])
# Text that is more YAML and JSON than chance would make it.
MARKS = st.text(alphabet=st.sampled_from("ab:-[]{},'\"|>&*!%#?~<=\\ \n\t\x00\x85\u2028\ufeff19.eé"))


@ANYTHING
@given(data=st.binary(max_size=300), kind=KINDS)
def test_any_bytes(bundled: Library, data: bytes, kind: tuple[str, Any]) -> None:
    read(data, *kind, bundled)


@ANYTHING
@given(text=st.one_of(st.text(max_size=300), MARKS), kind=KINDS)
def test_any_text(bundled: Library, text: str, kind: tuple[str, Any]) -> None:
    read(text.encode(errors="surrogatepass"), *kind, bundled)


@ANYTHING
@given(text=MARKS, at=st.sampled_from(["guide: ", "meta: {title: ", "variants:\n  ", "&a "]))
def test_any_text_in_a_recipe(bundled: Library, text: str, at: str) -> None:
    read(f"{at}{text}\n{texts.SMALL}".encode(), "x.yaml", RECIPE, bundled)


WORDS = sorted(
    set(re.findall(r"[a-z_0-9]+", texts.FULL)) | {"", "-x", "default", "nvidia", "multi_node_tp"}
)
SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(WORDS),
)
TREES = st.recursive(
    SCALAR,
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.dictionaries(st.sampled_from(WORDS), below, max_size=6)
    ),
    max_leaves=25,
)
BLOCKS = sorted(key for key in texts.full() if key not in ("model", "variants"))


@ANYTHING
@given(blocks=st.dictionaries(st.sampled_from(BLOCKS), TREES, max_size=4), form=st.booleans())
def test_any_data_in_the_words_of_the_format(
    bundled: Library, blocks: dict[str, Any], form: bool
) -> None:
    whole = {"model": {"model_id": "a/b"}, "variants": {"default": {}}, **blocks}
    if form:
        read(json.dumps(whole).encode(), "x.json", RECIPE, bundled)
    else:
        read(texts.as_yaml(whole).encode(), "x.yaml", RECIPE, bundled)
