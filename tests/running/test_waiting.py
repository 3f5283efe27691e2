"""A server is waited for as long as it loads, and no longer."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.running.conftest import Playing
from tests.running.player import Play
from vllm_launch.running.address import Address, parsed
from vllm_launch.running.listening import is_here
from vllm_launch.running.process import Identity, identity_of
from vllm_launch.running.readiness import Progress
from vllm_launch.running.waiting import Server, wait


class Process(Server):
    """A server with a process that ends after some looks, and a log."""

    watched = True
    follows_log = True

    def __init__(self, address: Address, log: tuple[str, ...] = (), ends_after: int = 10**9):
        super().__init__(address)
        self.log = list(log)
        self.left = ends_after

    def ended(self) -> str:
        self.left -= 1
        return "the server ended with status 1" if self.left < 0 else ""

    def lines(self) -> list[str]:
        return [self.log.pop(0)] if self.log else []

    def process(self) -> Identity | None:
        return self.identity

    identity: Identity | None = None


@pytest.fixture
def nowhere() -> Iterator[Address]:
    """An address that is taken, and where nothing listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield Address(host="127.0.0.1", port=taken.getsockname()[1])


@pytest.fixture
def deaf() -> Iterator[Address]:
    """Where connections are taken, and no request is ever read."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield Address(host="127.0.0.1", port=listening.getsockname()[1])


def ignore(_: Progress) -> None:
    pass


def test_a_server_that_answers_is_ready(play: Playing) -> None:
    assert wait(Server(parsed(play().url)), ignore, 60, 60).ready


def test_one_that_is_not_ready_yet_is_waited_for(play: Playing) -> None:
    server = play(not_ready_looks=3)
    assert wait(Server(parsed(server.url)), ignore, None, 60).ready
    assert server.looks == 4


def test_one_that_listens_late_is_waited_for(nowhere: Address) -> None:
    def listen() -> None:
        time.sleep(0.3)
        server = Play({}, ("127.0.0.2", nowhere.port))
        with closing(server.socket):
            server.timeout = 60
            server.handle_request()

    thread = threading.Thread(target=listen)
    thread.start()
    waited = wait(Process(nowhere.replace(host="127.0.0.2")), ignore, None, 60)
    thread.join()
    assert waited.ready


def test_a_dead_process_fails_at_once(nowhere: Address) -> None:
    waited = wait(Process(nowhere, ends_after=2), ignore, None, 600)
    assert (waited.ready, waited.dead) == (False, True)
    assert waited.what == "the server ended with status 1"
    assert waited.seconds < 60


def test_another_servers_answer_does_not_make_a_dead_one_ready(play: Playing) -> None:
    waited = wait(Process(parsed(play().url), ends_after=1), ignore, None, 60)
    assert (waited.ready, waited.dead) == (False, True)


def test_another_servers_answer_does_not_make_one_that_loads_ready(play: Playing) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as loading:
        server = Process(parsed(play().url))
        server.identity = identity_of(loading.pid)
        waited = wait(server, ignore, 0.3, 60)
        loading.kill()
    assert waited.what == "not ready after 0.3 s: what answers there is another process"


def test_its_own_socket_makes_it_ready(play: Playing) -> None:
    server = Process(parsed(play().url))
    server.identity = identity_of(os.getpid())
    assert wait(server, ignore, 5, 60).ready


def test_a_limit_holds_where_one_is_set(nowhere: Address) -> None:
    waited = wait(Server(nowhere), ignore, 0.3, 60)
    assert waited.what == "not ready after 0.3 s: nothing listens there"


@pytest.mark.parametrize("told", [{"hangs": "everything"}, None], ids=["reads", "reads nothing"])
def test_a_server_that_hangs_is_told(play: Playing, deaf: Address, told: dict | None) -> None:
    address = parsed(play(**told).url) if told else deaf
    waited = wait(Process(address), ignore, None, 0.5)
    assert waited.what == ("it hangs: for 0.5 s, took the request, and did not answer in 0.5 s")


def test_a_server_that_goes_on_answering_with_errors_hangs(play: Playing) -> None:
    waited = wait(Server(parsed(play(health=500).url)), ignore, None, 2)
    assert waited.what == "it hangs: for 2 s, it answers with 500"


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_router_whose_servers_load_is_waited_for(play: Playing, status: int) -> None:
    waited = wait(Server(parsed(play(health=status).url)), ignore, 2.5, 2)
    assert waited.what == f"not ready after 2.5 s: it answers with {status}"


@pytest.mark.parametrize("status", [502, 503, 504])
def test_of_a_server_whose_process_is_known_nothing_stands_behind_it(
    play: Playing, status: int
) -> None:
    waited = wait(Process(parsed(play(health=status).url)), ignore, None, 2)
    assert waited.what == f"it hangs: for 2 s, it answers with {status}"


def test_a_redirect_is_told_at_once_with_where_it_leads(play: Playing) -> None:
    server = play(health=307, redirect="http://node7:8000/\x9b2Jhealth")
    waited = wait(Server(parsed(server.url)), ignore, None, 60)
    assert waited.what == "it answers with 307, a redirect to http://node7:8000/2Jhealth"
    assert waited.seconds < 30


def test_what_speaks_another_protocol_is_never_ready(play: Playing) -> None:
    waited = wait(Server(parsed(play(garbage=True).url)), ignore, 0.3, 5)
    assert waited.what == "not ready after 0.3 s: what answers there does not speak HTTP"


@pytest.mark.parametrize("key", [None, "a-key"])
def test_without_a_health_path_the_models_do(play: Playing, key: str | None) -> None:
    assert wait(Server(parsed(play(health=404, key=key).url)), ignore, 60, 60).ready


def test_the_address_that_was_bound_is_asked(play: Playing, nowhere: Address) -> None:
    bound = play().url
    process = Process(nowhere, log=("x", f"INFO [entry.py:140] Starting vLLM server on {bound}"))
    assert wait(process, ignore, 60, 60).ready
    assert process.address == parsed(bound)


@pytest.mark.parametrize(
    "said", ["http://10.99.7.2:18666", "http://example.com", "http://127.0.0.1:x", "http://[::"]
)
def test_an_address_elsewhere_is_not_asked(nowhere: Address, said: str) -> None:
    """A client may have written it into the log, and a key would be sent there."""
    process = Process(nowhere, log=(f"INFO [a.py:1] Starting vLLM server on {said} : params",))
    assert wait(process, ignore, 0.3, 60).what == "not ready after 0.3 s: nothing listens there"
    assert process.address == nowhere


def test_where_the_planned_address_answers_no_other_is_asked(play: Playing) -> None:
    planned, said = play(), play()
    line = f"INFO [a.py:1] Starting vLLM server on {said.url}"
    process = Process(parsed(planned.url), log=(line,))
    assert wait(process, ignore, 60, 60).ready
    assert (process.address, said.asked) == (parsed(planned.url), [])


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True),
        (os.uname().nodename, True), ("192.0.2.7", False), ("2001:db8::7", False),
        ("localhost.example", False), ("127.1", False), ("", False),
    ],
)  # fmt: skip
def test_which_hosts_are_this_machine(host: str, here: bool) -> None:
    assert is_here(host) is here


def test_what_a_log_says_while_it_is_looked_at_counts(play: Playing) -> None:
    process = Process(parsed(play().url), log=("", "INFO non-default args: {'port': 1}"))
    assert wait(process, ignore, 60, 60).arguments == "{'port': 1}"


def test_progress_is_told() -> None:
    told: list[Progress] = []
    log = ("vLLM API server version 0.32.0", "Loading weights took 2.00 seconds")
    wait(Process(Address(host="127.0.0.1", port=9), log=log, ends_after=6), told.append, None, 60)
    stages = dict.fromkeys(each.stage for each in told)
    assert list(stages) == ["start", "weights"]
