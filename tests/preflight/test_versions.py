"""The vLLM that would run, and which releases stand for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from tests.preflight.build import (
    OPERATOR,
    Case,
    only,
    recipe,
    situation,
    told,
    unread,
)
from vllm_launch.model.system import Vllm
from vllm_launch.preflight import run_checks
from vllm_launch.preflight.target import of_image, target
from vllm_launch.preflight.version import is_development, is_less, key

NEEDS = recipe(minimum="0.33.0")
PYTHON = recipe(prerequisites={"python": "3.10 - 3.13"})


def with_vllm(**fields: str) -> Vllm:
    return Vllm(path="/venv/bin/vllm", interpreter="/venv/bin/python", **fields)


CASES = [
    Case("VLLM_MISSING", "pass", "there", situation(""), []),
    Case("VLLM_MISSING", "pass", "in a container", situation("", runtime="docker"), None),
    Case(
        "VLLM_MISSING",
        "found",
        "not on PATH",
        situation("").replace(system=situation("").system.replace(vllm=Vllm())),
        ["fail: vllm is not on PATH"],
    ),
    Case(
        "VLLM_MISSING",
        "unknown",
        "not read",
        situation("").replace(
            system=situation("").system.replace(**unread("vllm", reason="no answer in 4.2 s"))
        ),
        ["note: vLLM was not looked for: no answer in 4.2 s"],
    ),
    Case(
        "VLLM_MISSING",
        "unknown",
        "a wrapper",
        situation("").replace(
            system=situation("").system.replace(
                vllm=with_vllm(error="the command is no Python script")
            )
        ),
        ["note: the version of /venv/bin/vllm is not known: the command is no Python script"],
    ),
    Case("VERSION", "pass", "equal", situation("", of=NEEDS), []),
    Case("VERSION", "pass", "newer", situation("", of=NEEDS, vllm="0.34.1"), []),
    Case("VERSION", "pass", "a build", situation("", of=NEEDS, vllm="0.33.0+cu129"), []),
    Case("VERSION", "pass", "nothing asked for", situation("", vllm="0.9.0"), None),
    Case(
        "VERSION",
        "found",
        "older",
        situation("", of=NEEDS, vllm="0.32.0"),
        ["fail: vLLM 0.33.0 or newer needed by the recipe, 0.32.0 is installed"],
    ),
    Case(
        "VERSION",
        "found",
        "a candidate",
        situation("", of=NEEDS, vllm="0.33.0rc1"),
        ["fail: vLLM 0.33.0 or newer needed by the recipe, 0.33.0rc1 is installed"],
    ),
    Case(
        "VERSION",
        "found",
        "the image's tag",
        situation("", of=NEEDS, runtime="docker", image="vllm/vllm-openai:v0.32.0-cu129"),
        ["fail: vLLM 0.33.0 or newer needed by the recipe, 0.32.0 is in the image"],
    ),
    Case(
        "VERSION",
        "unknown",
        "a build between releases",
        situation("", of=NEEDS, vllm="0.32.1.dev407+g1a2b3c4"),
        ["warn: vLLM 0.33.0 or newer needed by the recipe, 0.32.1.dev407+g1a2b3c4 is installed"],
    ),
    Case(
        "VERSION",
        "unknown",
        "an image without a version",
        situation("", of=NEEDS, runtime="docker", image="vllm/vllm-openai:nightly"),
        None,
    ),
    Case("PYTHON", "pass", "within", situation("", of=PYTHON), []),
    Case(
        "PYTHON",
        "found",
        "too new",
        situation("", of=PYTHON).replace(
            system=situation("").system.replace(vllm=with_vllm(version="0.33.0", python="3.14"))
        ),
        ["warn: Python 3.10 - 3.13 named by the recipe, vllm runs on 3.14"],
    ),
    Case(
        "PYTHON",
        "found",
        "too old",
        situation("", of=PYTHON).replace(
            system=situation("").system.replace(vllm=with_vllm(version="0.33.0", python="3.9"))
        ),
        ["warn: Python 3.10 - 3.13 named by the recipe, vllm runs on 3.9"],
    ),
    Case(
        "PYTHON",
        "unknown",
        "not known",
        situation("", of=PYTHON).replace(
            system=situation("").system.replace(vllm=with_vllm(version="0.33.0"))
        ),
        None,
    ),
    Case("VERSION_UNLISTED", "pass", "a release", situation(""), []),
    Case(
        "VERSION_UNLISTED",
        "found",
        "between two",
        situation("", vllm="0.28.1"),
        [
            (
                "note: vLLM 0.28.1 is no release that is listed: arguments were checked against "
                "0.28.0 and 0.29.0"
            ),
        ],
    ),
    Case(
        "VERSION_UNLISTED",
        "found",
        "newer than all",
        situation("", vllm="0.40.0"),
        [
            "note: vLLM 0.40.0 is no release that is listed: arguments were checked against 0.33.0",
        ],
    ),
    Case(
        "VERSION_UNLISTED",
        "found",
        "older than all",
        situation("", vllm="0.11.0"),
        [
            "note: vLLM 0.11.0 is no release that is listed: arguments were checked against 0.24.0",
        ],
    ),
    Case(
        "VERSION_UNLISTED",
        "found",
        "an image without a version",
        situation("", runtime="docker", image="vllm/vllm-openai:nightly"),
        [
            (
                "note: which vLLM is in the image vllm/vllm-openai:nightly is not known: arguments "
                "were checked against 0.33.0"
            ),
        ],
    ),
    Case(
        "VERSION_UNLISTED",
        "found",
        "none installed",
        situation("", of=recipe(minimum="0.30.0")).replace(
            system=situation("").system.replace(vllm=Vllm())
        ),
        [
            (
                "note: the vLLM that will run is not known (the recipe needs 0.30.0): arguments "
                "were checked against 0.30.0 to 0.33.0"
            ),
        ],
    ),
    Case("VERSION_UNLISTED", "unknown", "no table", situation("", known=None), None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


ORDER = [
    "0.0.1",
    "0.9.2",
    "0.10.0",
    "0.32.1.dev407+g1a2b3c4",
    "0.32.1",
    "0.33.0.dev1",
    "0.33.0a1",
    "0.33.0b1",
    "0.33.0rc1.dev12+gabc",
    "0.33.0rc1",
    "0.33.0rc2",
    "0.33.0",
    "0.33.0.post1.dev3",
    "0.33.0.post1",
    "0.33.0-2",  # a post release in an older spelling
    "0.33.1",
    "1.0",
    "2.0.0",
    "1!0.1",
]


def test_versions_are_ordered() -> None:
    for place, version in enumerate(ORDER):
        assert [is_less(version, other) for other in ORDER] == [
            place < at for at in range(len(ORDER))
        ]


def test_equal_and_unreadable_versions() -> None:
    assert is_less("v0.33", "0.33.0") is is_less("0.33.0", "v0.33") is False
    assert is_less("main", "0.33.0") is None
    assert is_less("0.33.0", "") is None


NUMBERS = st.integers(min_value=0, max_value=30).map(str)


@st.composite
def versions(draw: st.DrawFn) -> str:
    """Versions as packages may write them, the odd spellings too."""
    release = ".".join(draw(st.lists(NUMBERS, min_size=1, max_size=4)))
    mark = st.sampled_from(["", ".", "-", "_"])
    candidate = draw(st.sampled_from(["", "a", "b", "rc", "alpha", "beta", "c", "pre", "preview"]))
    post = draw(st.sampled_from(["", "post", "rev", "r", "-"]))
    dev = draw(st.sampled_from(["", "", "dev"]))
    return "".join(
        (
            draw(st.sampled_from(["", "v", "1!"])),
            release,
            f"{draw(mark)}{candidate}{draw(mark)}{draw(NUMBERS)}" if candidate else "",
            f"-{draw(NUMBERS)}" if post == "-" else "",
            f"{draw(mark)}{post}{draw(mark)}{draw(NUMBERS)}" if post not in ("", "-") else "",
            f"{draw(mark)}{dev}{draw(mark)}{draw(NUMBERS)}" if dev else "",
            draw(st.sampled_from(["", "", "+cpu", "+g0a1b2c3.rocm720"])),
        )
    )


@given(versions(), versions())
def test_the_order_is_that_of_packages(first: str, second: str) -> None:
    one, other = (Version(text.partition("+")[0]) for text in (first, second))
    assert is_less(first, second) is (one < other)
    assert is_development(first) is one.is_devrelease


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("580.65.06", "580.65.6"),
        ("570.86.10-0ubuntu1", "570.86.10"),
        ("0.33.0-cu130", "0.33.0"),
        ("0.33.0+rocm720", "0.33.0"),
        ("13.0.1-runtime-ubuntu24.04", "13.0.1"),
        ("3.12.0devel", "3.12"),
    ],
)
def test_what_is_no_part_of_a_version_is_left_out(text: str, same: str) -> None:
    assert key(text) == key(same)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.33.1rc1.dev12-gabc1234", "0.33.1rc1.dev12"),
        ("vllm/vllm-openai:v0.33.0", "0.33.0"),
        ("vllm/vllm-openai:v0.33.0-cu130", "0.33.0"),
        ("vllm/vllm-openai-rocm:0.33.0", "0.33.0"),
        ("vllm/vllm-openai:v0.33.0rc1", "0.33.0rc1"),
        ("vllm/vllm-openai:v0.33.0@sha256:0123", "0.33.0"),
        ("registry.local:5000/vllm/vllm-openai:v0.33.0", "0.33.0"),
        ("rocm/vllm:rocm7.2_ubuntu24.04_vllm_0.31.0", "0.31.0"),
        ("vllm/vllm-openai:nightly", ""),
        ("vllm/vllm-openai:nightly-1a2b3c4d5e", ""),
        ("vllm/vllm-openai:minimax-m31-flash", ""),
        ("vllm/vllm-openai", ""),
        ("vllm/vllm-openai@sha256:0123", ""),
        ("quay.io/ascend/vllm-ascend:v0.23.0", ""),
    ],
)
def test_versions_in_tags(image: str, version: str) -> None:
    assert of_image(image) == version


@pytest.mark.parametrize(
    ("vllm", "shown", "sure"),
    [
        ("0.33.0", "0.33.0", True),
        ("0.24.0", "0.24.0", True),
        ("0.28.1", "0.28.0 and 0.29.0", True),
        ("0.40.0", "0.33.0", False),
        ("0.11.0", "0.24.0", False),
        ("0.32.1.dev407+g1a2b3c4", "0.32.0 and 0.33.0", False),
        ("0.33.0rc1", "0.32.0 and 0.33.0", True),
        ("0.33", "0.33.0", True),
        ("0.33.0+cpu", "0.33.0", True),
        ("0.33.0+rocm720", "0.33.0", True),
        ("0.33.0.post1", "0.33.0", False),
        ("0.32.0.post1", "0.32.0 and 0.33.0", True),
        ("0.33.1rc1.dev12+gabc", "0.33.0", False),
        ("0.33.0rc1.dev12+gabc", "0.32.0 and 0.33.0", False),
        ("0.24.0rc1", "0.24.0", False),
        ("0.24.0.dev3", "0.24.0", False),
        ("0.25.0", "0.24.0 and 0.25.1", True),
        ("0.1.dev1+g0123456", "0.33.0", False),
        ("1.0.0", "0.33.0", False),
        ("main", "0.33.0", False),
    ],
)
def test_releases_that_stand_for_a_version(vllm: str, shown: str, sure: bool) -> None:
    found = target(situation("", vllm=vllm))
    assert found is not None
    assert (found.shown, found.sure) == (shown, sure)


@pytest.mark.parametrize(
    ("vllm", "listed"),
    [
        ("0.33.0", True),
        ("0.33.0+cpu", True),
        ("0.32.0+rocm720", True),
        ("0.33", True),
        ("0.33.0.post1", False),
        ("0.33.1rc1.dev12+gabc", False),
        ("0.32.1.dev407+g1a2b3c4.rocm720", False),
        ("0.1.dev1+g0123456", False),
        ("0.34.0", False),
        ("0.23.0", False),
        ("main", False),
    ],
)
def test_an_unlisted_version_is_said_once_with_what_stood_for_it(vllm: str, listed: bool) -> None:
    plan = situation("--nonsense", vllm=vllm)
    said = [one for one in run_checks(plan) if one.code == "VERSION_UNLISTED"]
    at = target(plan)
    assert at is not None
    assert [one.what for one in said] == (
        []
        if listed
        else [
            (
                f"vLLM {vllm.partition('+')[0]} is no release that is listed: arguments were "
                f"checked against {at.shown}"
            )
        ]
    )


def test_builds_that_know_more_than_vllm() -> None:
    tpu = target(situation("", hardware="ironwood"))
    omni = target(situation("", of=recipe().replace(omni={"stages": 2})))
    assert tpu is not None
    assert omni is not None
    assert not tpu.sure
    assert not omni.sure


def test_how_to_install_it() -> None:
    def command(**fields: object) -> str:
        plan = situation("", **fields)  # type: ignore[arg-type]
        return only(plan.replace(system=plan.system.replace(vllm=Vllm())), "VLLM_MISSING").command

    assert command() == "uv pip install -U vllm"
    assert command(of=NEEDS) == "uv pip install -U 'vllm>=0.33.0'"
    assert command(of=recipe(nightly_required=True)) == (
        "uv pip install -U vllm --extra-index-url https://wheels.vllm.ai/nightly"
    )
    assert command(hardware="mi355x", image="vllm/vllm-openai-rocm:nightly") == (
        "docker pull vllm/vllm-openai-rocm:nightly"
    )
    assert command(hardware="ironwood") == ""


def test_the_operators_image_is_judged_by_its_tag() -> None:
    plan = situation(
        "", of=NEEDS, runtime="docker", image="vllm/vllm-openai:v0.31.0", image_source=OPERATOR
    )
    one = only(plan, "VERSION")
    assert one.what == "vLLM 0.33.0 or newer needed by the recipe, 0.31.0 is in the image"
    assert one.remedy == "Use the recipe's own image, or a newer tag."


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        (
            {"runtime": "docker"},
            "Name a newer one with --image; the recipe's own is older than the recipe allows.",
        ),
        ({"vllm": "0.31.0"}, "Update it."),
    ],
    ids=["in a container", "natively"],
)
def test_a_recipes_own_image_that_is_too_old_is_not_what_helps(
    fields: dict[str, str], remedy: str
) -> None:
    plan = situation("", of=NEEDS, image="vllm/vllm-openai:v0.31.0", **fields)  # type: ignore[arg-type]
    assert only(plan, "VERSION").remedy == remedy
