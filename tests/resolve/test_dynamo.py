"""Servers behind Dynamo's frontend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_launch.catalog.library import bundled
from vllm_launch.model.choice import Request
from vllm_launch.model.source import Source, paired
from vllm_launch.resolve.dynamo import (
    SERVER_OPTIONS,
    behind_dynamo,
    is_server_option,
    ran_behind_dynamo,
)
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.placeholders import meaning
from vllm_launch.resolve.resolver import Resolver

TABLES = Path(__file__).parents[3] / "shared/reference/vllm-options"


def deployment(point="tp4_c1", preset="gb200_agentx", **asked):
    library = bundled()
    recipe = library.recipe("MiniMaxAI/MiniMax-M3")
    resolver = Resolver(recipe, library)
    plain = resolver.resolve(resolver.choose(Request(preset=preset, point=point, **asked)))
    return plain, behind_dynamo(plain, recipe.presets[preset])


def flags(plan):
    return [flag for flag, _, _ in plan.arguments]


def test_the_worker_takes_the_place_of_vllm_serve():
    _, dynamo = deployment()
    assert dynamo.processes[0].argv[:5] == [
        "python3", "-m", "dynamo.vllm", "--model", "nvidia/MiniMax-M3-NVFP4",
    ]  # fmt: skip


def test_engine_options_stay_as_they_are_and_those_of_the_api_server_go():
    plain, dynamo = deployment()
    refused = {"--tool-call-parser", "--enable-auto-tool-choice", "--default-chat-template-kwargs"}
    before, after = plain.processes[0], dynamo.processes[0]
    kept = [argument for argument in before.arguments if argument[0] not in refused]
    assert list(after.arguments[: len(kept)]) == kept
    assert [token for _, tokens, _ in after.arguments[len(kept) :] for token in tokens] == [
        "--dyn-tool-call-parser", "minimax_m3",
        "--dyn-reasoning-parser", "minimax_m3",
        "--dyn-default-thinking-mode", "enabled",
        "--request-plane", "tcp",
        "--kv-events-config",
        '{"publisher":"zmq","topic":"kv-events","enable_kv_cache_events":true,"endpoint":"tcp://*:5200"}',
    ]  # fmt: skip


def test_its_variables_are_the_plans_with_the_two_services():
    plain, dynamo = deployment()
    assert dynamo.processes[0].env == {
        **plain.processes[0].env,
        "ETCD_ENDPOINTS": "http://$ETCD_HOST:2379",
        "NATS_SERVER": "nats://$NATS_HOST:4222",
    }


def test_thinking_that_is_switched_off_is_not_asked_of_dynamo():
    _, dynamo = deployment(drop_features=("thinking_always_on",))
    assert "--dyn-default-thinking-mode" not in flags(dynamo.processes[0])


def test_followers_of_a_worker_on_two_trays_stay_headless():
    _, dynamo = deployment("tp8_c1", "gb200_agentx_tp8")
    assert [("--headless" in flags(plan)) for plan in dynamo.processes] == [False, True]


def test_services_come_first_and_the_frontend_last():
    _, dynamo = deployment("tp8_c1", "gb200_agentx_tp8")
    everything = parts(dynamo)
    assert [part.name for part in everything] == ["etcd", "nats", "head-0", "worker-1", "frontend"]
    frontend = everything[-1]
    assert frontend.argv[:3] == ("python3", "-m", "dynamo.frontend")
    assert dict(frontend.env)["DYN_REQUEST_PLANE"] == "tcp"
    assert (frontend.port, everything[2].port) == (8000, None)
    assert meaning("NATS_HOST", dynamo, everything).part == "nats"


def test_the_operators_port_is_the_frontends():
    port = paired((token, Source(layer="operator")) for token in ("--port", "9000"))
    _, dynamo = deployment(args=port)
    assert "--port" not in flags(dynamo.processes[0])
    assert parts(dynamo)[-1].argv[-2:] == ("--http-port", "9000")


def test_only_presets_that_had_dynamo_in_their_image_ran_behind_it():
    presets = bundled().recipe("MiniMaxAI/MiniMax-M3").presets
    assert {name for name, preset in presets.items() if ran_behind_dynamo(preset)} == {
        "gb200_agentx",
        "gb200_agentx_tp8",
    }


@pytest.mark.parametrize("table", sorted(TABLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_option_of_a_releases_api_server_is_refused_and_no_other(table):
    """Its parser lists the API server's options first, then the engine's from --model on.

    --log-config-file moved to the engine with 0.31.0, and --headless is the worker's own as well.
    """
    options = [option["flags"] for option in json.loads(table.read_text())["options"]]
    engine = next(i for i, names in enumerate(options) if "--model" in names)
    for names in options[:engine]:
        if not {"--help", "--headless", "--log-config-file"} & set(names):
            assert all(is_server_option(name) for name in names if name.startswith("--")), names
    for names in options[engine:]:
        assert not any(name in SERVER_OPTIONS for name in names), names
