"""Where a server is asked: never at every address, never with a secret in the words."""

from __future__ import annotations

import pytest

from vllm_launch.errors import UsageError
from vllm_launch.model.deployment import ProcessPlan
from vllm_launch.model.source import Source, paired
from vllm_launch.running.address import Address, of_process, parsed


def process(*words: str) -> ProcessPlan:
    arguments = paired((word, Source(layer="operator")) for word in words)
    return ProcessPlan(role="server", rank=0, model="org/model", arguments=arguments,
                       layers=arguments, variables=(), variable_layers=())  # fmt: skip


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ((), "http://127.0.0.1:8000"),
        (("--host", "0.0.0.0", "--port", "9000"), "http://127.0.0.1:9000"),
        (("--host", "::"), "http://[::1]:8000"),
        (("--host=10.0.0.7", "--port=81"), "http://10.0.0.7:81"),
        (("--host", "fd00::7"), "http://[fd00::7]:8000"),
        (("--uds", "/run/vllm.sock"), "unix:/run/vllm.sock"),
        (("--ssl-keyfile", "k", "--ssl-certfile", "c"), "https://127.0.0.1:8000"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_the_address_is_the_one_that_is_bound(words: tuple[str, ...], url: str) -> None:
    assert of_process(process(*words)).url == url


def test_a_published_address_wins_over_the_one_inside() -> None:
    assert of_process(process("--host", "0.0.0.0"), 8100, "10.0.0.7").url == "http://10.0.0.7:8100"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://h", Address(host="h", port=80)),
        ("https://h/v1/", Address(host="h", port=443, secure=True)),
        ("http://[::]:8000", Address(host="::1", port=8000)),
        ("http://0.0.0.0:8000/a/b", Address(host="127.0.0.1", port=8000, prefix="/a/b")),
        ("unix:/run/v.sock", Address(socket="/run/v.sock")),
        ("unix:///run/v.sock", Address(socket="/run/v.sock")),
    ],
)
def test_a_url_is_an_address(text: str, address: Address) -> None:
    assert parsed(text) == address


@pytest.mark.parametrize(
    "text", ["", "h:8000", "ftp://h", "http://", "http://h:x", "http://h:99999", "http://h/?k=v",
             "http://h/a b", "http://h/\r\nX: y", "unix:run", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parsed(text)


def test_a_secret_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parsed("http://me:hunter2@h")
    assert "hunter2" not in caught.value.message + caught.value.hint
