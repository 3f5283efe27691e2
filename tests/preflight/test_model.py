"""Weights, disk, the hub, the checkpoint's shape."""

from __future__ import annotations

import pytest

from tests.preflight.build import GIB, Case, only, recipe, situation, told, unread
from vllm_launch.model.system import Filesystem, Hub, Weights
from vllm_launch.preflight import Shape, Situation, wanted
from vllm_launch.preflight.disk import reads_weights

SNAPSHOT = "/cache/hub/models--org--model/snapshots/1"
NOTHING = Weights(path="/cache/hub/models--org--model", present=False)
PARTLY = Weights(
    path=SNAPSHOT,
    present=True,
    expected=4,
    missing=("model-00004-of-00004.safetensors",),
    total_bytes=100 * GIB,
    present_bytes=70 * GIB,
)
NO_INDEX = Weights(path=SNAPSHOT, present=True, present_bytes=30 * GIB)
LOCAL = Weights(path="/models/m", present=True, local=True, expected=4, present_bytes=GIB)
OFFLINE = Hub(cache="/cache/hub", token=True, offline="HF_HUB_OFFLINE")
SUDO = Hub(cache="/cache/hub", token=True, elsewhere="/home/me/.cache/huggingface/hub")
NO_TOKEN = Hub(cache="/cache/hub", token=False)
GATED = "meta-llama/Llama-4"


def disk(free: int) -> Filesystem:
    return Filesystem(path="/cache/hub", size=8192 * GIB, free=free)


def downloading(free: int, weights: Weights = NOTHING, vram: float | None = 120) -> Situation:
    return situation("", weights=weights, disk=disk(free), of=recipe(vram=vram))


CASES = [
    Case("DISK", "pass", "in the cache", situation("", disk=disk(0)), []),
    Case("DISK", "pass", "room for the rest", downloading(31 * GIB, PARTLY), []),
    Case("DISK", "pass", "room for an estimate", downloading(100 * GIB), []),
    Case("DISK", "pass", "a local directory", situation("", weights=LOCAL, disk=disk(0)), None),
    Case("DISK", "pass", "no weights at all", situation("--load-format dummy"), None),
    Case(
        "DISK",
        "found",
        "no room for the rest",
        downloading(29 * GIB, PARTLY),
        ["fail: 29 GiB free under /cache/hub, 30 GiB still to be downloaded"],
    ),
    Case(
        "DISK",
        "found",
        "no room by any estimate",
        downloading(20 * GIB),
        ["fail: 20 GiB free under /cache/hub, about 93.1 GiB still to be downloaded"],
    ),
    Case(
        "DISK",
        "found",
        "perhaps no room",
        downloading(90 * GIB),
        ["warn: 90 GiB free under /cache/hub, about 93.1 GiB still to be downloaded"],
    ),
    Case(
        "DISK",
        "unknown",
        "not measured",
        situation("", weights=NOTHING, **unread("disk", reason="no answer in 4.2 s")),
        ["note: disk space was not measured: no answer in 4.2 s"],
    ),
    Case(
        "DISK",
        "unknown",
        "files not looked for",
        situation("", **unread("weights", reason="no answer in 4.2 s")),
        ["note: the model's files were not looked for: no answer in 4.2 s"],
    ),
    Case("DISK", "unknown", "size of the model", downloading(GIB, vram=None), []),
    Case("MODEL_INCOMPLETE", "pass", "complete", situation("", weights=LOCAL), []),
    Case("MODEL_INCOMPLETE", "pass", "in the cache", situation("", weights=PARTLY), None),
    Case(
        "MODEL_INCOMPLETE",
        "found",
        "a shard",
        situation("", weights=LOCAL.replace(missing=("model-00002-of-00004.safetensors",))),
        [
            "fail: 1 weight file of 4 missing in /models/m: model-00002-of-00004.safetensors",
        ],
    ),
    Case(
        "MODEL_INCOMPLETE",
        "found",
        "several",
        situation("", weights=LOCAL.replace(missing=("a.safetensors", "b.safetensors"))),
        ["fail: 2 weight files of 4 missing in /models/m: a.safetensors, …"],
    ),
    Case(
        "MODEL_INCOMPLETE",
        "found",
        "no config",
        situation("", weights=LOCAL.replace(config=False)),
        ["fail: /models/m has no config.json"],
    ),
    Case(
        "MODEL_INCOMPLETE",
        "found",
        "no weights",
        situation("", weights=LOCAL.replace(expected=None, present_bytes=0)),
        ["fail: /models/m has no weights"],
    ),
    Case(
        "MODEL_INCOMPLETE",
        "found",
        "not there",
        situation("", weights=LOCAL.replace(present=False)),
        ["fail: /models/m is not there"],
    ),
    Case(
        "MODEL_INCOMPLETE",
        "unknown",
        "weights without an index",
        situation("", weights=LOCAL.replace(expected=None)),
        [],
    ),
    Case("HF_OFFLINE", "pass", "all is there", situation("", hub=OFFLINE), []),
    Case("HF_OFFLINE", "pass", "online", situation("", weights=NOTHING), None),
    Case(
        "HF_OFFLINE",
        "found",
        "nothing there",
        situation("", hub=OFFLINE, weights=NOTHING),
        ["fail: HF_HUB_OFFLINE is set, and in the cache (/cache/hub) org/model is not there"],
    ),
    Case(
        "HF_OFFLINE",
        "found",
        "a file is missing",
        situation("", hub=OFFLINE, weights=PARTLY),
        [
            (
                "fail: HF_HUB_OFFLINE is set, and in the cache (/cache/hub) 1 weight file of "
                "org/model missing"
            ),
        ],
    ),
    Case(
        "HF_OFFLINE",
        "unknown",
        "weights without an index",
        situation("", hub=OFFLINE, weights=NO_INDEX),
        [],
    ),
    Case("HF_GATED", "pass", "a token", situation("", model=GATED, weights=NOTHING), []),
    Case("HF_GATED", "pass", "cached already", situation("", model=GATED, hub=NO_TOKEN), []),
    Case("HF_GATED", "pass", "an open owner", situation("", hub=NO_TOKEN, weights=NOTHING), []),
    Case(
        "HF_GATED",
        "pass",
        "the hub lets it pass",
        situation("", model=GATED, hub=NO_TOKEN, weights=NOTHING, hub_status=200),
        [],
    ),
    Case(
        "HF_GATED",
        "found",
        "no token",
        situation("", model=GATED, hub=NO_TOKEN, weights=NOTHING),
        ["warn: no token for the hub, and meta-llama gates its models"],
    ),
    Case(
        "HF_GATED",
        "found",
        "401 without a token",
        situation("", hub=NO_TOKEN, weights=NOTHING, hub_status=401),
        ["fail: the hub asks for a token for org/model (401)"],
    ),
    Case(
        "HF_GATED",
        "found",
        "401 with one",
        situation("", weights=NOTHING, hub_status=401),
        ["fail: the hub asks for a valid token for org/model (401)"],
    ),
    Case(
        "HF_GATED",
        "found",
        "403",
        situation("", weights=NOTHING, hub_status=403),
        ["fail: the hub refuses org/model to this token (403)"],
    ),
    Case(
        "HF_GATED",
        "found",
        "404",
        situation("", weights=NOTHING, hub_status=404),
        ["fail: the hub has no org/model (404)"],
    ),
    Case(
        "HF_GATED", "unknown", "an odd answer", situation("", weights=NOTHING, hub_status=500), []
    ),
    Case("HF_GATED", "unknown", "not looked for", situation("", **unread("hub")), None),
    Case("SUDO_HOME", "pass", "complete", situation("", hub=SUDO), []),
    Case("SUDO_HOME", "pass", "no other cache", situation("", weights=NOTHING), []),
    Case(
        "SUDO_HOME",
        "found",
        "in the caller's cache",
        situation("", weights=NOTHING, hub=SUDO),
        ["warn: org/model is in /home/me/.cache/huggingface/hub, and /cache/hub is looked into"],
    ),
    Case("SUDO_HOME", "unknown", "not read", situation("", **unread("hub")), None),
    Case("TP_HEADS", "pass", "divides", situation("", shape=Shape(legal=(1, 2, 4))), []),
    Case(
        "TP_HEADS",
        "found",
        "does not",
        situation(
            "-tp 3",
            shape=Shape(refused="64 attention heads are not divisible by 3", legal=(1, 2, 4, 8)),
        ),
        ["fail: tensor parallel size 3 cannot be: 64 attention heads are not divisible by 3"],
    ),
    Case("TP_HEADS", "unknown", "no config", situation("-tp 3"), None),
    Case("TP_BLOCK_QUANT", "pass", "divides", situation("", shape=Shape(legal=(1, 2, 4))), []),
    Case(
        "TP_BLOCK_QUANT",
        "found",
        "does not",
        situation(
            "-tp 8",
            shape=Shape(
                refused="1536 / 8 = 192 is not made of whole quantisation blocks of 128",
                legal=(1, 2, 4),
            ),
        ),
        [
            (
                "fail: tensor parallel size 8 cannot be: 1536 / 8 = 192 is not made of whole "
                "quantisation blocks of 128"
            ),
        ],
    ),
    Case("TP_BLOCK_QUANT", "unknown", "no config", situation("-tp 3"), None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


@pytest.mark.parametrize(
    ("plan", "reads"),
    [
        (situation(""), True),
        (situation("", model="/models/m"), True),
        (situation("", model="s3://bucket/model"), False),
        (situation("", model="$MODEL"), False),
        (situation("--load-format dummy"), False),
        (situation("--download-dir /scratch"), True),
        (situation("--download-dir /scratch", runtime="docker"), False),
        (situation("", {"VLLM_USE_MODELSCOPE": "1"}), False),
        (situation("", {"VLLM_USE_MODELSCOPE": "0"}), True),
    ],
)
def test_plans_that_read_weights(plan: Situation, reads: bool) -> None:
    assert reads_weights(plan) is reads
    assert bool(wanted(plan).model) is reads


def test_offline_needs_no_room() -> None:
    assert told(situation("", hub=OFFLINE, weights=NOTHING, disk=disk(0)), "DISK") == []


def test_how_to_download_beforehand() -> None:
    plan = situation("", hub=OFFLINE, weights=NOTHING)
    assert only(plan, "HF_OFFLINE").command == "HF_HUB_OFFLINE=0 hf download org/model"


def test_legal_sizes_are_told() -> None:
    plan = situation("-tp 3", shape=Shape(refused="64 attention heads", legal=(1, 2, 4, 8)))
    assert only(plan, "TP_HEADS").remedy == "Sizes that this checkpoint allows: 1, 2, 4, 8."
