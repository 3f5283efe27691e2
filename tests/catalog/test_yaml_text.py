"""Text that is no YAML, or YAML that is no part of the format: named, with its place."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.catalog import characters, files, yamltext
from vllm_launch.catalog.tree import plain
from vllm_launch.errors import RecipeError

DEEP = "nested more than 64 levels deep"
MANY = "over 100000 values, counting each use of an alias"


def errors(text: str | bytes) -> list[str]:
    """What is wrong with a text as YAML; the file is called f.yaml."""
    data = text if isinstance(text, bytes) else text.encode()
    try:
        _, problems = files.parse(data, "f.yaml", is_json=False)
    except RecipeError as error:
        problems = list(error.problems)
    assert all(problem.file == "f.yaml" for problem in problems)
    return [str(problem).removeprefix("f.yaml:") for problem in problems]


def data_of(text: str) -> object:
    tree, problems = files.parse(text.encode(), "f.yaml", is_json=False)
    assert problems == []
    return plain(tree)


NOT_YAML = {
    "empty": ("", "1:1: the file is empty"),
    "only white space": ("\n  \n\n", "1:1: the file is empty"),
    "only a comment": ("# nothing\n", "1:1: the file is empty"),
    "two documents": (
        "a: 1\n---\nb: 2\n",
        ("2:1: not valid YAML: expected a single document in the stream "
        "but found another document"),
    ),
    "text behind the document's end": (
        "a: 1\n...\nb: 2\n",
        "3:1: not valid YAML: did not find expected <document start>",
    ),
    "a version of YAML to come": (
        "%YAML 3.0\n---\na: 1\n",
        "1:1: not valid YAML: found incompatible YAML document",
    ),
    "a tab as indentation": (
        "a:\n\tb: 1\n",
        ("2:1: not valid YAML: while scanning for the next token found character that cannot "
        "start any token (indent with spaces, not tabs)"),
    ),
    "a list without its end": (
        "a: [1, 2\n",
        "2:1: not valid YAML: while parsing a flow sequence did not find expected ',' or ']'",
    ),
    "a mapping without its end": (
        "a: {b: 1\n",
        "2:1: not valid YAML: while parsing a flow mapping did not find expected ',' or '}'",
    ),
    "quotes without their end": (
        'a: "b\n',
        "2:1: not valid YAML: while scanning a quoted scalar found unexpected end of stream",
    ),
    "a colon too many": (
        "a: b: c\n",
        "1:5: not valid YAML: mapping values are not allowed in this context",
    ),
    "less indentation": (
        "a:\n    b: 1\n  c: 2\n",
        "3:3: not valid YAML: while parsing a block mapping did not find expected key",
    ),
    "an unknown escape": (
        'a: "\\q"\n',
        "1:5: not valid YAML: while parsing a quoted scalar found unknown escape character",
    ),
    "half of a surrogate pair": (
        'a: "\\ud800"\n',
        ("1:7: not valid YAML: while parsing a quoted scalar found invalid Unicode character "
        "escape code"),
    ),
    "an alias of nothing": ("a: *b\n", "1:4: not valid YAML: found undefined alias"),
    "an anchor twice": (
        "a: &x 1\nb: &x 2\n",
        "2:4: not valid YAML: found duplicate anchor; first occurrence second occurrence",
    ),
    "NUL": ("a: 1\nb: \0\n", "2:4: the character U+0000 is not allowed"),
    "a control character": ("a: \x1b[31m\n", "1:4: the character U+001B is not allowed"),
    "a control character in a comment": (
        "a: 1  # \x07\n",
        "1:9: the character U+0007 is not allowed",
    ),
    "DEL": ("a: \x7f\n", "1:4: the character U+007F is not allowed"),
    "a C1 control character": ("a: é\x85\n", "1:5: the character U+0085 is not allowed"),
    "a control character far behind others than ASCII": (
        "a: " + "é" * 500 + "\x01\n",
        "1:504: the character U+0001 is not allowed",
    ),
    "no character": ("a: \ufffe\n", "1:4: the character U+FFFE is not allowed"),
    "a second byte order mark": ("\ufeff\ufeffa: 1\n", "1:1: the character U+FEFF is not allowed"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NOT_YAML.values(), ids=NOT_YAML)
def test_what_is_no_yaml(text: str, expected: str) -> None:
    assert errors(text) == [expected]


@pytest.mark.parametrize(("text", "expected"), NOT_YAML.values(), ids=NOT_YAML)
def test_what_is_no_yaml_without_libyaml(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    """The parser that is written in Python words some faults otherwise, but finds them all."""
    monkeypatch.setattr(yamltext, "_Loader", yaml.SafeLoader)
    [found] = errors(text)
    assert found.split(":")[0] in (expected.split(":")[0], str(text.count("\n")))


NOT_UTF8 = {
    "Latin-1": ("a: é\n".encode("latin-1"), "1:4: byte 0xe9"),
    "behind other lines": (b"a: \xc3\xa9\nb: \xc3\xa9\xff", "2:5: byte 0xff"),
    "behind a byte order mark": (b"\xef\xbb\xbfa: \xff", "1:4: byte 0xff"),
    "cut off": (b"a: \xc3", "1:4: byte 0xc3"),
    "a surrogate": (b"a: \xed\xa0\x80", "1:4: byte 0xed"),
    "an overlong slash": (b"a: \xc0\xaf", "1:4: byte 0xc0"),
    "UTF-16": ("a: 1\n".encode("utf-16"), "1:1: byte 0xff"),
    "UTF-16, the other way round": (b"\xfe\xff\0a\0:", "1:1: byte 0xfe"),
    "gzip": (b"\x1f\x8b\x08\x00", "1:2: byte 0x8b"),
}


@pytest.mark.parametrize(("data", "expected"), NOT_UTF8.values(), ids=NOT_UTF8)
def test_what_is_not_utf_8(data: bytes, expected: str) -> None:
    assert errors(data) == [f"{expected} is not UTF-8 (save the file as UTF-8)"]


def test_utf_16_without_a_mark_has_nul_characters() -> None:
    assert errors("a: 1".encode("utf-16-le")) == ["1:2: the character U+0000 is not allowed"]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert data_of("\ufeffa: 1") == {"a": 1}


def test_lines_may_end_as_on_windows() -> None:
    assert data_of("a: |\r\n  b\r\n  c\r\nd: 1\r\n") == {"a": "b\nc\n", "d": 1}
    assert errors("a: 1\r\na: 2\r\n") == [
        "2:1: duplicate key 'a'; the first is on line 1 (keep one of the two)"
    ]


ODD_KEYS = {
    "no": ("no: 1", '1:1: YAML reads the key no as a boolean (write "no")'),
    "on": ("a: {on: 1}", '1:5: a: YAML reads the key on as a boolean (write "on")'),
    "true": ("true: 1", '1:1: YAML reads the key true as a boolean (write "true")'),
    "a version": ("0.30: 1", '1:1: YAML reads the key 0.30 as a number (write "0.30")'),
    "a date": (
        "2026-01-02: 1",
        '1:1: YAML reads the key 2026-01-02 as a date (write "2026-01-02")',
    ),
    "octal": (
        "010: 1",
        '1:1: YAML reads the key 010 as a number in another notation (write "010")',
    ),
    "sexagesimal": (
        "12:30: 1",
        '1:1: YAML reads the key 12:30 as a number in another notation (write "12:30")',
    ),
    "null": ("~: 1", '1:1: YAML reads the key ~ as nothing (write "~")'),
    "nothing": ("? \n: 1", "1:2: a key must be text, not nothing"),
    "default": ("=: 1", '1:1: YAML reads the key = as a default mark (write "=")'),
    "a list": ("? [a]\n: 1", "1:3: a key must be text, not a list or a mapping"),
    "a mapping": ("{a: b}: 1", "1:1: a key must be text, not a list or a mapping"),
    "a merge": (
        "a: &a {b: 1}\nc:\n  <<: *a",
        "3:3: c: merge keys (<<) are not part of the format (write the keys out)",
    ),
    "several lines": ('"a\\nb": 1', "1:1: a key must be one line, without tabs"),
    "a tab": ('"a\\tb": 1', "1:1: a key must be one line, without tabs"),
    "a terminal's command": (
        'a: {"\\e[2J": 1}',
        "1:5: a: the character U+001B is not allowed (remove it)",
    ),
    "far too long": (
        f"a:\n  ? {'x' * 201}\n  : 1",
        "2:5: a: a key of 201 characters; at most 200 are allowed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ODD_KEYS.values(), ids=ODD_KEYS)
def test_a_key_that_yaml_reads_otherwise(text: str, expected: str) -> None:
    assert errors(text) == [expected]


def test_keys_that_are_read_as_they_are_written() -> None:
    text = '"no": 1\n8: 2\n"": 3\n"<<": 4\n' + "x" * 200 + ": 5\n"
    assert data_of(text) == {"no": 1, "8": 2, "": 3, "<<": 4, "x" * 200: 5}


def test_every_duplicate_key_is_told_and_the_first_one_counts() -> None:
    text = 'a: 1\nb: {c: 1, "c": 2}\na: 2\n8: 1\n"8": 2\na: 3\n'
    assert errors(text) == [
        "2:11: b: duplicate key 'c'; the first is on line 2 (keep one of the two)",
        "3:1: duplicate key 'a'; the first is on line 1 (keep one of the two)",
        "5:1: duplicate key '8'; the first is on line 4 (keep one of the two)",
        "6:1: duplicate key 'a'; the first is on line 1 (keep one of the two)",
    ]


TAGS = {
    "python object": ("a: !!python/object:os.system {}", "1:4: a", "!!python/object:os.system"),
    "python call": (
        "a: !!python/object/apply:os.system ['id']",
        "1:4: a",
        "!!python/object/apply:os.system",
    ),
    "python name": ("a: !!python/name:os.system x", "1:4: a", "!!python/name:os.system"),
    "of one's own": ("a: !secret x", "1:4: a", "!secret"),
    "in full": ("a: !<tag:example.org,2026:x> y", "1:4: a", "tag:example.org,2026:x"),
    "of a list": ("- !!omap [a: 1]", "1:3: [0]", "!!omap"),
    "of a mapping": ("!!set {a, b}", "1:1", "!!set"),
    "a list that is called a mapping": ("a: !!map [b]", "1:4: a", "!!map"),
    "of a key": ("!x a: 1", "1:1", "!x"),
    "binary": ("a: !!binary aGk=", "1:4: a", "!!binary"),
    "null that is not": ("a: !!null b", "1:4: a", "!!null"),
    "with a terminal's command": ("a: !%1b%5B2J b", "1:4: a", "!\\x1b[2J"),
}


@pytest.mark.parametrize(("text", "place", "tag"), TAGS.values(), ids=TAGS)
def test_a_tag_is_refused(text: str, place: str, tag: str) -> None:
    assert errors(text) == [f"{place}: the tag '{tag}' is not part of the format (remove it)"]


def test_a_tag_that_says_what_yaml_reads_anyway_is_nothing() -> None:
    text = "a: !!str 5\nb: !!map {c: !!seq [!!int 1]}\nd: !!float 1.5\n"
    assert data_of(text) == {"a": "5", "b": {"c": [1]}, "d": 1.5}


@pytest.mark.parametrize("written", ["1abc", "''", "abc", "1 2", "nan", "'٣'", "1__0"])
@pytest.mark.parametrize("tag", ["!!int", "!!float", "!!bool"])
def test_a_tag_that_its_value_belies_leaves_no_value(
    faults: Faults, tag: str, written: str
) -> None:
    [fault] = faults(f"{texts.SMALL}strategy_min_gpus: {{h200: {tag} {written}}}\n")
    assert fault.startswith("5:27: strategy_min_gpus.h200: found ")
    assert fault.endswith("; expected a whole number from 1 to 100000")


CHARACTERS = {
    "escape": ("\\e[31m", "U+001B"),
    "NUL": ("a\\0b", "U+0000"),
    "carriage return": ("a\\rb", "U+000D"),
    "backspace": ("a\\bb", "U+0008"),
    "DEL": ("\\x7f", "U+007F"),
    "C1": ("\\x9b", "U+009B"),
    "next line": ("\\N", "U+0085"),
    "right to left": ("a\u202eb", "U+202E"),
    "isolated": ("\\u2066", "U+2066"),
    "line separator": ("a\\Lb", "U+2028"),
}


@pytest.mark.parametrize(("written", "shown"), CHARACTERS.values(), ids=CHARACTERS)
def test_a_character_that_a_terminal_obeys_is_refused(written: str, shown: str) -> None:
    """What is printed is what would run: nothing may make it look otherwise."""
    assert errors(f'a:\n  - "{written}"\n') == [
        f"2:5: a[0]: the character {shown} is not allowed (remove it)"
    ]


@pytest.mark.parametrize(
    "text", ["tab\there", "two\nlines", "é…“”", "日本語\u3000", "👩\u200d💻", "\xa0", "\u200f"]
)
def test_other_characters_are_text(text: str) -> None:
    escaped = text.replace("\n", "\\n").replace("\t", "\\t")
    assert data_of(f'a: "{escaped}"\n') == {"a": text}


def test_aliases_stand_for_what_they_name(read: ReadRecipe) -> None:
    text = f"{texts.SMALL}features:\n  a: &f {{args: [--x, 1]}}\n  b: *f\n"
    features = read(text).features
    assert features["a"].id == "a"
    assert features["b"].id == "b"
    assert [feature.args[0][1] for feature in features.values()] == [("--x", "1")] * 2
    assert [feature.args[0][2].layer for feature in features.values()] == [
        "features.a.args",
        "features.b.args",
    ]


def laughs(levels: int, width: int) -> str:
    """A list whose parts are lists of the part before."""
    parts = (f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]\n" for i in range(1, levels))
    return "a0: &a0 [x]\n" + "".join(parts)


BOMBS = {
    "a billion laughs": (laughs(10, 10), MANY),
    "twice as many each time": (laughs(60, 2), MANY),
    "a list of lists, squared": ("a: &a [" + "x, " * 400 + "x]\nb: [" + "*a, " * 400 + "*a]", MANY),
    "mappings": ("a: &a {b: 1, c: 2}\nd: [" + "*a, " * 50_000 + "*a]", MANY),
    "a long text many times": (
        "a: &a " + "x" * 10_000 + "\nb: [" + "*a, " * 200 + "*a]",
        "aliases expand to over 1048576 characters",
    ),
    "a list in itself": ("&a [*a]", DEEP),
    "a mapping in itself": ("&a {b: {c: *a}}", DEEP),
    "many values without aliases": ("[" + "1," * 101_000 + "]", MANY),
}


@pytest.mark.parametrize(("text", "expected"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_does_not_go_off(text: str, expected: str) -> None:
    started = time.process_time()
    [error] = errors(text)
    assert error.endswith(f": {expected}")
    assert time.process_time() - started < 10  # it takes a second or two


@pytest.mark.parametrize("levels", [66, 400, 1_500])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_deep_nesting_is_refused(
    monkeypatch: pytest.MonkeyPatch, loader: str, opening: str, levels: int
) -> None:
    if not hasattr(yaml, loader):
        pytest.skip("this PyYAML is without libyaml")
    monkeypatch.setattr(yamltext, "_Loader", getattr(yaml, loader))
    closing = {"[": "]", "{a: ": "}"}.get(opening, "")
    [error] = errors(opening * levels + closing * levels)
    # "? " nests keys, of which the first is refused already.
    assert error.endswith((DEEP, "a key must be text, not a list or a mapping"))


def test_sixty_four_levels_are_read() -> None:
    text = "[" * 65 + "]" * 65
    assert errors(text) == []
    assert errors("[" * 66 + "]" * 66) == [f"1:66: {'[0]' * 65}: {DEEP}"]


def test_a_long_key_does_not_make_long_work() -> None:
    """Each value's place is told by its keys; those of a bomb would be gigabytes."""
    started = time.process_time()
    text = "? " + "k" * 500_000 + "\n: [" + "1," * 60_000 + "1]"
    assert errors(text) == ["1:3: a key of 500000 characters; at most 200 are allowed"]
    assert time.process_time() - started < 10


WORDS = st.text(st.sampled_from("0123456789+-._:eExo~<=!truefalsYNonull T\"'ab"), max_size=8)


@pytest.mark.parametrize("base", [yaml.SafeLoader, yaml.CSafeLoader], ids=["Python", "C"])
@given(words=st.lists(WORDS | st.text(max_size=4), max_size=30))
@example(words=["", "yes", "1", "1.5", "2026-01-01", "~", "<<", "=", "text", "-", ".inf", "0x1f"])
def test_the_tags_are_those_of_the_safe_loader(base: Any, words: list[str]) -> None:
    ours, theirs = yamltext._Loader(""), base("")
    asked = [(yaml.ScalarNode, w, how) for w in words for how in ((True, False), (False, True))]
    asked += [(kind, None, True) for kind in (yaml.MappingNode, yaml.SequenceNode)]
    assert [ours.resolve(*each) for each in asked] == [theirs.resolve(*each) for each in asked]


def test_the_characters_that_are_refused_are_those_that_yaml_does_not_allow() -> None:
    allowed = re.compile("[\t\n\r -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert characters._UNREADABLE.sub("", every) == "".join(allowed.findall(every))
