"""JSON text: what is wrong with it, and where."""

from __future__ import annotations

import functools
import time

import pytest

from vllm_launch.catalog import files
from vllm_launch.catalog.tree import plain
from vllm_launch.errors import RecipeError

VALUE = "not valid JSON: a value was expected here"
KEY = "not valid JSON: a key in double quotes was expected here"
SIZE = "not a number of ordinary size"
DEEP = "nested more than 64 levels deep"
MANY = "over 100000 values, counting each use of an alias"


def errors(text: str | bytes) -> list[str]:
    """What is wrong with a text as JSON; the file is called f.json."""
    data = text if isinstance(text, bytes) else text.encode()
    try:
        _, problems = files.parse(data, "f.json", is_json=True)
    except RecipeError as error:
        problems = list(error.problems)
    assert all(problem.file == "f.json" for problem in problems)
    return [str(problem).removeprefix("f.json:") for problem in problems]


def data_of(text: str) -> object:
    tree, problems = files.parse(text.encode(), "f.json", is_json=True)
    assert problems == []
    return plain(tree)


WRONG = {
    "empty": ("", f"1:1: {VALUE}"),
    "only white space": ("\n\n ", f"3:2: {VALUE}"),
    "a comment": ("// x\n{}", f"1:1: {VALUE}"),
    "a key without its value": ('{"a"', "1:5: not valid JSON: ':' was expected here"),
    "an end after a key": ('{"a": ', f"1:7: a: {VALUE}"),
    "an end in a text": ('{"a":\n "x', "2:2: a: not valid JSON: Unterminated string"),
    "an end in a mapping": ('{"a": 1', "1:8: not valid JSON: ',' or '}' was expected here"),
    "an end in a list": ("[1", "1:3: not valid JSON: ',' or ']' was expected here"),
    "a comma too many": ('{"a": 1,}', f"1:9: {KEY}"),
    "a comma too many in a list": ("[1,]", f"1:4: [1]: {VALUE}"),
    "a comma too few": ('{"a": 1 "b": 2}', "1:9: not valid JSON: ',' or '}' was expected here"),
    "single quotes": ("{'a': 1}", f"1:2: {KEY}"),
    "a key without quotes": ("{a: 1}", f"1:2: {KEY}"),
    "a value without quotes": ('{"a": x}', f"1:7: a: {VALUE}"),
    "a line end in a text": (
        '{"a": "x\ny"}',
        "1:9: a: not valid JSON: Invalid control character",
    ),
    "a tab in a text": ('["x\ty"]', "1:4: [0]: not valid JSON: Invalid control character"),
    "an unknown escape": ('{"a": "\\x"}', "1:8: a: not valid JSON: Invalid \\escape"),
    "an escape cut off": ('{"a": "\\u12"}', "1:9: a: not valid JSON: Invalid \\uXXXX escape"),
    "text behind the end": (
        "{}\n{}",
        "2:1: the document ends here, but more text follows",
    ),
    "YAML behind the end": ("[]x", "1:3: the document ends here, but more text follows"),
    "half a word": ("[tru]", f"1:2: [0]: {VALUE}"),
    "a capital word": ("[True]", f"1:2: [0]: {VALUE}"),
    "no number": ("[-]", f"1:2: [0]: {VALUE}"),
    "a plus sign": ("[+1]", f"1:2: [0]: {VALUE}"),
    "a leading zero": ("[01]", "1:3: not valid JSON: ',' or ']' was expected here"),
    "a point and no digit": ("[1.]", "1:3: not valid JSON: ',' or ']' was expected here"),
    "not a number": ("[NaN]", f"1:2: [0]: {VALUE}"),
    "infinity": ("[-Infinity]", f"1:2: [0]: {VALUE}"),
    "a number beyond all": ('{"a": 1e999}', f"1:7: a: {SIZE}"),
    "a number beyond all the other way": ('{"a": -1e999}', f"1:7: a: {SIZE}"),
    "a number of many digits": ('{"a": ' + "1" * 5000 + "}", f"1:7: a: {SIZE}"),
    "a fraction of many digits": ('{"a": 0.' + "1" * 50 + "}", f"1:7: a: {SIZE}"),
    "a byte order mark too many": ("\ufeff\ufeff{}", f"1:1: {VALUE}"),
    "NUL": ("\0", f"1:1: {VALUE}"),
    "half of a surrogate pair": (
        '{"a": "\\ud83d"}',
        "1:7: a: the character U+D83D is not allowed (remove it)",
    ),
    "the other half": (
        '{"\\ude00": 1}',
        "1:2: the character U+DE00 is not allowed (remove it)",
    ),
    "a NUL that is written out": (
        '["\\u0000"]',
        "1:2: [0]: the character U+0000 is not allowed (remove it)",
    ),
    "a terminal's command": (
        '["\\u001b[2J"]',
        "1:2: [0]: the character U+001B is not allowed (remove it)",
    ),
    "a key of several lines": ('{"a\\nb": 1}', "1:2: a key must be one line, without tabs"),
    "a key that is far too long": (
        '{"' + "k" * 201 + '": 1}',
        "1:2: a key of 201 characters; at most 200 are allowed",
    ),
    "a duplicate key": (
        '{"a": 1,\n "b": {"c": 1, "\\u0063": 2}}',
        "2:16: b: duplicate key 'c'; the first is on line 2 (keep one of the two)",
    ),
    "65 levels": ("[" * 66, f"1:66: {'[0]' * 65}: {DEEP}"),
    "a hundred thousand levels": ("[" * 100_000, f"1:66: {'[0]' * 65}: {DEEP}"),
    "mappings without end": ('{"a":' * 100_000, f"1:326: {'.'.join('a' * 65)}: {DEEP}"),
    "too many values": ("[" + "1," * 101_000, f"1:200000: [99999]: {MANY}"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_no_json(text: str, expected: str) -> None:
    assert errors(text) == [expected]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a": "\xe9"}', "1:8: byte 0xe9"),
        ('{"a": 1}'.encode("utf-16"), "1:1: byte 0xff"),
        (b'\xef\xbb\xbf{\n"\xff": 1}', "2:2: byte 0xff"),
    ],
    ids=["Latin-1", "UTF-16", "behind a byte order mark"],
)
def test_what_is_not_utf_8(data: bytes, place: str) -> None:
    assert errors(data) == [f"{place} is not UTF-8 (save the file as UTF-8)"]


def test_all_faults_that_can_be_read_past_are_told() -> None:
    text = '{"a": 1, "a": 2,\n "b": "\\u0007",\n "c": "\\ud800", "b": [}'
    assert errors(text) == [
        "1:10: duplicate key 'a'; the first is on line 1 (keep one of the two)",
        "2:7: b: the character U+0007 is not allowed (remove it)",
        "3:7: c: the character U+D800 is not allowed (remove it)",
        "3:17: duplicate key 'b'; the first is on line 2 (keep one of the two)",
        f"3:23: b[0]: {VALUE}",
    ]


def test_a_bad_key_does_not_reach_the_terminal_by_way_of_a_place() -> None:
    first, second = errors('{"\\u001b[2J": {"a": "\\u0007"}}')
    assert first == "1:2: the character U+001B is not allowed (remove it)"
    assert second == ("1:21: '\\x1b[2J'.a: the character U+0007 is not allowed (remove it)")


GOOD = {
    "everything": (
        ' \t\r\n{"a": [1, -2.5, 1e3, true, false, null, "x", {}, []]} ',
        {"a": [1, -2.5, 1000.0, True, False, None, "x", {}, []]},
    ),
    "escapes": ('["\\"\\\\\\/\\n\\t\\u00e9"]', ['"\\/\n\té']),
    "both halves of a pair": ('["\\ud83d\\ude00"]', ["\U0001f600"]),
    "a byte order mark": ("\ufeff{}", {}),
    "64 levels": ("[" * 65 + "]" * 65, functools.reduce(lambda inner, _: [inner], range(64), [])),
    "a scalar": ("5", 5),
}


@pytest.mark.parametrize(("text", "expected"), GOOD.values(), ids=GOOD)
def test_what_is_json(text: str, expected: object) -> None:
    assert data_of(text) == expected


def test_a_place_is_the_values_own() -> None:
    tree, _ = files.parse(b'{"a":\n  [1,\n   {"b": "x"}]}', "f.json", is_json=True)
    assert tree == (
        "map", 1, 1,
        (("a", 1, 2, ("list", 2, 3, (
            ("int", 2, 4, 1, "1"),
            ("map", 3, 4, (("b", 3, 5, ("text", 3, 10, "x", "")),), ""),
        ), "")),),
        "",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["[" + "1,\n" * 60_000 + "1]", '{"' + "k" * 500_000 + '": [' + "1," * 60_000 + "1]}"],
    ids=["many lines", "a long key"],
)
def test_a_large_file_is_no_long_work(text: str) -> None:
    started = time.process_time()
    errors(text)
    assert time.process_time() - started < 5  # it takes half a second
