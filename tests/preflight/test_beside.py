"""What runs beside the servers, and the files that processes are told to read."""

from __future__ import annotations

from typing import Any

from tests.preflight.build import RECIPE, Case, only, situation, told, unread
from vllm_launch.model.part import Part
from vllm_launch.model.source import paired
from vllm_launch.model.system import Port
from vllm_launch.preflight import Situation, review, wanted

ROUTER = ("vllm-router", "--policy", "round_robin", "--port", "30080")
MASTER = ("mooncake_master", "-rpc_port=50051", "-metrics_port=9003")
STORE = ("python3", "-m", "mooncake.mooncake_store_service", "--config", "/etc/store.json")
CONFIG = {"MOONCAKE_CONFIG_PATH": "/etc/mooncake.json"}


def beside(*argv: str, role: str = "router", port: int | None = None, **changes: Any) -> Situation:
    """A part that is no server, on a machine where all is well but for ``changes``."""
    part = Part(name=role, role=role, argv=argv, port=port, source=RECIPE)
    bare = situation()
    words = paired((word, RECIPE) for word in argv[1:])
    process = bare.process.replace(role=role, model="", arguments=words, layers=words)
    there = bare.replace(beside=part, process=process)
    asked = wanted(there)
    system = there.system.replace(
        programs=tuple((name, f"/venv/bin/{name}") for name in asked.programs),
        files=tuple((path, "") for path in asked.files),
        ports=tuple(Port(port=number, address=a, taken=False) for a, number in asked.ports),
    )
    return there.replace(system=system.replace(**changes))


CASES = [
    Case("PROGRAM", "pass", "there", beside(*ROUTER), []),
    Case("PROGRAM", "pass", "a server", situation(), None),
    Case(
        "PROGRAM",
        "found",
        "not there",
        beside(*ROUTER, programs=(("vllm-router", ""),)),
        ["fail: vllm-router is not on PATH"],
    ),
    Case(
        "PROGRAM",
        "unknown",
        "not looked for",
        beside(*ROUTER, **unread("programs", reason="no answer in 4.2 s")),
        ["note: vllm-router was not looked for: no answer in 4.2 s"],
    ),
    Case("CONFIG_FILE", "pass", "none", situation(), None),
    Case("CONFIG_FILE", "pass", "there", situation("", CONFIG), []),
    Case(
        "CONFIG_FILE",
        "pass",
        "not filled in",
        situation("", {"MOONCAKE_CONFIG_PATH": "$MOONCAKE_CONFIG_PATH"}),
        None,
    ),
    Case(
        "CONFIG_FILE",
        "pass",
        "written before it starts",
        situation("", CONFIG).replace(written=("/etc/mooncake.json",)),
        None,
    ),
    Case(
        "CONFIG_FILE",
        "found",
        "a server's",
        situation("", CONFIG, files=(("/etc/mooncake.json", "No such file or directory"),)),
        ["fail: /etc/mooncake.json cannot be read: No such file or directory"],
    ),
    Case(
        "CONFIG_FILE",
        "found",
        "a store's",
        beside(*STORE, role="store", files=(("/etc/store.json", "Permission denied"),)),
        ["fail: /etc/store.json cannot be read: Permission denied"],
    ),
    Case(
        "CONFIG_FILE",
        "found",
        "the toy proxy",
        beside("python3", "/toy.py", role="proxy", files=(("/toy.py", "Is a directory"),)),
        ["fail: /toy.py cannot be read: Is a directory"],
    ),
    Case(
        "CONFIG_FILE",
        "unknown",
        "not looked for",
        situation("", CONFIG, **unread("files", reason="no answer in 4.2 s")),
        ["note: files were not looked for: no answer in 4.2 s"],
    ),
]


def test_all_cases() -> None:
    for case in CASES:
        assert told(case.situation, case.code) == case.told, case.id


def test_a_program_comes_with_its_command() -> None:
    one = only(beside(*ROUTER, programs=(("vllm-router", ""),)), "PROGRAM")
    assert one.why == "The router is that program."
    assert one.command == "pip install vllm-router"
    assert one.source == RECIPE


def test_the_ports_of_what_runs_beside_are_bound() -> None:
    ports = {port for _, port in wanted(beside(*MASTER, role="master")).ports}
    assert ports == {50051, 9003}
    assert wanted(beside("python3", "/toy.py", role="proxy", port=8000)).ports == (("", 8000),)
    busy = beside(*ROUTER, ports=(Port(port=30080, taken=True, holder="nginx (17)"),))
    assert told(busy, "PORT_BUSY") == ["fail: port 30080 (router) is taken by nginx (17)"]


def test_what_is_no_server_is_not_checked_as_one() -> None:
    found = review(beside(*ROUTER))
    assert found.findings == ()
    assert set(found.passed) == {"PORT_BUSY", "PLACEHOLDER", "TILDE", "TOKEN_ARGV", "PROGRAM"}
