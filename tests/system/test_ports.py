"""Ports, by really binding them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ports
from tests.preflight.build import connector, situation, told, transfer
from vllm_launch.host.system import read_system
from vllm_launch.model.system import Port, SystemFacts, Wanted


@contextmanager
def listening(address: str = "127.0.0.1", family: int = socket.AF_INET) -> Iterator[int]:
    """A port that someone listens on."""
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.bind((address, 0))
        one.listen()
        yield one.getsockname()[1]


def read(*wanted: tuple[str, int]) -> SystemFacts:
    return read_system(Wanted(ports=wanted, memory=False))


def test_a_free_port_is_bound_and_released() -> None:
    port = ports.free()
    assert read(("", port)).ports == (Port(port=port, taken=False),)
    with socket.socket() as one:
        one.bind(("", port))


def test_a_port_that_someone_listens_on() -> None:
    with listening() as port:
        (found,) = read(("", port)).ports or ()
    name = Path("/proc/self/comm").read_text().strip()
    assert (found.taken, found.reason) == (True, "")
    assert found.holder == f"{name} ({os.getpid()})"


def test_the_check_sees_it() -> None:
    with listening("0.0.0.0") as port:
        plan = situation(f"--port {port}", system=read(("", port)))
        (line,) = told(plan, "PORT_BUSY") or ()
    assert line.startswith(f"fail: port {port} (HTTP) is taken by ")
    again = situation(f"--port {port}", system=read(("", port)))
    assert told(again, "PORT_BUSY") == []


def test_a_connection_that_lingers_holds_no_port() -> None:
    with listening() as port, socket.create_connection(("127.0.0.1", port)) as one:
        one.shutdown(socket.SHUT_RDWR)
    assert read(("", port)).ports == (Port(port=port, taken=False),)


@pytest.mark.parametrize("address", ["", "127.0.0.1"])
def test_a_port_that_a_server_has_bound_and_does_not_listen_on_yet(address: str) -> None:
    """As vLLM does while it loads: Linux lets another bind beside it."""
    with ports.held() as port:
        (found,) = read((address, port)).ports or ()
    assert found == Port(port=port, address=address, taken=True)


def test_an_address_that_is_not_here() -> None:
    (found,) = read(("203.0.113.77", 8000)).ports or ()
    assert (found.taken, found.reason) == (True, "Cannot assign requested address")


def test_a_name_that_is_none() -> None:
    (found,) = read(("no-such-host.invalid", 8000)).ports or ()
    assert found.taken
    assert found.reason


def test_a_port_on_one_address() -> None:
    port = ports.free()
    assert read(("127.0.0.1", port)).ports == (Port(port=port, address="127.0.0.1", taken=False),)


def test_a_port_that_only_root_may_bind() -> None:
    (found,) = read(("", 1)).ports or ()
    floor = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if os.geteuid() == 0 or floor <= 1:
        assert not found.taken
    else:
        assert found.reason == "Permission denied"


@pytest.mark.parametrize("up", [True, False])
def test_a_companion(up: bool) -> None:
    with listening() as port:
        if up:
            facts = read_system(Wanted(listeners=(("", port),)))
    if not up:
        facts = read_system(Wanted(listeners=(("", port),)))
    assert facts.listeners == (Port(port=port, taken=up),)
    config = connector("LMCacheMPConnector", **{"lmcache.mp.port": port})
    found = told(situation(transfer(**config), system=facts), "COMPANION_DOWN")
    down = f"warn: nothing listens on port {port}, where the LMCache server should"
    assert found == ([] if up else [down])
