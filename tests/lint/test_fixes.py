"""What --fix changes, and that it changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lint.conftest import Lint
from vllm_launch.catalog.files import parse
from vllm_launch.catalog.tree import plain
from vllm_launch.lint.fault import Edit
from vllm_launch.lint.fixes import with_edits
from vllm_launch.lint.meaning import says_the_same

# A recipe with every fault that is mended, in every way to write a list, with and without quotes,
# comments where they might get lost, odd layout; and what is to become of it.
BEFORE = """\
# A comment at the top\u2026
model:
  model_id:   org/repo   # spaces stay
  min_vllm_version: "0.24.0"
  base_args:
    # above
    - "--max-num-seqs 64"   # behind
    - --cuda-graph-sizes
    - 8

    - "--enable-prefix-caching"
    - "true"  # said by hand
    - '--enable-chunked-prefill'
    - "false"
    - "--trust-remote-code"
    - "--trust-remote-code"
  base_env:
    VLLM_TRITON_ATTN_USE_TD: "1"  # renamed
    'NCCL_DEBUG': INFO
features:
  json: {args: ["--compilation-config {\\"mode\\": 3}"]}
  quoted:
    args:
      - '--compilation-config {"mode": 3}'
  flow: {args: ["--enable-multimodal-encoder-data-parallel",   "--stream-interval", "2" ]}
  spread: {args: [
    "--async-scheduling", "on",
    --stream-interval,
    "2",   "--stream-interval", "2"]}
opt_in_features: [json, quoted, flow, spread]
variants:
  default: {}
compatible_strategies: [single_node_tp]
guide: |
  Write "--max-num-seqs 64", or - "true".
"""
AFTER = """\
# A comment at the top\u2026
model:
  model_id:   org/repo   # spaces stay
  min_vllm_version: "0.24.0"
  base_args:
    # above
    - "--max-num-seqs"   # behind
    - "64"
    - --cudagraph-capture-sizes
    - 8

    - "--enable-prefix-caching"
      # said by hand
    - '--no-enable-chunked-prefill'
    - "--trust-remote-code"
  base_env:
    VLLM_TRITON_USE_TD: "1"  # renamed
    'NCCL_DEBUG': INFO
features:
  json: {args: ["--compilation-config {\\"mode\\": 3}"]}
  quoted:
    args:
      - '--compilation-config'
      - '{"mode": 3}'
  flow: {args: ["--mm-encoder-tp-mode", "data",   "--stream-interval", "2" ]}
  spread: {args: [
    "--async-scheduling",
    "--stream-interval", "2"]}
opt_in_features: [json, quoted, flow, spread]
variants:
  default: {}
compatible_strategies: [single_node_tp]
guide: |
  Write "--max-num-seqs 64", or - "true".
"""
MENDED = ("LINT_ONE_ELEMENT", "LINT_BOOLEAN", "LINT_REPEATED", "LINT_RENAMED")


def edits(lint: Lint, text: str) -> list[Edit]:
    return [edit for fault in lint(text) for edit in fault.edits]


def test_only_what_is_wrong_is_changed(lint: Lint) -> None:
    after, left = with_edits(BEFORE, edits(lint, BEFORE))
    assert after == AFTER
    # What is written with escapes is left to people.
    assert [edit.word for edit in left] == ['--compilation-config {"mode": 3}']


def test_what_is_mended_is_clean(lint: Lint) -> None:
    before = {fault.code for fault in lint(BEFORE)}
    assert before >= set(MENDED)
    left = [(fault.line, fault.code) for fault in lint(AFTER) if fault.code in MENDED]
    assert left == [(20, "LINT_ONE_ELEMENT")]
    assert with_edits(AFTER, [])[0] == AFTER


def test_line_ends_stay_as_they_are(lint: Lint) -> None:
    text = BEFORE.replace("\n", "\r\n")
    after, _ = with_edits(text, edits(lint, text))
    assert after == AFTER.replace("\n", "\r\n")


def test_a_file_without_a_last_line_end() -> None:
    text = 'a:\n- "--x 1"'
    edit = Edit(file="", line=2, column=3, word="--x 1", words=("--x", "1"))
    assert with_edits(text, [edit]) == ('a:\n- "--x"\n- "1"', [])


@pytest.mark.parametrize(
    ("line", "column"), [(1, 1), (2, 4), (9, 1), (0, 1)], ids=["elsewhere", "beside", "far", "none"]
)
def test_a_word_that_is_not_there_is_left(line: int, column: int) -> None:
    text = 'a:\n- "--x 1"\n'
    edit = Edit(file="", line=line, column=column, word="--x 1", words=())
    assert with_edits(text, [edit]) == (text, [edit])


def test_one_edit_twice_is_made_once() -> None:
    edit = Edit(file="", line=1, column=2, word="a", words=("b",))
    assert with_edits("[a, a]\n", [edit, edit]) == ('["b", a]\n', [])


_WORDS = st.lists(
    st.text(
        st.characters(codec="ascii", min_codepoint=33, exclude_characters="\"'\\\x7f"), min_size=1
    ),
    min_size=1,
    max_size=6,
)


@given(words=_WORDS, block=st.booleans(), data=st.data())
def test_a_list_is_what_the_edits_say(words: list[str], block: bool, data: st.DataObject) -> None:
    """Whatever is taken away, replaced or split: the rest is as it was."""
    new = [data.draw(st.none() | _WORDS | st.just([])) for _ in words]
    if block:
        text = "x: y\nlist:\n" + "".join(f'  - "{word}"  # {i}\n' for i, word in enumerate(words))
        places = [(i + 3, 5) for i in range(len(words))]
    else:
        text, places = "x: y\nlist: [", []
        for i, word in enumerate(words):
            text += ", " if i else ""
            places.append((2, len(text) - 4))
            text += f'"{word}"'
        text += "]\n"
    asked = [
        Edit(file="", line=line, column=column, word=word, words=tuple(replacement))
        for (line, column), word, replacement in zip(places, words, new, strict=True)
        if replacement is not None
    ]
    after, left = with_edits(text, asked)
    assert left == []
    assert says_the_same(text, after, asked)
    wanted = [
        w
        for word, each in zip(words, new, strict=True)
        for w in (each if each is not None else [word])
    ]
    tree, problems, *_ = parse(after.encode(), "x", is_json=False)
    assert problems == []
    found = plain(tree)
    assert found["x"] == "y"
    assert (found["list"] or []) == wanted


def test_the_example_says_what_it_says(tmp_path: Path) -> None:
    for text in (BEFORE, AFTER):
        _, problems, *_ = parse(text.encode(), str(tmp_path), is_json=False)
        assert problems == []


SPLIT = Edit(file="", line=2, column=3, word="--x 1", words=("--x", "1"))
TAKEN = Edit(file="", line=2, column=3, word="--x 1", words=())
RENAMED = Edit(file="", line=1, column=1, word="a", words=("b",))


@pytest.mark.parametrize(
    ("before", "after", "edits", "same"),
    [
        ('a:\n- "--x 1"', 'a:\n- "--x"\n- "1"', [SPLIT], True),
        ('a:\n- "--x 1"', 'a:\n- "--x"\n- 1', [SPLIT], False),
        ('a:\n- "--x 1"\n- &b 2', 'a:\n- "--x"\n- "1"\n- 2', [SPLIT], True),
        ('a:\n- "--x 1"\nb: 1', 'a:\n- "--x"\n- "1"\nb: "1"', [SPLIT], False),
        ('a:\n- "--x 1"\nb: 1', 'a:\n- "--x"\n- "1"', [SPLIT], False),
        ('a:\n- "--x 1"', "a:", [TAKEN], True),
        ('a:\n- "--x 1"', "a: []", [], False),
        ("a: 1", "b: 1", [RENAMED], True),
        ("a: 1", "b: 2", [RENAMED], False),
        ("a: 1", "b: [", [RENAMED], False),
    ],
    ids=[
        "as asked", "another kind", "an anchor", "a value elsewhere", "a key gone", "all taken",
        "all taken unasked", "a key", "a key's value", "no YAML any more",
    ],
)  # fmt: skip
def test_whether_a_mended_text_says_what_it_said(
    before: str, after: str, edits: list[Edit], same: bool
) -> None:
    assert says_the_same(before, after, edits) is same


def test_mending_again_changes_nothing(lint: Lint) -> None:
    once, _ = with_edits(BEFORE, edits(lint, BEFORE))
    assert with_edits(once, edits(lint, once))[0] == once
