"""Ports of NIXL's side channels where both pools share a machine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import deploy, recipe
from vllm_launch.model.choice import Pool, Pools
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.source import Source
from vllm_launch.resolve.side_channels import separate_ports

PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"
MODES = """
    strategy_overrides:
      pd_cluster:
        prefill: {{parallelism: {prefill}, env: {{{port}: "{first}"}}}}
        decode: {{parallelism: {decode}, env: {{{port}: "{second}"}}}}
"""


def planned(
    prefill: str, decode: str, first: str = "5557", second: str = "5558", **more: Any
) -> Deployment:
    text = MODES.format(prefill=prefill, decode=decode, port=PORT, first=first, second=second)
    return deploy(recipe(text), hardware="h200", strategy="pd_cluster", **more)


def ports(deployment: Deployment) -> list[str]:
    return [plan.env[PORT] for plan in separate_ports(deployment).processes]


@pytest.mark.parametrize(
    ("prefill", "decode", "first", "second", "expected"),
    [
        pytest.param("tp", "tp", "5557", "5558", ["5557", "5558"], id="one replica each"),
        pytest.param("dep", "dep", "5557", "5558", ["5557", "5561"], id="four each"),
        pytest.param("dep", "tp", "5557", "5558", ["5557", "5561"], id="four and one"),
        pytest.param("tp", "dep", "5557", "5558", ["5557", "5558"], id="one and four"),
        pytest.param("dep", "dep", "5557", "5561", ["5557", "5561"], id="apart already"),
        pytest.param("dep", "dep", "5557", "5553", ["5557", "5553"], id="decode before prefill"),
        pytest.param("dep", "dep", "5557", "5554", ["5557", "5561"], id="decode into prefill"),
        pytest.param("dep", "dep", "$A", "5558", ["$A", "5558"], id="no number"),
    ],
)
def test_decode_listens_behind_prefill(
    prefill: str, decode: str, first: str, second: str, expected: list[str]
) -> None:
    assert ports(planned(prefill, decode, first, second)) == expected


def test_pools_on_machines_of_their_own_stay_as_they_are() -> None:
    one = Pools(prefill=Pool(nodes=1), decode=Pool(nodes=1))
    deployment = planned("dep", "dep", pools=one)
    assert separate_ports(deployment) is deployment


def test_what_the_operator_set_stays() -> None:
    env = ((PORT, "6000", Source(layer="operator")),)
    assert ports(planned("dep", "dep", env=env)) == ["6000", "6000"]


def test_why_it_moved_is_said() -> None:
    decode = separate_ports(planned("dep", "dep")).processes[1]
    (source,) = [source for name, _, source in decode.variables if name == PORT]
    assert source.detail == "behind the 4 ports of prefill"
