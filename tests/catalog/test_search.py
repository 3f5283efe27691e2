"""Sizes, filters and the order in which a search's answers come."""

from __future__ import annotations

import pytest

from vllm_launch.catalog.search import Wanted, is_wanted, parameters, ranked
from vllm_launch.model.entry import Entry, Served


def entry(recipe_id: str, **fields: object) -> Entry:
    served = (Served(id="default", checkpoint=recipe_id),)
    return Entry(**{"id": recipe_id, "source": "bundled", "variants": served, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("427B", 427e9),
        ("1.55b", 1.55e9),
        ("350M", 350e6),
        ("2.4T", 2.4e12),
        (" 7B ", 7e9),
        ("500", 500),
        ("Undisclosed", None),
        ("", None),
        ("B", None),
        ("1.B", None),
        (".5B", None),
        ("-1B", None),
        ("1e3B", None),
        ("nan", None),
        ("infB", None),
        ("30B-A3B", None),
        ("९B", None),
        ("9" * 400, None),
    ],
)
def test_sizes(text: str, number: float | None) -> None:
    assert parameters(text) == number


GLM = entry(
    "zai-org/GLM-4.7", title="GLM-4.7", provider="Z.ai", tasks=("text",), parameter_count="358B",
    description="For programming and agents, faster than GLM-4.5.",
    hardware=(("h200", "verified"), ("b200", "supported"), ("mi300x", "verified")),
    variants=(
        Served(id="default", checkpoint="zai-org/GLM-4.7"),
        Served(id="nvfp4", checkpoint="nvidia/GLM-4.7-NVFP4", description="NVIDIA's quantization"),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "is_it"),
    [
        ({}, True),
        ({"providers": ("z.AI",)}, True),
        ({"providers": ("Zai-Org",)}, True),
        ({"providers": ("Qwen", "zai")}, True),
        ({"providers": ("za",)}, False),
        ({"tasks": ("Text",)}, True),
        ({"tasks": ("multimodal",)}, False),
        ({"verified": ("h200",)}, True),
        ({"verified": ("h200", "mi300x")}, True),
        ({"verified": ("h200", "b200")}, False),
        ({"least": 358e9, "most": 358e9}, True),
        ({"least": 359e9}, False),
        ({"most": 357e9}, False),
        ({"providers": ("zai-org",), "tasks": ("omni",)}, False),
    ],
    ids=str,
)
def test_filters(wanted: dict[str, object], is_it: bool) -> None:
    assert is_wanted(GLM, Wanted(**wanted)) is is_it  # type: ignore[arg-type]


def test_an_unknown_size_is_in_no_range() -> None:
    hidden = entry("a/b", parameter_count="Undisclosed")
    assert is_wanted(hidden, Wanted())
    assert not is_wanted(hidden, Wanted(least=1))
    assert not is_wanted(hidden, Wanted(most=1e15))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["glm-4.7"], ["zai-org/GLM-4.7"]),
        (["glm47"], ["zai-org/GLM-4.7"]),
        (["GLM"], ["zai-org/GLM-4.7", "zai-org/GLM-Image", "a/About"]),
        (["zai-org/glm-image"], ["zai-org/GLM-Image"]),
        (["glm", "nvfp4"], ["zai-org/GLM-4.7"]),
        (["glm nvfp4"], ["zai-org/GLM-4.7"]),
        (["nvidia"], ["nvidia/N", "zai-org/GLM-4.7"]),
        (["programming"], ["zai-org/GLM-4.7"]),
        (["gram"], ["zai-org/GLM-4.7"]),
        (["glm", "nothing"], []),
        (["--"], []),
        ([""], []),
    ],
    ids=str,
)
def test_the_best_match_is_first(words: list[str], found: list[str]) -> None:
    others = (
        entry("a/About", description="Not unlike GLM"),
        entry("nvidia/N"),
        entry("zai-org/GLM-Image"),
    )
    assert [each.id for each in ranked((*others, GLM), words)] == found


def test_the_model_itself_is_before_those_that_have_its_name_in_theirs() -> None:
    names = ["x/Qwen3-8B-Base", "Qwen/Qwen3-8B", "x/My-Qwen3-8B"]
    assert [each.id for each in ranked(map(entry, names), ["qwen3-8b"])] == [
        "Qwen/Qwen3-8B", "x/Qwen3-8B-Base", "x/My-Qwen3-8B",
    ]  # fmt: skip
