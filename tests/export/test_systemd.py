"""What units say beside the command itself, and what systemd says about them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.launcher import FLASH, M3, Operator
from tests.export import real_systemd
from tests.export.cases import LAYOUTS, SETUP, brief, layout, spelt
from tests.export.unit_reader import command, sections, values, words
from tests.resolve.build import told
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief, ExportFile
from vllm_launch.export.systemd import files
from vllm_launch.export.systemd.words import plain
from vllm_launch.resolve.container import container_argv

EXPORT = ("export", M3, "--hardware", "h200", "--to", "systemd")
ALONE = "vllm-model.service"


def exported(name: str, **keys: object) -> dict[str, ExportFile]:
    plan = brief(layout(name, endpoints=False), **{"setup": None, **keys})
    return {file.name: file for file in files(plan)}


def value(text: str, section: str, key: str) -> str:
    (found,) = values(text, section, key)
    return found


class TestAServerAlone:
    def test_its_unit_and_its_secrets_are_all(self) -> None:
        found = exported("one server")
        assert {name: file.mode for name, file in found.items()} == {
            ALONE: 0o644,
            "model.env": 0o600,
        }

    def test_how_it_is_run(self) -> None:
        text = exported("one server")[ALONE].text
        service = [pair for pair in sections(text)["Service"] if "Exec" not in pair[0]]
        assert service == [
            ("Type", "exec"),
            ("WorkingDirectory", "-~"),
            ("Restart", "on-failure"),
            ("RestartSec", "10"),
            ("TimeoutStartSec", "5340"),  # 1025 GB of weights, its engine, and some to spare
            ("KillSignal", "SIGTERM"),
            ("KillMode", "mixed"),
            ("TimeoutStopSec", "120"),
            ("SuccessExitStatus", "143"),
            ("LimitMEMLOCK", "infinity"),
            ("LimitNOFILE", "1048576"),
            ("LimitSTACK", "67108864"),
            ("LimitCORE", "0"),
            ("TasksMax", "infinity"),
            ("EnvironmentFile", "-/etc/vllm-launch/model.env"),
            ("ProtectSystem", "full"),
            ("ProtectControlGroups", "yes"),
        ]
        assert sections(text)["Install"] == [("WantedBy", "multi-user.target")]

    def test_it_counts_as_started_once_it_answers(self) -> None:
        wait = command(value(exported("one server")[ALONE].text, "Service", "ExecStartPost"))
        assert wait[:2] == [b"/bin/sh", b"-c"]
        assert wait[2].decode() == (
            "trap 'exit 0' TERM; "
            "command -v curl >/dev/null || { echo 'curl is not installed' >&2; exit 1; }; "
            "until curl --fail --silent --output /dev/null --max-time 5 "
            'http://127.0.0.1:8000/health; do kill -0 "$MAINPID" || exit 1; sleep 5 & wait; done'
        )

    def test_over_tls_the_certificate_is_of_another_name(self) -> None:
        found = {file.name: file for file in files(spelt(["--ssl-certfile=/tls/cert"], ""))}
        wait = command(value(found[ALONE].text, "Service", "ExecStartPost"))
        assert b"--max-time 5 --insecure https://127.0.0.1:8000/health; do" in wait[2]

    def test_the_wait_ends_with_the_server(self, operator: Operator) -> None:
        wait = command(value(exported("one server")[ALONE].text, "Service", "ExecStartPost"))
        gone = subprocess.Popen(["true"])
        gone.wait()
        operator.script("curl", "#!/bin/sh\nexit 7\n")
        ran = operator.shell(wait[2].decode(), env={"MAINPID": str(gone.pid)})
        assert ran.status == 1

    def test_a_wait_that_is_stopped_has_not_failed(self, operator: Operator) -> None:
        wait = command(value(exported("one server")[ALONE].text, "Service", "ExecStartPost"))
        operator.script("curl", "#!/bin/sh\necho asked\nexit 7\n")
        path = f"{operator.bin}:/usr/bin:/bin"
        with subprocess.Popen(
            wait, env={"PATH": path, "MAINPID": str(os.getpid())}, stdout=subprocess.PIPE,
            start_new_session=True,
        ) as waiting:  # fmt: skip
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == b"asked\n"
            waiting.terminate()
            assert waiting.wait(timeout=60) == 0
            with suppress(ProcessLookupError):  # the sleep that is left, as systemd does
                os.killpg(waiting.pid, signal.SIGKILL)

    def test_the_wait_says_what_it_needs(self, operator: Operator) -> None:
        wait = command(value(exported("one server")[ALONE].text, "Service", "ExecStartPost"))
        ran = operator.execute(["/bin/sh", "-c", wait[2].decode()], env={"MAINPID": "1"})
        assert (ran.status, ran.err) == (1, "curl is not installed\n")

    def test_the_wait_ends_with_an_answer(self, operator: Operator) -> None:
        wait = command(value(exported("one server")[ALONE].text, "Service", "ExecStartPost"))
        operator.script("curl", '#!/bin/sh\necho "$@"\n')
        ran = operator.shell(wait[2].decode(), env={"MAINPID": "1"})
        assert (ran.status, ran.out.split()[-1]) == (0, "http://127.0.0.1:8000/health")

    def test_who_runs_it_is_said_where_it_is_not_root(self) -> None:
        text = exported("one server", options={"service_user": "vllm"})[ALONE].text
        assert value(text, "Service", "User") == "vllm"
        assert values(exported("one server")[ALONE].text, "Service", "User") == []

    def test_secrets_are_named_and_no_more(self) -> None:
        text = exported("one server", passed_by_name=("VLLM_API_KEY",))["model.env"].text
        assert text.endswith("#HF_TOKEN=\n#VLLM_API_KEY=\n")
        assert all(line.startswith("#") for line in text.splitlines())


def test_a_description_is_one_line_in_which_nothing_means_something_to_systemd() -> None:
    assert plain("one\\ two\n\x1b[0m  50 % é") == "one two [0m 50 %% é"


class TestSeveralParts:
    def test_they_are_held_together_by_a_target(self) -> None:
        found = exported("pools on one node")
        names = [f"vllm-model-{part}.service" for part in ("prefill-0", "decode-0", "router")]
        assert list(found) == [*names, "vllm-model.target", "model.env"]
        assert value(found["vllm-model.target"].text, "Unit", "Wants").split() == names
        for name in names:
            assert value(found[name].text, "Unit", "PartOf") == "vllm-model.target"
            assert value(found[name].text, "Install", "WantedBy") == "vllm-model.target"

    def test_the_router_is_started_after_both_pools_answer(self) -> None:
        found = exported("pools on one node")
        assert value(found["vllm-model-router.service"].text, "Unit", "After").split() == [
            "network-online.target", "vllm-model-prefill-0.service", "vllm-model-decode-0.service",
        ]  # fmt: skip
        assert values(found["vllm-model-router.service"].text, "Unit", "Requires") == []
        for pool in ("prefill", "decode"):
            assert values(found[f"vllm-model-{pool}-0.service"].text, "Service", "ExecStartPost")

    def test_a_server_needs_its_companion(self) -> None:
        found = exported("companion")
        server = found["vllm-model-server-0.service"].text
        assert value(server, "Unit", "Requires") == "vllm-model-companion.service"

    def test_only_those_of_the_same_machine_wait_for_each_other(self) -> None:
        plan = brief(layout("instances and a store"), setup=None)
        found = {file.name: file.text for file in files(plan)}
        first = value(found["vllm-model-instance-1.service"], "Unit", "After")
        second = value(found["vllm-model-instance-2.service"], "Unit", "After")
        assert first == "network-online.target vllm-model-master.service"
        assert second == "network-online.target"
        assert '"master_server_address": "10.0.0.1:50051"' in found["mooncake_config.json"]
        variables = values(found["vllm-model-instance-1.service"], "Service", "Environment")
        path = "/etc/vllm-launch/model/mooncake_config.json"
        assert f"MOONCAKE_CONFIG_PATH={path}" in variables


class TestContainers:
    @pytest.mark.parametrize("engine", ["docker", "podman"])
    def test_the_words_are_those_of_serve(self, engine: str) -> None:
        plan = brief(layout("AMD"), setup=SETUP.replace(engine=engine))
        (part,) = plan.parts
        (unit, _) = files(plan)
        assert part.plan is not None
        setup = SETUP.replace(engine=engine, name="vllm-model", passed_by_name=("HF_TOKEN",))
        hardware, image = plan.deployment.choice.hardware, plan.deployment.image or ""
        planned = container_argv(part.plan, hardware, image, setup)
        start = [os.fsdecode(w) for w in command(value(unit.text, "Service", "ExecStart"))]
        assert start == [f"/usr/local/bin/{engine}", "run", "--rm", *planned[2:]]

    def test_one_that_was_left_is_removed_before_and_it_is_stopped_by_name(self) -> None:
        keys = {"setup": SETUP, "options": {"programs": {"docker": "/usr/bin/docker"}}}
        text = exported("pools on one node", **keys)["vllm-model-decode-0.service"].text
        name = "vllm-model-decode-0"
        assert value(text, "Service", "ExecStartPre") == f"-/usr/bin/docker rm --force {name}"
        assert value(text, "Service", "ExecStop") == f"/usr/bin/docker stop --time 110 {name}"
        assert value(text, "Unit", "Requires") == "docker.service"
        assert b"--network" in command(value(text, "Service", "ExecStart"))
        assert b"-p" not in command(value(text, "Service", "ExecStart"))
        assert values(text, "Service", "Environment") == []


class TestRefusals:
    def test_addresses_of_several_machines_have_to_be_given(self) -> None:
        with pytest.raises(UsageError) as caught:
            exported("pools of the 3.1 on GB300")
        assert told(caught.value)[1] == "not filled in: $PREFILL_NODE_1, $DECODE_NODE_1"

    def test_an_image_where_there_is_no_container(self) -> None:
        with pytest.raises(UsageError) as caught:
            exported("pools on one node", options={"part_image": ("router=a",)})
        assert told(caught.value)[1:] == (
            "--part-image is for containers, and these services are native",
            "give --runtime docker, or leave it out",
        )

    def test_a_user_that_cannot_be(self) -> None:
        with pytest.raises(UsageError) as caught:
            exported("one server", options={"service_user": "a\nExecStart=/bin/x"})
        assert told(caught.value)[1:] == (
            "--service-user: found 'a\\nExecStart=/bin/x'; expected a user's name",
            "for example vllm",
        )

    @pytest.mark.parametrize("path", ["/a b\n/vllm", "/a'/vllm", "/$a/vllm", "/a%n/vllm", "/a\\/v"])
    def test_a_program_that_systemd_would_not_take(self, path: str) -> None:
        with pytest.raises(UsageError) as caught:
            exported("one server", options={"programs": {"vllm": path}})
        assert caught.value.message == f"systemd takes no program called {path!r}"


needs_verify = pytest.mark.skipif(
    real_systemd.VERIFY is None and not os.environ.get("CI"), reason="systemd is not installed"
)


def said_of(place: Path, units: list[Path]) -> str:
    """What systemd-analyze says against units."""
    assert real_systemd.VERIFY is not None, "systemd is not installed"
    (place / "docker.service").write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    done = subprocess.run(
        [real_systemd.VERIFY, "verify", "--man=no", *units],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{place}:"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = [line for line in done.stderr.splitlines(keepends=True) if "vllm" in line]
    return "".join(lines) or (done.stderr if done.returncode else "")


@needs_verify
@pytest.mark.parametrize("engine", [None, "docker", "podman"])
def test_systemd_has_nothing_to_say_against_any(engine: str | None) -> None:
    with real_systemd.directory() as place:
        units: list[Path] = []
        for number, name in enumerate(LAYOUTS):
            for file in files(verified(number, name, engine, place)):
                if file.name.endswith((".service", ".target")):
                    path = place / file.name
                    path.write_text(file.text, encoding="utf-8")
                    units.append(path)
        assert said_of(place, units) == ""


@needs_verify
@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("KillMode=mixed", "KillMode=some"),
        ("ExecStart=", "ExecStart=/nowhere"),
        ("Restart=on-failure", "Restarts=on-failure"),
    ],
    ids=["value", "program", "key"],
)
def test_it_would_say_so_if_it_had(was: str, now: str) -> None:
    with real_systemd.directory() as place:
        (unit, _) = files(verified(0, "one server", None, place))
        path = place / unit.name
        path.write_text(unit.text.replace(was, now, 1), encoding="utf-8")
        assert unit.name in said_of(place, [path])


def verified(number: int, name: str, engine: str | None, place: Path) -> Brief:
    """A layout whose programs are there."""
    found = layout(name)
    setup = SETUP.replace(engine=engine) if engine else None
    plan = brief(found, name=f"m{number}", setup=setup)
    programs = {}
    for program in [engine] if engine else [p.argv[0] for p in plan.parts if p.argv]:
        path = place / program
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(0o755)
        programs[program] = str(path)
    return plan.replace(options={"programs": programs, "service_user": "vllm"})


class TestAsAnOperator:
    def test_programs_are_where_they_are_here(self, operator: Operator) -> None:
        path = operator.install("vllm")
        ran = operator.run(*EXPORT)
        assert ran.status == 0, ran.err
        unit = ran.out.partition("# file: minimax-m3.env\n")[0]
        assert command(value(unit, "Service", "ExecStart"))[0] == os.fsencode(path)
        assert "a guess" not in ran.err

    def test_where_they_are_not_here_a_guess_is_told(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT)
        assert "ExecStart=/opt/vllm/bin/vllm serve" in ran.out
        assert (
            "# not on this machine's PATH, so a guess: /opt/vllm/bin/vllm; "
            "--program-dir says where\n"
        ) in ran.err

    def test_containers_on_the_machines_network_reach_each_other(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--strategy", "pd_cluster", "--runtime", "docker")
        assert "--network host" in ran.out

    def test_each_machine_is_given_its_own_services_alone(self, operator: Operator) -> None:
        ends = ("--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.2")
        ran = operator.run(
            "export", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--name", "pair",
            "--to", "systemd", *ends,
        )  # fmt: skip
        assert (
            "#   on machine 0 alone:\n#   install -m 644 vllm-pair-prefill-0.service "
            "vllm-pair-router.service /etc/systemd/system/\n#   on machine 1 alone:\n"
            "#   install -m 644 vllm-pair-decode-0.service /etc/systemd/system/\n"
            "#   on each machine:\n#   install -m 644 vllm-pair.target /etc/systemd/system/\n"
        ) in ran.out

    def test_a_name_that_is_too_long(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--name", "m" * 44)
        assert ran.error == (
            f"error: --name: found '{'m' * 44}'; expected lower case letters, digits and dashes, "
            f"43 at most\n  for example {'m' * 43}\n"
        )

    def test_or_in_the_directory_named(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--program-dir", "/srv/v 1/bin")
        unit = ran.out.partition("# file: minimax-m3.env\n")[0]
        assert command(value(unit, "Service", "ExecStart"))[0] == b"/srv/v 1/bin/vllm"
        assert words(values(unit, "Service", "Environment")[0])[0].startswith(b"PATH=/srv/v 1/bin:")

    def test_a_directory_that_is_no_whole_path(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, "--program-dir", "bin")
        assert ran.error == (
            "error: --program-dir: found 'bin'; expected a whole path\n"
            "  for example --program-dir /opt/vllm/bin\n"
        )

    def test_secrets_that_were_filled_in_are_kept(self, operator: Operator) -> None:
        assert operator.run(*EXPORT, "--out", "files").status == 0
        secrets = operator.cwd / "files" / "minimax-m3.env"
        assert secrets.stat().st_mode & 0o777 == 0o600
        secrets.write_text("HF_TOKEN=s3cret\n", encoding="utf-8")
        ran = operator.run(*EXPORT, "--out", "files")
        assert secrets.read_text(encoding="utf-8") == "HF_TOKEN=s3cret\n"
        assert "# kept files/minimax-m3.env\n" in ran.err
        assert "# wrote files/vllm-minimax-m3.service\n" in ran.err

    def test_a_pair_on_gb300_has_the_documents_settings(self, operator: Operator) -> None:
        ran = operator.run(
            "export", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--to", "systemd",
            "--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.2",
            "--out", "files",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        text = (operator.cwd / "files" / "vllm-minimax-m3-1-flash-decode-0.service").read_text()
        start = command(value(text, "Service", "ExecStart"))
        assert start[start.index(b"--max-num-seqs") + 1] == b"28"
        assert "VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.2" in values(text, "Service", "Environment")
