"""What a compose.yaml says beside the command itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.launcher import FLASH, M3, Operator
from tests.export.cases import SETUP, brief, layout, spelt
from tests.export.compose_reader import services
from tests.resolve.build import told
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.compose import files
from vllm_launch.resolve.dynamo import behind_dynamo

GPUS = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
EXPORT = ("export", M3, "--hardware", "h200", "--to", "compose")


def only(name: str, service: str = "server-0", **keys: Any) -> dict[str, Any]:
    """A service of a layout's only file."""
    file = files(brief(layout(name, endpoints=False), **keys))[0]
    assert file.name == "compose.yaml"
    return services(file.text)[service]


def test_a_server_alone() -> None:
    found = only("one server")
    del found["command"]
    assert found == {
        "image": "vllm/vllm-openai:minimax-m3",
        "container_name": "model",
        "environment": ["HF_TOKEN"],
        "ports": ["8000:8000"],
        "privileged": True,
        "ipc": "host",
        "deploy": {"resources": {"reservations": {"devices": [GPUS]}}},
        "volumes": ["/cache:/root/.cache/huggingface"],
        "healthcheck": {
            "test": [
                "CMD",
                "python3",
                "-c",
                (
                    "import urllib.request; "
                    "urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=5)"
                ),
            ],
            "interval": "10s",
            "timeout": "10s",
            "retries": 6,
            "start_period": "5340s",  # 1025 GB of weights, its engine, and some to spare
        },
        "restart": "unless-stopped",
        "stop_grace_period": "120s",
    }


def test_the_file_is_the_same_each_time() -> None:
    assert files(brief(layout("AMD"))) == files(brief(layout("AMD")))


class TestDevices:
    def test_amd_has_devices_and_groups(self) -> None:
        found = only("AMD", setup=SETUP.replace(video_gid=44, render_gid=992))
        assert found["devices"] == ["/dev/kfd", "/dev/dri"]
        assert found["group_add"] == ["44", "992"]
        assert found["security_opt"] == ["seccomp=unconfined"]
        assert "deploy" not in found

    def test_some_nvidia_gpus_are_named(self) -> None:
        found = only("one server", setup=SETUP.replace(masked=True, devices=("0", "GPU-1a")))
        (device,) = found["deploy"]["resources"]["reservations"]["devices"]
        assert device == {
            "driver": "nvidia",
            "device_ids": ["0", "GPU-1a"],
            "capabilities": ["gpu"],
        }

    def test_podman_gets_them_by_cdi(self) -> None:
        found = only("one server", setup=SETUP.replace(engine="podman"))
        assert found["devices"] == ["nvidia.com/gpu=all"]
        assert "deploy" not in found

    def test_hardened_it_has_only_what_the_plan_needs(self) -> None:
        found = only("pools on one node", "decode-0", setup=SETUP.replace(hardened=True))
        assert "privileged" not in found
        assert "ipc" not in found
        assert found["cap_drop"] == ["ALL"]
        assert found["cap_add"] == ["DAC_OVERRIDE", "IPC_LOCK"]
        assert found["devices"] == ["/dev/infiniband"]
        assert found["shm_size"] == "16g"
        assert found["ulimits"] == {"memlock": -1, "stack": 67108864}
        assert found["security_opt"] == ["no-new-privileges"]


class TestParts:
    def test_the_router_waits_until_both_pools_answer(self) -> None:
        found = only("pools on one node", "router")
        assert found["depends_on"] == {
            "prefill-0": {"condition": "service_healthy"},
            "decode-0": {"condition": "service_healthy"},
        }
        assert found["entrypoint"] == ["vllm-router"]
        assert found["network_mode"] == "host"
        assert not {"deploy", "privileged", "healthcheck", "volumes", "ports"} & found.keys()

    def test_pools_reach_each_other_in_the_machines_network(self) -> None:
        for name in ("prefill-0", "decode-0"):
            found = only("pools on one node", name)
            assert found["network_mode"] == "host"
            assert "ports" not in found

    def test_a_companion_has_the_gpus_and_the_shared_memory(self) -> None:
        found = only("companion", "companion")
        assert found["entrypoint"] == ["lmcache"]
        assert found["deploy"]["resources"]["reservations"]["devices"] == [GPUS]
        assert found["ipc"] == "host"
        server = only("companion")
        assert server["depends_on"] == {"companion": {"condition": "service_started"}}

    def test_files_lie_beside_and_are_mounted_read_only(self) -> None:
        found = {file.name: file for file in files(brief(layout("instances and a store")))}
        assert list(found) == [
            "compose-0.yaml", "compose-1.yaml", "compose-2.yaml",
            "mooncake_store_config.json", "mooncake_config.json",
        ]  # fmt: skip
        instance = services(found["compose-1.yaml"].text)["instance-2"]
        assert instance["volumes"] == [
            "/cache:/root/.cache/huggingface",
            "./mooncake_config.json:/etc/vllm-launch/mooncake_config.json:ro",
        ]
        store = services(found["compose-2.yaml"].text)["store"]
        assert store["volumes"] == [
            "./mooncake_store_config.json:/etc/vllm-launch/mooncake_store_config.json:ro"
        ]
        assert '"master_server_address": "10.0.0.1:50051"' in found["mooncake_config.json"].text

    def test_another_image_for_what_runs_beside(self) -> None:
        found = only(
            "pools on one node", "router", options={"part_image": ("router=own/router:1",)}
        )
        assert found["image"] == "own/router:1"

    def test_without_one_it_is_said_what_the_servers_image_must_have(self) -> None:
        file = files(brief(layout("pools on one node")))[0]
        assert (
            "# The image of the servers must have vllm-router in it; "
            "another one for it: --part-image router=REF\n"
        ) in file.text

    def test_what_python_runs_is_named_by_its_module(self) -> None:
        text = "".join(file.text for file in files(brief(layout("instances and a store"))))
        assert "servers must have mooncake.mooncake_store_service in it; another one for" in text

    def test_a_start_takes_its_download_and_as_long_as_vllm_waits_for_it(self) -> None:
        plan = spelt(["--shutdown-timeout", "300"], "")
        (part,) = plan.parts
        env = (("VLLM_ENGINE_READY_TIMEOUT_S", "7200"),)
        assert part.plan is not None
        variables = tuple((*pair, part.plan.arguments[-1][2]) for pair in env)
        process = part.plan.replace(variables=variables)
        (file,) = files(plan.replace(parts=(part.replace(plan=process, env=env),)))
        assert services(file.text)["server-0"]["healthcheck"]["start_period"] == "11940s"

    @pytest.mark.parametrize("flag", ["--ssl-certfile=/tls/cert", "--ssl-keyfile=/tls/key"])
    def test_a_server_that_answers_over_tls_is_asked_so(self, flag: str) -> None:
        (file,) = files(spelt([flag], ""))
        code = services(file.text)["server-0"]["healthcheck"]["test"][-1]
        assert code == (
            "import ssl, urllib.request; urllib.request.urlopen('https://127.0.0.1:8000/health', "
            "timeout=5, context=ssl._create_unverified_context())"
        )
        compile(code, "health", "exec")

    def test_a_server_on_a_unix_socket_is_not_asked(self) -> None:
        (file,) = files(spelt(["--uds=/run/vllm.sock"], ""))
        assert "healthcheck" not in services(file.text)["server-0"]

    def test_secrets_are_named_and_no_more(self) -> None:
        found = only("one server", passed_by_name=("HF_TOKEN", "VLLM_API_KEY"))
        assert found["environment"] == ["HF_TOKEN", "VLLM_API_KEY"]


class TestBehindDynamo:
    """Its registry and message bus are in no image of vLLM's."""

    IMAGES = ("etcd=own/etcd:1", "nats=own/nats:1")

    @staticmethod
    def plan(*images: str) -> Brief:
        found = behind_dynamo(layout("one server"), None)
        return brief(found, options={"part_image": images})

    def test_every_part_is_a_service(self) -> None:
        *composed, config = files(self.plan(*self.IMAGES))
        (file,) = composed
        found = services(file.text)
        assert {name: service["image"] for name, service in found.items()} == {
            "etcd": "own/etcd:1",
            "nats": "own/nats:1",
            "server-0": "vllm/vllm-openai:minimax-m3",
            "frontend": "vllm/vllm-openai:minimax-m3",
        }
        assert found["nats"]["volumes"] == ["./nats.conf:/etc/vllm-launch/nats.conf:ro"]
        assert found["server-0"]["entrypoint"] == ["python3"]
        assert config.name == "nats.conf"

    def test_their_images_have_to_be_named(self) -> None:
        with pytest.raises(UsageError) as caught:
            files(self.plan(self.IMAGES[0]))
        assert told(caught.value)[1:] == (
            "no image is known for nats",
            "give --part-image nats=REF",
        )


class TestByHand:
    """A recipe's text that only a shell could run is a comment, and never run."""

    TEXT = "lmcache server &\nservices: {}"

    def plan(self, *names: str) -> Brief:
        plan = brief(layout("companion"))
        changed = [
            part.replace(argv=(), text=self.TEXT) if part.role == "companion" else part
            for part in plan.parts
        ]
        return plan.replace(parts=tuple(part for part in changed if part.name in names))

    def test_it_stands_in_the_header(self) -> None:
        (file,) = files(self.plan("companion", "server-0"))
        assert list(services(file.text)) == ["server-0"]
        assert "depends_on" not in services(file.text)["server-0"]
        assert (
            "# To be started by hand, the companion LMCache Server:\n"
            "#   lmcache server &\n#   services: {}\n"
        ) in file.text

    def test_alone_it_is_no_engines(self) -> None:
        with pytest.raises(UsageError) as caught:
            files(self.plan("companion"))
        assert told(caught.value)[1:] == (
            "the recipe's command for the companion LMCache Server needs a shell",
            "vllm-launch serve --dry-run prints it, to be run by hand",
        )


class TestRefusals:
    @staticmethod
    def refused(name: str, **keys: Any) -> tuple[str, str]:
        with pytest.raises(UsageError) as caught:
            files(brief(layout(name, endpoints=False), **keys))
        return told(caught.value)[1:]

    def test_addresses_of_several_machines_have_to_be_given(self) -> None:
        assert self.refused("pools of the 3.1 on GB300") == (
            "not filled in: $PREFILL_NODE_1, $DECODE_NODE_1",
            "give --endpoint PREFILL_NODE_1=… --endpoint DECODE_NODE_1=…",
        )

    def test_a_native_runtime(self) -> None:
        assert self.refused("one server", setup=None) == (
            "compose runs containers",
            "leave --runtime native out",
        )

    @pytest.mark.parametrize("text", ["router", "router=a b", "server=a", "store=a"])
    def test_an_image_of_no_part(self, text: str) -> None:
        assert self.refused("pools on one node", options={"part_image": (text,)}) == (
            f"--part-image: found {text!r}; expected ROLE=REF",
            "parts beside the servers here: router",
        )

    def test_a_path_with_a_colon(self) -> None:
        assert self.refused("one server", setup=SETUP.replace(hub_cache="/a:b")) == (
            "compose cannot mount /a:b: there is a colon in it",
            "make a link to it under another name",
        )


class TestAsAnOperator:
    def test_the_file_is_printed(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--host", "127.0.0.1", "--port", "9000")
        assert ran.status == 0
        assert ran.out.startswith("# MiniMaxAI/MiniMax-M3, by vllm-launch ")
        found = services(ran.out)["server-0"]
        assert found["ports"] == ["127.0.0.1:9000:9000"]
        assert "--host" not in found["command"]

    def test_a_pair_on_gb300_is_written_a_file_a_machine(self, operator: Operator) -> None:
        ran = operator.run(
            "export", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--to", "compose",
            "--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.2",
            "--out", "files",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        written = operator.cwd / "files"
        assert sorted(p.name for p in written.iterdir()) == ["compose-0.yaml", "compose-1.yaml"]
        decode = services((written / "compose-1.yaml").read_text())["decode-0"]
        assert "VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.2" in decode["environment"]
        assert decode["command"][decode["command"].index("--max-num-seqs") + 1] == "28"

    def test_one_machines_file_is_asked_for_by_role(self, operator: Operator) -> None:
        ran = operator.run(
            "export", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--to", "compose",
            "--endpoint", "DECODE_NODE_1=10.0.0.2", "--role", "decode",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        assert list(services(ran.out)) == ["decode-0"]
        assert services(ran.out)["decode-0"]["network_mode"] == "host"

    def test_an_option_of_another_target(self, operator: Operator) -> None:
        ran = operator.run("export", M3, "--to", "vllm-config", "--part-image", "router=a")
        assert ran.status == 2
        assert ran.error == (
            "error: --part-image is for --to kubernetes and compose and systemd\n  leave it out\n"
        )

    def test_a_new_line_in_a_word_does_not_leave_the_comment(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--", "--served-model-name", "a\nservices: {}")
        assert services(ran.out)["server-0"]["command"][-1] == "a\nservices: {}"

    def test_a_secret_is_never_written(self, operator: Operator) -> None:
        ran = operator.run(
            *EXPORT, "-e", "OWN_KEY", env={"OWN_KEY": "s3cret", "HF_TOKEN": "s3cret"}
        )
        assert services(ran.out)["server-0"]["environment"] == ["HF_TOKEN", "OWN_KEY"]
        assert "s3cret" not in ran.out + ran.err
