"""The docker or podman command that runs a process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import M31, arguments, deploy, own, recipe, variables
from vllm_launch.model.deployment import Deployment, ProcessPlan
from vllm_launch.model.source import Source
from vllm_launch.resolve.container import PORTABLE, ContainerSetup, container_argv

IMAGE = "some/image:1"
CACHE = ["-v", "~/.cache/huggingface:/root/.cache/huggingface"]
SERVING = ["--ipc=host", "-p", "8000:8000", *CACHE]


def container(
    deployment: Deployment, setup: ContainerSetup = PORTABLE, process: ProcessPlan | None = None
) -> list[str]:
    """The whole command."""
    plan = process or deployment.processes[0]
    return container_argv(plan, deployment.choice.hardware, IMAGE, setup)


def before_image(deployment: Deployment, setup: ContainerSetup = PORTABLE) -> list[str]:
    """The engine's own part of the command."""
    argv = container(deployment, setup)
    return argv[: argv.index(IMAGE)]


LISTED = {
    "meta": {
        "hardware": dict.fromkeys(("trillium", "xeon6", "arc_pro_b60", "ascend_950pr"), "verified")
    }
}

AMD = ["--device=/dev/kfd", "--device=/dev/dri", "--security-opt", "seccomp=unconfined"]


class TestPortable:
    """The form that a batch gives: for any machine of the brand."""

    @pytest.mark.parametrize(
        ("hardware", "devices"),
        [
            ("h200", ["--gpus", "all"]),
            ("mi355x", [*AMD, "--group-add", "video"]),
            ("trillium", ["--privileged", "--network", "host", "-v", "/dev/shm:/dev/shm"]),
            ("xeon6", ["--shm-size", "16g"]),
            (
                "arc_pro_b60",
                ["--device", "/dev/dri", "-v", "/dev/dri/by-path:/dev/dri/by-path",
                 "--shm-size", "16g"],
            ),
            ("ascend_950pr", []),
        ],
        ids=["NVIDIA", "AMD", "TPU", "CPU", "XPU", "none known"],
    )  # fmt: skip
    def test_the_brands_part(self, hardware: str, devices: list[str]) -> None:
        deployment = deploy(recipe(LISTED), hardware=hardware)
        assert before_image(deployment) == ["docker", "run", *devices, "--privileged", *SERVING]

    def test_the_hub_cache_stays_though_a_variable_names_another(self) -> None:
        argv = before_image(deploy(recipe(), env=variables(HF_HOME="/scratch/hf")))
        assert argv[argv.index("-v") + 1] == CACHE[1]

    def test_the_command_follows_the_image(self) -> None:
        deployment = deploy(own(M31), hardware="b300")
        argv = container(deployment)
        assert argv[argv.index(IMAGE) + 1 :] == deployment.processes[0].argv[2:]

    def test_variables_are_given_one_by_one(self) -> None:
        env = variables(A="1", B="two words", C="")
        assert before_image(deploy(recipe(), env=env))[-6:] == [
            "-e", "A=1", "-e", "B=two words", "-e", "C=",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("args", "port"),
        [
            pytest.param((), "8000", id="8000"),
            pytest.param(("--port", "9000"), "9000", id="the one of --port"),
            pytest.param(("--port=9000",), "9000", id="with an equals sign"),
        ],
    )
    def test_the_port_is_published(self, args: tuple[str, ...], port: str) -> None:
        argv = before_image(deploy(recipe(), args=arguments(*args)))
        assert argv[argv.index("-p") + 1] == f"{port}:{port}"

    def test_roles_have_ports_of_their_own(self) -> None:
        deployment = deploy(recipe(), strategy="pd_cluster")
        argvs = [container(deployment, process=plan) for plan in deployment.processes]
        assert [argv[argv.index("-p") + 1] for argv in argvs] == ["8001:8001", "8002:8002"]

    def test_files_that_variables_name_are_mounted_read_only(self) -> None:
        env = variables(
            MOONCAKE_CONFIG_PATH="$MOONCAKE_CONFIG_PATH", X_CONFIG_PATH="/etc/x", CONFIG_PATH="/no"
        )
        assert before_image(deploy(recipe(), env=env))[-12:] == [
            *CACHE,
            "-v", "$MOONCAKE_CONFIG_PATH:$MOONCAKE_CONFIG_PATH:ro",
            "-v", "/etc/x:/etc/x:ro",
            "-e", "MOONCAKE_CONFIG_PATH=$MOONCAKE_CONFIG_PATH",
            "-e", "X_CONFIG_PATH=/etc/x",
            "-e", "CONFIG_PATH=/no",
        ]  # fmt: skip

    def test_pools_are_told_their_devices(self) -> None:
        deployment = deploy(recipe(), strategy="pd_cluster")
        argv = before_image(deployment)
        assert argv[2:4] == ["--gpus", "all"]
        assert "CUDA_VISIBLE_DEVICES=0,1,2,3" in argv


class TestOnThisMachine:
    """What a machine's own facts and an operator's wishes change."""

    @staticmethod
    def setup(**keys: Any) -> ContainerSetup:
        return PORTABLE.replace(**keys)

    @staticmethod
    def some_devices(hardware: str, *devices: str, **request: Any) -> Deployment:
        return deploy(recipe(), hardware=hardware, devices=devices, **request)

    def test_a_local_model_is_mounted_read_only(self) -> None:
        deployment = deploy(recipe(), model_path="/models/m 1")
        argv = container(deployment, self.setup())
        at = argv.index(IMAGE)
        assert argv[at - 2 : at + 2] == ["-v", "/models/m 1:/models/m 1:ro", IMAGE, "/models/m 1"]

    def test_a_recipes_local_model_is_mounted_read_only(self) -> None:
        on_disk = recipe({"model": {"model_id": "/models/m"}})
        argv = before_image(deploy(on_disk), self.setup())
        assert argv[-2:] == ["-v", "/models/m:/models/m:ro"]

    def test_podman_gets_nvidia_gpus_by_cdi(self) -> None:
        argv = before_image(deploy(recipe()), self.setup(engine="podman"))
        assert argv == [
            "podman", "run", "--device", "nvidia.com/gpu=all", "--privileged", *SERVING,
        ]  # fmt: skip

    def test_podman_gets_some_nvidia_gpus_one_by_one(self) -> None:
        argv = before_image(
            self.some_devices("h200", "0", "GPU-1a"), self.setup(engine="podman", masked=True)
        )
        assert argv == [
            "podman", "run", "--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=GPU-1a",
            "--privileged", *SERVING,
        ]  # fmt: skip

    def test_docker_gets_some_nvidia_gpus_in_one_quoted_word(self) -> None:
        # Docker reads the value as CSV: without quotes inside, the comma would end it.
        argv = before_image(self.some_devices("h200", "0", "2"), self.setup(masked=True))
        assert argv == ["docker", "run", "--gpus", '"device=0,2"', "--privileged", *SERVING]

    def test_pools_get_just_their_own(self) -> None:
        deployment = self.some_devices("h200", "1", "3", "5", "7", strategy="pd_cluster")
        argvs = [
            container(deployment, self.setup(masked=True), process=plan)
            for plan in deployment.processes
        ]
        assert [argv[3] for argv in argvs] == ['"device=1,3"', '"device=5,7"']
        assert not any("CUDA_VISIBLE_DEVICES" in word for argv in argvs for word in argv)

    @pytest.mark.parametrize("engine", ["docker", "podman"])
    @pytest.mark.parametrize(
        ("strategy", "name"),
        [("single_node_tp", "HIP_VISIBLE_DEVICES"), ("pd_cluster", "CUDA_VISIBLE_DEVICES")],
    )
    def test_on_amd_the_variable_limits_the_process(
        self, engine: str, strategy: str, name: str
    ) -> None:
        deployment = self.some_devices("mi355x", "2", "3", strategy=strategy)
        argv = before_image(deployment, self.setup(engine=engine, masked=True))
        assert argv[2:6] == AMD
        assert f"{name}={'2,3' if strategy == 'single_node_tp' else '2'}" in argv

    def test_on_amd_a_container_counts_the_hosts_devices_anew(self) -> None:
        # The host's own mask, which the variable counts within, does not reach into it.
        deployment = self.some_devices("mi355x", "0", "1")
        argv = before_image(deployment, self.setup(masked=True, devices=("4", "5")))
        assert [word for word in argv if "VISIBLE_DEVICES" in word] == ["HIP_VISIBLE_DEVICES=4,5"]

    @pytest.mark.parametrize(
        ("gids", "groups"),
        [
            ({}, ["--group-add", "video"]),
            ({"render_gid": 992, "video_gid": 44}, ["--group-add", "44", "--group-add", "992"]),
            ({"render_gid": 44, "video_gid": 44}, ["--group-add", "44"]),
            ({"render_gid": 992}, ["--group-add", "992"]),
            ({"video_gid": 0}, ["--group-add", "0"]),
        ],
        ids=["by name", "by number", "one for both", "render alone", "root's"],
    )
    def test_amd_devices_belong_to_groups(self, gids: dict[str, int], groups: list[str]) -> None:
        deployment = deploy(recipe(), hardware="mi355x")
        argv = before_image(deployment, self.setup(**gids))
        assert argv == ["docker", "run", *AMD, *groups, "--privileged", *SERVING]

    def test_a_name_an_address_and_another_cache(self) -> None:
        setup = self.setup(
            name="mine", publish="127.0.0.1:", hub_cache="/data/hub", hub_cache_inside="/hub"
        )
        assert before_image(deploy(recipe()), setup) == [
            "docker", "run", "--name", "mine", "--gpus", "all", "--privileged", "--ipc=host",
            "-p", "127.0.0.1:8000:8000", "-v", "/data/hub:/hub",
        ]  # fmt: skip

    def test_a_secret_is_passed_by_name_alone(self) -> None:
        deployment = deploy(recipe(), env=variables(HF_TOKEN="hf_secret", A="1"))
        argv = container(deployment, self.setup(passed_by_name=("HF_TOKEN", "OTHER")))
        at = argv.index(IMAGE)
        assert argv[at - 6 : at] == ["-e", "HF_TOKEN", "-e", "OTHER", "-e", "A=1"]
        assert not any("secret" in word for word in argv)


class TestHardened:
    """Only the privileges that the plan needs."""

    BASE = ("--security-opt", "no-new-privileges", "--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE")
    LIMITS = ("--shm-size", "16g", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864")
    RDMA = ("--device", "/dev/infiniband")
    SIMPLE = '{"kv_connector":"SimpleCPUOffloadConnector"}'
    NIXL = '{"kv_connector":"NixlConnector"}'
    MOONCAKE = '{"kv_connector":"MooncakeStoreConnector"}'

    @pytest.mark.parametrize(
        ("args", "needed"),
        [
            pytest.param((), [], id="nothing more"),
            pytest.param(("--numa-bind",), ["--cap-add", "SYS_NICE"], id="NUMA binding"),
            pytest.param(
                ("--kv-transfer-config", SIMPLE), ["--cap-add", "IPC_LOCK"], id="pinned memory"
            ),
            pytest.param(
                (f"--kv-transfer-config={SIMPLE}",), ["--cap-add", "IPC_LOCK"], id="in one word"
            ),
            pytest.param(
                ("--kv-transfer-config", NIXL, "--numa-bind"),
                ["--cap-add", "IPC_LOCK", "--cap-add", "SYS_NICE", *RDMA],
                id="RDMA",
            ),
            pytest.param(
                ("--kv-transfer-config", MOONCAKE),
                ["--cap-add", "IPC_LOCK", *RDMA],
                id="RDMA of a store",
            ),
            pytest.param(
                (f"--kv-transfer-config={NIXL}",),
                ["--cap-add", "IPC_LOCK", *RDMA],
                id="RDMA in one word",
            ),
        ],
    )
    def test_capabilities_and_devices(self, args: tuple[str, ...], needed: list[str]) -> None:
        argv = before_image(
            deploy(recipe(), args=arguments(*args)), PORTABLE.replace(hardened=True)
        )
        assert argv == [
            "docker", "run", "--gpus", "all", *self.BASE, *needed, *self.LIMITS, *SERVING[1:],
        ]  # fmt: skip

    @pytest.mark.parametrize(("enabled", "given"), [("1", True), ("0", False)])
    def test_nvlink_between_trays_takes_an_imex_channel(self, enabled: str, given: bool) -> None:
        env = (("NCCL_MNNVL_ENABLE", enabled, Source(layer="operator")),)
        argv = before_image(deploy(recipe(), env=env), PORTABLE.replace(hardened=True))
        assert ("/dev/nvidia-caps-imex-channels/channel0" in argv) is given

    @pytest.mark.parametrize("hardware", ["h200", "mi355x"])
    def test_it_is_never_privileged(self, hardware: str) -> None:
        argv = container(deploy(recipe(), hardware=hardware), PORTABLE.replace(hardened=True))
        assert "--privileged" not in argv
