"""A dry run prints what would be executed, anywhere and into anything."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.cli.launcher import B300, COMMAND, DOCUMENTED, FLASH, IMAGE, LAUNCH, M3, Operator

DRY = (*B300, "--dry-run")
LINE = f"{LAUNCH} {shlex.join(DRY)}"


def words(printed: str) -> list[str]:
    """The words of the documented variable's command."""
    export, command = printed.split("\n", 1)
    assert export == "export VLLM_FLOAT32_MATMUL_PRECISION=high"
    return shlex.split(command.replace("\\\n", ""))


def is_documented(printed: str) -> bool:
    return words(printed) == ["vllm", *DOCUMENTED]


def test_the_answer_has_the_command_and_the_rest_is_remarks(operator: Operator) -> None:
    ran = operator.run(*DRY)
    assert ran.status == 0
    assert is_documented(ran.out)
    assert all(line.startswith("# ") for line in ran.err.splitlines())


def test_the_remarks_say_what_was_chosen_and_what_to_know(operator: Operator) -> None:
    assert operator.run(*DRY).err == (
        f"# {FLASH}: b300 · single_node_tp · variant default · "
        "features tool_calling, reasoning, spec_decoding\n"
        "# note: needs vLLM 0.33.0 or newer (a nightly wheel until it is released); "
        f"image {IMAGE}\n"
        f"# see 'vllm-launch recipes show {FLASH} --notes': What this recipe leaves out; "
        "TP4 or TP8 on B200 and B300; Settings that vLLM 0.33.0 does not list\n"
    )


def test_what_runs_beside_the_server_is_printed_before_it(operator: Operator) -> None:
    ran = operator.run("serve", M3, "--hardware", "h200", "--kv-offload", "lmcache", "--dry-run")
    titles = [line for line in ran.out.splitlines() if line.startswith("# ")]
    assert titles == ["# companion LMCache Server", "# server 0"]
    assert "\n# companion LMCache Server\nlmcache server \\\n" in f"\n{ran.out}"


def test_a_preset_speaks_for_itself(operator: Operator) -> None:
    ran = operator.run("serve", M3, "--preset", "mi355x_agentx:tp4_c1", "--dry-run")
    first, *others = ran.err.splitlines()
    assert " · variant mxfp4 · preset mi355x_agentx:tp4_c1 · " in first
    assert not [line for line in others if line.startswith("# variant")]


def test_nothing_is_run(operator: Operator) -> None:
    for name in ("vllm", "docker", "podman"):
        operator.install(name, status=99)
    for runtime in ("native", "docker", "podman"):
        assert operator.run(*DRY, "--runtime", runtime).status == 0


def test_no_program_need_be_there(operator: Operator) -> None:
    assert operator.run(*DRY, env={"PATH": "/nowhere"}).status == 0


# Read back by a shell.

NASTY = [b"a b", b"", b"it's", b'"', b"$HOME", b"`id`", b"\\", b"a\nb", b"*", b"~", b"!x", b"#",
         b"-", b"a=b;c", "é".encode(), b"\xff\xc3"]  # fmt: skip


@pytest.mark.parametrize("runtime", ["native", "docker", "podman"])
@pytest.mark.parametrize(
    ("options", "passed"),
    [
        pytest.param([], [], id="documented"),
        pytest.param([], [b"--", b"--flag", *NASTY], id="nasty words"),
        pytest.param([b"-e", b"A=" + b" ".join(NASTY), b"-e", b"E="], [], id="nasty variables"),
    ],
)
def test_a_shell_reads_back_what_would_be_executed(
    operator: Operator, runtime: str, options: list[bytes], passed: list[bytes]
) -> None:
    operator.install("vllm" if runtime == "native" else runtime)
    line = (*B300, "--runtime", runtime, *options)
    executed = operator.run(*line, *passed)
    printed = operator.run(*line, "--dry-run", *passed)
    assert printed.status == 0
    command = printed.out.encode("utf-8", "surrogateescape")
    for shell in ("/bin/bash", "/bin/sh"):
        evaluated = operator.execute([shell, "-c", command])
        assert evaluated.argv == executed.argv
        assert evaluated.record["env"].items() >= executed.record["env"].items()


def test_each_process_of_a_deployment_stands_under_its_name(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(
        "serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2",
        "--endpoint", "HEAD_IP=10.0.0.1", "--endpoint", "IFACE_NAME=eth0", "--dry-run",
    )  # fmt: skip
    assert [line for line in ran.out.splitlines() if line.startswith("#")] == [
        "# head 0",
        "# worker 1",
    ]
    evaluated = operator.execute(["/bin/sh", "-c", ran.out])
    head, worker = evaluated.out.splitlines()
    assert '"--node-rank", "0"' in head
    assert '"--node-rank", "1"' in worker


def test_a_placeholder_is_printed_as_it_is(operator: Operator) -> None:
    ran = operator.run(
        "serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2",
        "--node-rank", "1", "--dry-run",
    )  # fmt: skip
    assert "  --master-addr '$HEAD_IP' \\\n" in ran.out


# Into anything.


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(LINE, id="dry run"),
        pytest.param(f"{LAUNCH} explain {M3} --hardware b300", id="explain"),
        pytest.param(f"{LAUNCH} recipes show {M3}", id="recipes show"),
        pytest.param(f"{LAUNCH} --version", id="version"),
        pytest.param(f"{LAUNCH} serve --help", id="help"),
        pytest.param(f"{LAUNCH} {shlex.join(B300)} -ftext_only --dry-run", id="read by Typer"),
    ],
)
def test_a_reader_that_goes_away_is_no_fault(
    operator: Operator, command: str, tmp_path: Path
) -> None:
    """The reader says when it has closed the pipe: only then does the launcher begin."""
    status, told = tmp_path / "status", tmp_path / "told"
    operator.shell(
        f"mkfifo {tmp_path}/gone\n"
        f"{{ read -r _ <{tmp_path}/gone; {command}; echo $? >{status}; }} 2>{told} |\n"
        f"{{ exec <&-; echo >{tmp_path}/gone; }}"
    )
    assert status.read_text() == "0\n"
    assert all(line.startswith("# ") for line in told.read_text().splitlines())


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@FULL
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(LINE, id="dry run"),
        pytest.param(f"PYTHONUNBUFFERED=1 {LINE}", id="dry run, unbuffered"),
        pytest.param(f"{LINE} --output json", id="json"),
        pytest.param(f"{LAUNCH} explain {M3} --hardware b300", id="explain"),
        pytest.param(f"{LAUNCH} recipes list", id="recipes list"),
        pytest.param(f"{LAUNCH} recipes show {M3}", id="recipes show"),
        pytest.param(f"PYTHONUNBUFFERED=1 {LAUNCH} fit {M3} --hardware b300", id="fit"),
        pytest.param(f"{LAUNCH} --version", id="version"),
        pytest.param(f"{LAUNCH} --help", id="help"),
        pytest.param(f"""echo '{{"recipe": "{M3}"}}' | {LAUNCH} resolve --batch -""", id="resolve"),
    ],
)
def test_an_answer_that_cannot_be_written_is_an_error(operator: Operator, command: str) -> None:
    ran = operator.shell(f"{command} >/dev/full")
    assert ran.status == 1
    *remarks, last = ran.err.splitlines()
    assert last == "error: cannot write the answer: No space left on device"
    assert all(line.startswith("# ") for line in remarks)


@FULL
@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-"])
def test_remarks_that_cannot_be_written_take_nothing_away(operator: Operator, stream: str) -> None:
    ran = operator.shell(f"{LINE} {stream}")
    assert ran.status == 0
    assert is_documented(ran.out)


@FULL
@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_an_error_keeps_its_status_where_nobody_is_told(operator: Operator, stream: str) -> None:
    assert operator.shell(f"{LAUNCH} serve {FLASH} --hardware none {stream}").status == 2


def test_an_answer_to_a_closed_standard_output_is_an_error(operator: Operator) -> None:
    ran = operator.shell(f"{LINE} >&-", env={"PYTHONWARNINGS": "error"})
    assert (ran.status, ran.out) == (1, "")
    *remarks, last = ran.err.splitlines()
    assert last == "error: cannot write the answer: Bad file descriptor"
    assert all(line.startswith("# ") for line in remarks)


# From anywhere.


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C"}, id="LC_ALL=C"),
        pytest.param({"LC_ALL": "", "LANG": "C"}, id="LANG=C"),
        pytest.param({"LC_ALL": "", "LANG": "xx_YY.NONE"}, id="no such locale"),
        pytest.param(
            {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, id="ASCII only"
        ),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, id="Latin-1 streams"),
        pytest.param({"PYTHONIOENCODING": "ascii:strict"}, id="strict ASCII streams"),
        pytest.param({"PYTHONWARNINGS": "error"}, id="warnings are errors"),
        pytest.param({"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"}, id="development mode"),
        pytest.param({"PYTHONOPTIMIZE": "2"}, id="optimized"),
        pytest.param({"PYTHONUNBUFFERED": "1"}, id="unbuffered"),
        pytest.param({"TERM": "dumb", "NO_COLOR": "1"}, id="plain terminal"),
        pytest.param({"FORCE_COLOR": "1", "COLUMNS": "20"}, id="colour forced, narrow"),
    ],
)
def test_the_environment_changes_no_word(operator: Operator, env: dict[str, str]) -> None:
    ran = operator.run(*DRY, "--", "--name", "é€", env=env)
    assert ran.status == 0
    assert "Error" not in ran.err
    assert words(ran.out) == ["vllm", *DOCUMENTED, "--name", "é€"]


def make_read_only(home: Path) -> str:
    home.chmod(0o500)
    return str(home)


def make_a_file(home: Path) -> str:
    (home / "file").write_text("")
    return str(home / "file")


def make_missing(home: Path) -> str:
    return str(home / "missing")


def make_impossible(_: Path) -> str:
    return "/proc/none/home"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make_read_only, id="read-only"),
        pytest.param(make_missing, id="missing"),
        pytest.param(make_a_file, id="a file"),
        pytest.param(make_impossible, id="cannot be made"),
    ],
)
def test_any_home_will_do(operator: Operator, make: object) -> None:
    del operator.env["XDG_CACHE_HOME"]
    assert callable(make)
    ran = operator.run(*DRY, env={"HOME": make(operator.home)})
    assert is_documented(ran.out)


def test_no_environment_at_all_will_do(operator: Operator) -> None:
    operator.env.clear()
    ran = operator.run(*DRY)
    assert is_documented(ran.out)
    assert list(operator.cwd.iterdir()) == []


def test_without_a_home_nothing_is_looked_for_in_the_working_directory(operator: Operator) -> None:
    local = operator.cwd / ".config" / "vllm-launch"
    local.mkdir(parents=True)
    (local / "config.yaml").write_text("tp: 1\n")
    del operator.env["HOME"]
    assert is_documented(operator.run(*DRY).out)
    assert is_documented(operator.run(*DRY, env={"XDG_CONFIG_HOME": ".config"}).out)


def test_a_cache_that_is_no_cache_is_written_anew(operator: Operator, tmp_path: Path) -> None:
    operator.env["XDG_CACHE_HOME"] = str(tmp_path / "own")
    assert is_documented(operator.run(*DRY).out)
    files = [path for path in (tmp_path / "own").rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(b"\xff\x00 no cache")
    assert is_documented(operator.run(*DRY).out)
    assert not any(path.read_bytes() == b"\xff\x00 no cache" for path in files)


IN_A_DIRECTORY_THAT_IS_GONE = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'


@pytest.mark.parametrize(
    ("words", "status"),
    [
        pytest.param(DRY, 0, id="dry run"),
        pytest.param((*DRY, "--runtime", "docker"), 0, id="container"),
        pytest.param((*DRY[:1], M3, "--hardware", "b300", "--output", "json"), 0, id="json"),
        pytest.param(("recipes", "list"), 0, id="recipes list"),
        pytest.param(("explain", FLASH, "--hardware", "b300"), 0, id="explain"),
        pytest.param(("serve", "no/such", "--hardware", "b300"), 2, id="unknown recipe"),
        pytest.param(("--recipes-dir", "here", *DRY), 2, id="relative recipes"),
        pytest.param(("--config", "here.yaml", *DRY), 2, id="relative settings"),
    ],
)
def test_a_working_directory_that_is_gone_is_no_obstacle(
    operator: Operator, words: tuple[str, ...], status: int
) -> None:
    line = ["/bin/sh", "-c", IN_A_DIRECTORY_THAT_IS_GONE, "sh", *COMMAND, *words]
    ran = operator.execute(line, env={"PATH": os.defpath})
    assert ran.status == status, ran.err
    assert "bug" not in ran.err


def test_a_hub_cache_that_is_relative_to_nowhere_is_an_error(operator: Operator) -> None:
    line = ["/bin/sh", "-c", IN_A_DIRECTORY_THAT_IS_GONE, "sh", *COMMAND, *DRY]
    env = {"PATH": os.defpath, "HF_HOME": "hf"}
    ran = operator.execute([*line, "--runtime", "docker"], env=env)
    assert ran.status == 3
    assert ran.error == (
        "error: the hub cache is at hf, under a working directory that is gone\n"
        "  cd to one that is there, or set HF_HOME to a whole path\n"
    )
