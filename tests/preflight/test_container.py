"""Container engines and images."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.build import OPERATOR, Case, only, process, situation, told, unread
from vllm_launch.model.system import Engine, Image
from vllm_launch.preflight import Situation

CUSTOM = "vllm/vllm-openai:minimax-m31-flash"


def docker(
    command: str = "", *, name: str = "docker", account: Any = None, **fields: Any
) -> Situation:
    """A plan for a container; ``account`` are changes to the engine's account of itself."""
    plan = situation(command, runtime=name, **fields)
    if account is None:
        return plan
    values = {"name": name, "path": f"/usr/bin/{name}", "version": "28.2.2", **account}
    return plan.replace(system=plan.system.replace(engine=Engine(**values)))


def image(**fields: Any) -> Image:
    return Image(reference=CUSTOM, local=True, **fields)


DOWN = {"version": "", "error": "Cannot connect to the Docker daemon"}
DENIED = {"version": "", "error": "permission denied while trying to connect"}
PD = {
    "role": "prefill",
    "deploy_type": "pd_cluster",
    "others": [process("--port 8002", role="decode")],
}

CASES = [
    Case("ENGINE", "pass", "answers", docker(), []),
    Case("ENGINE", "pass", "native", situation(""), None),
    Case(
        "ENGINE",
        "found",
        "not there",
        docker(account={"path": "", "version": ""}),
        ["fail: docker is not on PATH"],
    ),
    Case(
        "ENGINE",
        "found",
        "no daemon",
        docker(account=DOWN),
        ["fail: docker does not answer: Cannot connect to the Docker daemon"],
    ),
    Case(
        "ENGINE",
        "unknown",
        "no answer in time",
        docker(**unread("engine", reason="no answer in 4.2 s")),
        ["note: docker was not asked: no answer in 4.2 s"],
    ),
    Case(
        "TOOLKIT",
        "pass",
        "the nvidia runtime",
        docker(account={"runtimes": ("runc", "nvidia")}),
        [],
    ),
    Case("TOOLKIT", "pass", "CDI", docker(account={"cdi": ("nvidia.com/gpu",)}), []),
    Case("TOOLKIT", "pass", "the hook alone", docker(account={"hook": True}), []),
    Case("TOOLKIT", "pass", "AMD needs none", docker(hardware="mi355x", account={}), None),
    Case(
        "TOOLKIT",
        "found",
        "nothing",
        docker(account={"runtimes": ("runc",)}),
        ["fail: docker has neither the nvidia runtime nor a CDI specification of GPUs"],
    ),
    Case(
        "TOOLKIT",
        "found",
        "podman without CDI",
        docker(name="podman", account={"hook": True}),
        ["fail: podman has no CDI specification of nvidia.com/gpu"],
    ),
    Case(
        "TOOLKIT",
        "unknown",
        "a daemon elsewhere",
        docker(account={"runtimes": ("runc",), "remote": True}),
        ["warn: docker has neither the nvidia runtime nor a CDI specification of GPUs"],
    ),
    Case("TOOLKIT", "unknown", "no daemon", docker(account=DOWN), None),
    Case("ENTRYPOINT", "pass", "vllm serve", docker(), []),
    Case(
        "ENTRYPOINT",
        "pass",
        "the older form",
        docker().replace(
            system=docker().system.replace(
                image=image(entrypoint=("python3", "-m", "vllm.entrypoints.openai.api_server"))
            )
        ),
        [],
    ),
    Case(
        "ENTRYPOINT",
        "found",
        "none",
        docker().replace(system=docker().system.replace(image=image())),
        [f"fail: the entrypoint of {CUSTOM} is none, and vllm serve is expected"],
    ),
    Case(
        "ENTRYPOINT",
        "found",
        "vllm alone",
        docker().replace(system=docker().system.replace(image=image(entrypoint=("vllm",)))),
        [f"fail: the entrypoint of {CUSTOM} is vllm, and vllm serve is expected"],
    ),
    Case(
        "ENTRYPOINT",
        "unknown",
        "a script",
        docker().replace(
            system=docker().system.replace(image=image(entrypoint=("/opt/nvidia_entrypoint.sh",)))
        ),
        [
            (
                f"warn: the entrypoint of {CUSTOM} is /opt/nvidia_entrypoint.sh, and vllm serve is "
                "expected"
            ),
        ],
    ),
    Case(
        "ENTRYPOINT",
        "unknown",
        "not here yet",
        docker().replace(
            system=docker().system.replace(image=Image(reference=CUSTOM, local=False))
        ),
        None,
    ),
    Case("IMAGE_TAG", "pass", "a version", docker(), []),
    Case("IMAGE_TAG", "pass", "a digest", docker(image="vllm/vllm-openai@sha256:0123"), []),
    Case("IMAGE_TAG", "pass", "native", situation("", image="x:latest"), None),
    Case(
        "IMAGE_TAG",
        "found",
        "the recipe's",
        docker(image="vllm/vllm-openai-rocm:nightly"),
        ["note: the tag of vllm/vllm-openai-rocm:nightly moves"],
    ),
    Case(
        "IMAGE_TAG",
        "found",
        "the operator's",
        docker(image="registry:5000/vllm", image_source=OPERATOR),
        ["warn: the tag of registry:5000/vllm moves"],
    ),
    Case(
        "IMAGE_TAG",
        "found",
        "to be pulled",
        docker(image=CUSTOM).replace(
            system=docker().system.replace(image=Image(reference=CUSTOM, local=False))
        ),
        [f"note: {CUSTOM} is not here yet, and docker will pull it"],
    ),
    Case(
        "IMAGE_TAG",
        "unknown",
        "no daemon",
        docker().replace(system=docker().system.replace(image=None)),
        [],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_a_daemon_that_refuses() -> None:
    assert only(docker(account=DENIED), "ENGINE").command == 'sudo usermod -aG docker "$USER"'
    assert only(docker(account=DOWN), "ENGINE").command == "sudo systemctl start docker"


def test_a_moving_tag_is_pinned_by_what_is_here() -> None:
    one = only(docker(image="vllm/vllm-openai:latest"), "IMAGE_TAG")
    assert one.remedy == "To hold what is here now: --image vllm/vllm-openai@sha256:0123."


def test_how_to_look_at_the_entrypoint() -> None:
    plan = docker().replace(system=docker().system.replace(image=image()))
    assert only(plan, "ENTRYPOINT").command == (
        f"docker image inspect -f '{{{{.Config.Entrypoint}}}}' {CUSTOM}"
    )
