"""check --deep, as an operator runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from tests.cli.launcher import FLASH, Operator, Ran
from tests.deep.stand_in import IMAGE_ID, SCRIPT, StandIn

CHECK = ("check", "Qwen/Qwen3-8B", "--hardware", "h200", "--output", "json")
DEEP = (*CHECK, "--deep")
DOCKER = (*DEEP, "--runtime", "docker", "--image", "registry.local/vllm:ours")


def found(ran: Ran, code: str) -> list[dict[str, Any]]:
    """The findings of a check, in all processes."""
    assert "Traceback" not in ran.err
    return [f for each in ran.json["check"] for f in each["findings"] if f["code"] == code]


def whats(ran: Ran, code: str) -> list[str]:
    return [f"{one['severity']}: {one['what']}" for one in found(ran, code)]


def passed(ran: Ran) -> set[str]:
    return {code for each in ran.json["check"] for code in each["passed"]}


def kept(operator: Operator) -> list[Path]:
    return sorted((Path(operator.env["XDG_CACHE_HOME"]) / "vllm-launch" / "parsers").glob("*"))


def test_the_interpreter_behind_vllm_is_asked(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    ran = operator.run(*DEEP)
    (call,) = stand_in.calls
    assert call["argv"] == ["-I", "-c", "SCRIPT", "--commands"]
    assert call["script"] == SCRIPT
    assert call["env"] == {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    assert call["given"]["thorough"] is True
    (command,) = call["given"]["commands"]
    assert command[:2] == ["serve", "Qwen/Qwen3-8B"]
    assert {"PARSER_SILENT", "PARSER_REFUSES", "VERSION_UNLISTED"} <= passed(ran)
    assert ran.err == ""


def test_nothing_is_asked_without_deep(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    ran = operator.run(*CHECK)
    assert stand_in.calls == []
    assert not {"PARSER_SILENT", "PARSER_REFUSES"} & passed(ran)


def test_nothing_is_asked_where_no_check_wants_it(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    operator.run(*DEEP, "--skip", "all")
    assert stand_in.calls == []


def test_the_very_command_is_judged(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    ran = operator.run(*DEEP, "--", "--max-num-seqs", "7")
    assert stand_in.calls[0]["given"]["commands"][0][-2:] == ["--max-num-seqs", "7"]
    assert ran.status == 4
    assert whats(ran, "PARSER_REFUSES") == [
        (
            "fail: the parser of vLLM 0.32.0+cpu refuses the command: "
            "argument --max-num-seqs: must be even"
        )
    ]


def test_findings_name_the_build(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    ran = operator.run(*DEEP, "--", "--monokernel", "--nonsense")
    (monokernel, nonsense) = found(ran, "FLAG_UNKNOWN")
    asked = "unknown to vLLM 0.32.0+cpu itself (its parser was asked)"
    assert monokernel["what"] == f"--monokernel is {asked}"
    assert monokernel["why"] == "It comes with 0.33.0. The server does not start."
    assert nonsense["what"] == f"--nonsense is {asked}"
    assert nonsense["severity"] == "fail"


@pytest.mark.parametrize(
    "version", ["0.33.1rc1.dev12+gabc1234", "0.1.dev1+g0123456", "0.34.0", "0.19.0"]
)
def test_builds_that_no_table_has_are_judged_by_themselves(
    operator: Operator, stand_in: StandIn, version: str
) -> None:
    stand_in.install(version)
    stand_in.says(build=version)
    assert whats(operator.run(*CHECK, "--", "--nonsense"), "FLAG_UNKNOWN")[0].startswith("warn: ")
    ran = operator.run(*DEEP, "--", "--nonsense")
    assert "VERSION_UNLISTED" in passed(ran)
    assert whats(ran, "FLAG_UNKNOWN") == [
        f"fail: --nonsense is unknown to vLLM {version} itself (its parser was asked)"
    ]


def test_an_option_of_a_nightly_is_known(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install("0.33.1rc1.dev12+gabc1234")
    recorded = json.loads((stand_in.here / "answer.json").read_text())
    new = {
        "flags": ["--brand-new"], "dest": "brand_new", "kind": "value", "nargs": None,
        "type": "int", "choices": ["1", "2"], "deprecated": False,
    }  # fmt: skip
    stand_in.says(build="0.33.1rc1.dev12+gabc1234", options=[*recorded["options"], new])
    words = ("--", "--brand-new", "3")
    assert whats(operator.run(*CHECK, *words), "FLAG_UNKNOWN")
    ran = operator.run(*DEEP, *words)
    assert "FLAG_UNKNOWN" in passed(ran)
    assert whats(ran, "FLAG_VALUE") == ["fail: --brand-new does not take '3'; it takes 1, 2"]


def test_placeholders_are_left_out_of_what_is_judged(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    operator.run(*DEEP, "--", "--master-addr", "$HEAD_IP", "--seed", "3")
    (command,) = stand_in.calls[0]["given"]["commands"]
    assert "--master-addr" not in command
    assert "$HEAD_IP" not in command
    assert command[-2:] == ["--seed", "3"]


def test_all_servers_are_asked_for_at_once(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    words = ("--hardware", "mi355x", "--strategy", "pd_cluster", "--deep", "--output", "json")
    ran = operator.run("check", FLASH, *words)
    (call,) = stand_in.calls
    assert len(call["given"]["commands"]) == 2
    servers = [one for one in ran.json["check"] if "PARSER_SILENT" in one["passed"]]
    assert [one["role"] for one in servers] == ["prefill", "decode"]


# What is kept


def test_the_second_time_nobody_is_asked(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    words = (*DEEP, "--", "--max-num-seqs", "7")
    first = operator.run(*words)
    stand_in.behaves("no vLLM")
    second = operator.run(*words)
    assert len(stand_in.calls) == 1
    assert (second.status, second.out) == (first.status, first.out) == (4, first.out)


def test_another_command_is_asked_for_alone(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    operator.run(*DEEP)
    operator.run(*DEEP, "--", "--seed", "3")
    operator.run(*DEEP)
    operator.run(*DEEP, "--", "--seed", "3")
    assert [len(call["given"]["commands"]) for call in stand_in.calls] == [1, 1]
    assert len(kept(operator)) == 1


def test_a_command_that_names_a_file_is_asked_for_each_time(
    operator: Operator, stand_in: StandIn
) -> None:
    stand_in.install()
    for _ in range(2):
        operator.run(*DEEP, "--", "--chat-template", "template.jinja")
    assert len(stand_in.calls) == 2


@pytest.mark.parametrize("what", ["content", "time", "added", "upgraded", "plugin"])
def test_an_installation_that_changed_is_asked_anew(
    operator: Operator, stand_in: StandIn, what: str
) -> None:
    stand_in.install()
    operator.run(*DEEP)
    source = stand_in.packages / "vllm" / "config" / "model.py"
    if what == "content":
        source.write_text("class ModelConfig:\n    seed: int\n")
    elif what == "time":
        os.utime(source, ns=(1, 1))
    elif what == "added":
        source.with_name("new.py").touch()
    elif what == "upgraded":
        (stand_in.packages / "vllm-0.32.0+cpu.dist-info").rename(
            stand_in.packages / "vllm-0.33.0.dist-info"
        )
    else:
        (stand_in.packages / "vllm_ascend-0.32.0.dist-info").mkdir()
    operator.run(*DEEP)
    assert len(stand_in.calls) == 2


def test_vllm_that_is_found_elsewhere_is_asked_each_time(
    operator: Operator, stand_in: StandIn
) -> None:
    """By PYTHONPATH it may be any other: the answer is for that one, and is not kept."""
    stand_in.install()
    elsewhere = {"PYTHONPATH": str(stand_in.here)}
    for _ in range(2):
        operator.run(*DEEP, env=elsewhere)
    assert [call["argv"] for call in stand_in.calls] == [["-c", "SCRIPT", "--commands"]] * 2
    assert kept(operator) == []


@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 4096], ids=["empty", "text", "zeros"])
def test_a_corrupt_cache_is_ignored(
    operator: Operator, stand_in: StandIn, content: bytes
) -> None:  # fmt: skip
    stand_in.install()
    operator.run(*DEEP)
    (path,) = kept(operator)
    path.write_bytes(content)
    ran = operator.run(*DEEP)
    assert "PARSER_SILENT" in passed(ran)
    assert len(stand_in.calls) == 2
    operator.run(*DEEP)
    assert len(stand_in.calls) == 2


@pytest.mark.parametrize(
    "value",
    [
        None,
        (),
        ("1", b"{}", 0, {}),
        ("1", "text", 0, {}),
        ("0", b"{}", 0, {}),
        ("1", b"{}", 0, []),
        ("1", b"", "0", {"x": (1,)}),
    ],
    ids=repr,
)
def test_what_is_whole_and_no_answer_is_ignored(
    operator: Operator, stand_in: StandIn, value: Any
) -> None:
    from vllm_launch.catalog.files import keep

    stand_in.install()
    operator.run(*DEEP)
    (path,) = kept(operator)
    keep(str(path), value)
    assert "PARSER_SILENT" in passed(operator.run(*DEEP))
    assert len(stand_in.calls) == 2


def test_without_a_cache_it_is_asked_each_time(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    (operator.home.parent / "cache").touch()  # no directory can be made there
    for _ in range(2):
        assert "PARSER_SILENT" in passed(operator.run(*DEEP))
    assert len(stand_in.calls) == 2


# What fails

FAILURES = {
    "no vLLM": "ModuleNotFoundError: No module named 'vllm'",
    "garbage": "its answer is no JSON",
    "huge": "its answer is longer than 4 MiB",
    "killed": "it was ended by signal 9",
}


@pytest.mark.parametrize("mode", FAILURES)
def test_what_gives_no_answer_is_a_finding_and_the_tables_are_used(
    operator: Operator, stand_in: StandIn, mode: str
) -> None:
    stand_in.install()
    stand_in.behaves(mode)
    ran = operator.run(*DEEP, "--", "--nonsense")
    python = stand_in.bin / "python3.12"
    (silent,) = found(ran, "PARSER_SILENT")
    assert silent["severity"] == "warn"
    assert silent["what"] == f"vLLM's own parser gave no answer: {python}: {FAILURES[mode]}"
    assert silent["why"] == "The tables of releases that the launcher has were used instead."
    assert silent["command"] == f"{python} -c 'import vllm'"
    assert whats(ran, "FLAG_UNKNOWN") == ["fail: --nonsense is unknown to vLLM 0.32.0"]
    assert kept(operator) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"build": None}, "its answer has no build as they must be"),
        ({"options": []}, "its answer has no options"),
        ({"options": {}}, "its answer has no list of options"),
        ({"options": [{"flags": ["x"], "kind": "value"}]}, "its answer has an option that is none"),
        ({"options": [[]]}, "its answer has no mapping of options"),
        ({"env": ["A\x1b[31mB"]}, "its answer has no env as they must be"),
        ({"tool_parsers": ["x" * 301]}, "its answer has no tool_parsers as they must be"),
        ({"config_fields": {"A": 3}}, "its answer has no list of config_fields"),
        ({"kv_connectors": None}, "its answer has no list of kv_connectors"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_answer_of_another_shape(
    operator: Operator, stand_in: StandIn, changes: dict[str, Any], reason: str
) -> None:
    stand_in.install()
    stand_in.says(**changes)
    (told,) = whats(operator.run(*DEEP), "PARSER_SILENT")
    assert told.endswith(f"python3.12: {reason}")


def test_no_vllm(operator: Operator) -> None:
    ran = operator.run(*DEEP)
    assert whats(ran, "PARSER_SILENT") == [
        "warn: vLLM's own parser gave no answer: vllm is not on PATH"
    ]


def test_a_command_that_is_no_python_script(operator: Operator) -> None:
    path = operator.script("vllm", "#!/bin/bash\nexec true\n")
    assert whats(operator.run(*DEEP), "PARSER_SILENT") == [
        f"warn: vLLM's own parser gave no answer: {path}: the command is no Python script"
    ]


def test_an_interpreter_that_is_gone(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    (stand_in.bin / "python3.12").unlink()
    (told,) = whats(operator.run(*DEEP), "PARSER_SILENT")
    assert told.endswith("python3.12: No such file or directory")


def test_strict_makes_silence_a_failure(operator: Operator, stand_in: StandIn) -> None:
    assert operator.run(*DEEP, "--skip", "VLLM_MISSING").status == 0
    assert operator.run(*DEEP, "--skip", "VLLM_MISSING", "--strict").status == 4


def test_several_nodes_have_no_vllm_to_ask(operator: Operator) -> None:
    ran = operator.run("check", FLASH, "--deep", "--host-facts", "a", "--host-facts", "b")
    assert ran.status == 2
    assert ran.error == (
        "error: --deep asks the vLLM of this machine, and no machine is looked at where several "
        "are compared\n"
        "  leave out one of --deep and the --host-facts of several nodes\n"
    )


# Containers


def test_an_image_is_asked_without_network_or_gpus(operator: Operator, stand_in: StandIn) -> None:
    stand_in.contain()
    ran = operator.run(*DOCKER)
    (call,) = stand_in.calls
    name = call["argv"][8]
    assert name.startswith("vllm-launch-check-")
    assert call["argv"] == [
        "run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--name", name,
        "--env", "CUDA_VISIBLE_DEVICES=", "--env", "HIP_VISIBLE_DEVICES=",
        "--env", "HF_HUB_OFFLINE=1", "--env", "VLLM_NO_USAGE_STATS=1",
        "--env", "NVIDIA_VISIBLE_DEVICES=void",
        "--entrypoint", "python3", IMAGE_ID, "-I", "-c", "SCRIPT", "--commands",
    ]  # fmt: skip
    assert call["script"] == SCRIPT
    assert call["given"]["thorough"] is False
    assert {"PARSER_SILENT", "VERSION_UNLISTED"} <= passed(ran)
    operator.run(*DOCKER)
    assert len(stand_in.calls) == 1


@pytest.mark.parametrize(
    ("entrypoint", "python"),
    [
        (["/opt/venv/bin/vllm", "serve"], "/opt/venv/bin/python3"),
        (["vllm", "serve"], "python3"),
        (["/opt/run.sh"], "python3"),
        (None, "python3"),
    ],
)
def test_the_python_of_an_image_is_the_one_beside_its_vllm(
    operator: Operator, stand_in: StandIn, entrypoint: list[str] | None, python: str
) -> None:
    stand_in.contain(Config={"Entrypoint": entrypoint})
    operator.run(*DOCKER)
    argv = stand_in.calls[0]["argv"]
    assert argv[argv.index("--entrypoint") + 1] == python


def test_an_image_of_the_same_name_and_other_content_is_asked_anew(
    operator: Operator, stand_in: StandIn
) -> None:
    stand_in.contain()
    operator.run(*DOCKER)
    stand_in.contain(Id="sha256:" + "6e" * 32)
    operator.run(*DOCKER)
    assert len(stand_in.calls) == 2


def test_an_image_that_is_not_here_is_not_pulled(operator: Operator, stand_in: StandIn) -> None:
    stand_in.contain(local=False)
    ran = operator.run(*DOCKER)
    assert stand_in.calls == []
    (silent,) = found(ran, "PARSER_SILENT")
    assert silent["what"] == (
        "vLLM's own parser gave no answer: the image registry.local/vllm:ours is not on this "
        "machine, and is not pulled for this"
    )
    assert silent["command"] == "docker pull registry.local/vllm:ours"


def test_an_image_that_the_engine_does_not_name_is_not_run(
    operator: Operator, stand_in: StandIn
) -> None:
    stand_in.contain(Id=None)
    (told,) = whats(operator.run(*DOCKER), "PARSER_SILENT")
    assert told.endswith("docker does not say what the image registry.local/vllm:ours holds")
    assert stand_in.calls == []


def test_a_daemon_that_does_not_answer(operator: Operator) -> None:
    operator.script("docker", "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    (told,) = whats(operator.run(*DOCKER), "PARSER_SILENT")
    assert told.endswith("gave no answer: Cannot connect to the Docker daemon")


def test_an_interrupt_leaves_nothing_behind(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    stand_in.behaves("hang")
    started = operator.start(*DEEP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = monotonic() + 60
        while not stand_in.calls and monotonic() < until:
            sleep(0.05)
        (call,) = stand_in.calls
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 130
    assert b"Traceback" not in err
    assert not Path(f"/proc/{call['pid']}").exists()


def test_a_terminal_is_told_that_it_takes_its_time(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    ours, theirs = os.openpty()
    try:
        operator.run(*DEEP, env={"TERM": "xterm"}, stderr=theirs)
        os.close(theirs)  # so that a terminal that was told nothing has an end
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
    python = stand_in.bin / "python3.12"
    assert said.startswith(f"\r\033[K# asking vLLM's own parser, {python}: 0 s ")
    assert said.endswith("\r\033[K")


def test_files_of_a_container_are_not_judged(operator: Operator, stand_in: StandIn) -> None:
    stand_in.contain()
    operator.run(*DOCKER, "--", "--config", "/etc/vllm.yaml", "--seed", "3")
    (command,) = stand_in.calls[0]["given"]["commands"]
    assert "--config" not in command
    assert command[-2:] == ["--seed", "3"]


@pytest.mark.parametrize(
    ("flag", "severity"), [("--enable-log-outputs", "warn"), ("--max-num-seqs=7", "fail")]
)
def test_what_a_machine_without_gpus_says_is_not_certain(
    operator: Operator, stand_in: StandIn, flag: str, severity: str
) -> None:
    stand_in.contain()
    words = flag.split("=")
    (told,) = whats(operator.run(*DOCKER, "--", *words), "PARSER_REFUSES")
    assert told.startswith(f"{severity}: the parser of vLLM 0.32.0+cpu refuses the command: ")


def test_an_image_says_its_version_itself(operator: Operator, stand_in: StandIn) -> None:
    stand_in.contain()
    words = ("check", FLASH, "--hardware", "b300", "--runtime", "docker", "--output", "json")
    image = ("--image", "registry.local/vllm:ours")
    assert not whats(operator.run(*words, *image), "VERSION")
    told = whats(operator.run(*words, *image, "--deep"), "VERSION")
    assert told == ["fail: vLLM 0.33.0 or newer needed by the recipe, 0.32.0+cpu is in the image"]


# serve


def test_serve_asks_before_it_starts(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    words = ("serve", "Qwen/Qwen3-8B", "--hardware", "h200", "--deep", "--", "--max-num-seqs", "7")
    ran = operator.run(*words, "--nonsense")
    assert "fail PARSER_REFUSES: the parser of vLLM 0.32.0+cpu refuses the command:" in ran.err


def test_a_dry_run_asks_nobody(operator: Operator, stand_in: StandIn) -> None:
    stand_in.install()
    words = ("serve", "Qwen/Qwen3-8B", "--hardware", "h200", "--deep", "--dry-run")
    assert operator.run(*words).status == 0
    assert stand_in.calls == []
