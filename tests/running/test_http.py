"""One exchange with a server: what it says where there is no answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running.conftest import Playing
from tests.sync.server import certify
from vllm_launch.running import http
from vllm_launch.running.address import Address, parsed
from vllm_launch.running.http import Asked, NoReply, exchange
from vllm_launch.running.waiting import Server, wait


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of localhost, with its key, and signed by an authority that nobody knows."""
    return str(certify(tmp_path_factory.mktemp("tls"))[1])


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no connection were to this machine."""
    monkeypatch.setattr(http, "_is_here", lambda _: False)


def test_on_this_machine_no_certificate_is_looked_at(play: Playing, certificate: str) -> None:
    address = parsed(play(certificate=certificate).url)
    assert exchange(address, Asked(path="/v1/models"), 5).status == 200


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_a_certificate_has_to_be_trusted(play: Playing, certificate: str) -> None:
    server = Server(parsed(play(certificate=certificate).url))
    waited = wait(server, lambda _: None, None, 60)
    assert not waited.ready
    assert waited.what == (
        "its certificate is not trusted: unable to get local issuer certificate "
        "(SSL_CERT_FILE names one that is)"
    )


@pytest.mark.usefixtures("elsewhere")
def test_one_that_is_trusted_is_asked(
    play: Playing, certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Path(certificate).with_name("ca.pem")))
    address = parsed(play(certificate=certificate).url).replace(host="localhost")
    assert exchange(address, Asked(path="/health"), 5).status == 200


def test_what_speaks_no_tls_is_not_waited_for(play: Playing) -> None:
    server = Server(parsed(play().url).replace(secure=True))
    waited = wait(server, lambda _: None, None, 60)
    assert waited.what == "what answers there does not speak TLS"


def test_tls_that_is_asked_in_the_clear_has_no_answer(play: Playing, certificate: str) -> None:
    address = parsed(play(certificate=certificate).url).replace(secure=False)
    with pytest.raises(NoReply, match=r"^the connection was closed without an answer$"):
        exchange(address, Asked(path="/health"), 5)


@pytest.fixture
def mute() -> Iterator[Address]:
    """Where connections are taken, and nothing is ever said: not even a handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield Address(host="127.0.0.1", port=listening.getsockname()[1], secure=True)


def test_a_handshake_has_an_end(mute: Address) -> None:
    with pytest.raises(NoReply, match=r"in 0\.3 s$") as raised:
        exchange(mute, Asked(path="/health"), 0.3)
    assert not raised.value.final
