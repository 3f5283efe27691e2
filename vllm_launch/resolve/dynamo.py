"""Servers behind Dynamo's frontend: its worker in place of vLLM's API server.

``python3 -m dynamo.vllm`` hands engine options to vLLM's own parser and refuses those of vLLM's
API server, whose work the frontend does. Source: components/src/dynamo/vllm/args.py of
ai-dynamo/dynamo, and the runbooks of recipes whose presets ran behind it.
"""

from __future__ import annotations

from ..model.deployment import DynamoPlan
from ..model.source import Source, paired
from .arguments import last_wins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model.deployment import Deployment, ProcessPlan
    from ..model.recipe import DynamoSettings, Preset
    from ..model.source import Argument, Arguments, Variables

WORKER = ("python3", "-m", "dynamo.vllm", "--model")
FRONTEND = ("python3", "-m", "dynamo.frontend")
_FROM = Source(layer="dynamo", detail="for Dynamo's worker")
_ENDPOINTS = (
    ("ETCD_ENDPOINTS", "http://$ETCD_HOST:2379", _FROM),
    ("NATS_SERVER", "nats://$NATS_HOST:4222", _FROM),
)

# Options of vLLM's API server. --headless is Dynamo's own as well, and stays.
_NAMES = """
allow-credentials allowed-headers allowed-methods allowed-origins
anthropic-disabled-thinking-effort api-key api-server-count chat-template
chat-template-content-format cohere-format cohere-is-reasoning-model config
data-parallel-supervisor-port default-chat-template-kwargs disable-access-log-for-endpoints
disable-fastapi-docs disable-uvicorn-access-log dp-supervisor-probe-failure-threshold
dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s enable-auto-tool-choice
enable-flash-late-interaction enable-force-include-usage enable-log-deltas enable-log-outputs
enable-offline-docs enable-per-request-metrics enable-prompt-tokens-details
enable-request-id-headers enable-scale-out enable-server-load-tracking enable-ssl-refresh
enable-tokenizer-info-endpoint exclude-tools-when-tool-choice-none fingerprint-mode
fingerprint-value grpc grpc-port h11-max-header-count h11-max-incomplete-event-size host
log-error-stack lora-modules max-log-len middleware port reasoning-effort-map
response-role return-tokens-as-token-ids root-path sse-keep-alive-interval ssl-ca-certs
ssl-cert-reqs ssl-certfile ssl-ciphers ssl-keyfile tokens-only tool-call-parser tool-parser-plugin
tool-server tool-strict-level trust-request-chat-template trust-request-mm-kwargs uds
uvicorn-log-level
"""
SERVER_OPTIONS = frozenset(f"--{name}" for name in _NAMES.split())
# What the worker reads itself, before vLLM's parser.
_OWN_OPTIONS = (
    "--request-plane",
    "--disaggregation-mode",
)
_PARSERS = {
    "--tool-call-parser": "--dyn-tool-call-parser",
    "--reasoning-parser": "--dyn-reasoning-parser",
}


def ran_behind_dynamo(preset: Preset | None) -> bool:
    """Whether a preset was measured with Dynamo in its image."""
    pinned = preset.image.pip if preset is not None and preset.image is not None else ()
    return any(requirement.startswith("ai-dynamo") for requirement in pinned)


def behind_dynamo(deployment: Deployment, preset: Preset | None) -> Deployment:
    """A deployment whose servers are Dynamo's workers, with its frontend beside them."""
    settings = preset.dynamo if preset is not None else None
    workers = tuple(_worker(plan, settings) for plan in deployment.processes)
    pinned = preset.image.pip if preset is not None and preset.image is not None else ()
    return deployment.replace(
        processes=workers,
        router=None,
        dynamo=DynamoPlan(
            frontend=_frontend(deployment.processes, settings),
            variables=_frontend_variables(workers, settings),
            requirements=pinned,
            port=next((p for p in (_port(plan) for plan in deployment.processes) if p), 8000),
        ),
        notes=(*deployment.notes, *_notes(deployment.processes, pinned)),
    )


def is_server_option(flag: str) -> bool:
    """Whether an option is one of vLLM's API server, in any of its spellings."""
    name = flag.partition("=")[0].replace("_", "-")
    plain = name.replace("--no-", "--", 1)
    forms = (
        plain,
        plain.replace("--disable-", "--enable-", 1),
        plain.replace("--enable-", "--disable-", 1),
    )
    return any(form in SERVER_OPTIONS for form in forms)


def _worker(plan: ProcessPlan, settings: DynamoSettings | None) -> ProcessPlan:
    kept = tuple(a for a in plan.arguments if not is_server_option(a[0]))
    own: Arguments = (*_own_arguments(plan), *(settings.worker_args if settings else ()))
    operator = tuple(a for a in kept if a[2].layer == "operator")
    variables = tuple(v for v in _ENDPOINTS if v[0] not in plan.env)
    return plan.replace(
        program=WORKER,
        own_options=tuple(
            flag for flag, _, _ in own if flag in _OWN_OPTIONS or flag.startswith("--dyn-")
        ),
        arguments=last_wins((*kept, *own, *operator)),
        layers=plan.layers + own,
        variables=plan.variables + variables,
        variable_layers=plan.variable_layers + variables,
    )


def _own_arguments(plan: ProcessPlan) -> Arguments:
    """What Dynamo's worker has in place of the API server's options."""
    found: list[Argument] = []
    for flag, tokens, source in plan.arguments:
        own = _PARSERS.get(flag)
        if own is not None and len(tokens) == 2:
            place = source.replace(detail=f"{flag} as Dynamo has it")
            found.append((own, (own, tokens[1]), place))
    found += _thinking(plan)
    if plan.role in ("prefill", "decode"):
        found += paired((token, _FROM) for token in ("--disaggregation-mode", plan.role))
    return tuple(found)


def _thinking(plan: ProcessPlan) -> Arguments:
    """Whether requests that do not say think: what the chat template's defaults ask for."""
    own = "--dyn-default-thinking-mode"
    return tuple(
        (own, (own, mode), source.replace(detail=f"{flag} as Dynamo has it"))
        for flag, tokens, source in plan.arguments
        if flag == "--default-chat-template-kwargs"
        for mode in _modes(tokens[-1])
    )


def _modes(text: str) -> tuple[str, ...]:
    """The thinking mode that a chat template's keywords ask for, if they ask for one."""
    import json

    try:
        values = json.loads(text)
    except ValueError:
        return ()
    if not isinstance(values, dict):
        return ()
    modes = {"enabled": "enabled", "disabled": "disabled", True: "enabled", False: "disabled"}
    asked = [values.get(key) for key in ("thinking_mode", "enable_thinking", "thinking")]
    return tuple(modes[v] for v in asked if isinstance(v, (str, bool)) and v in modes)[:1]


def _frontend(plans: Sequence[ProcessPlan], settings: DynamoSettings | None) -> Arguments:
    """The frontend's own options: the recipe's, else routing by who holds a prefix."""
    if settings is not None and settings.frontend_args:
        return settings.frontend_args
    size = plans[0].value("--block-size") if plans else None
    tokens = ["--router-mode", "kv", *(("--kv-cache-block-size", size) if size else ())]
    return paired((token, _FROM) for token in tokens)


def _frontend_variables(
    workers: Sequence[ProcessPlan], settings: DynamoSettings | None
) -> Variables:
    plane = workers[0].value("--request-plane") if workers else None
    planes: Variables = (("DYN_REQUEST_PLANE", plane, _FROM),) if plane else ()
    own = settings.frontend_env if settings is not None else ()
    named = {name for name, _, _ in own}
    return (*(v for v in (*_ENDPOINTS, *planes) if v[0] not in named), *own)


def _port(plan: ProcessPlan) -> int | None:
    """The HTTP port that the operator named, which is the frontend's now."""
    asked = any(flag == "--port" and s.layer == "operator" for flag, _, s in plan.arguments)
    return plan.number("--port") if asked else None


def _notes(plans: Sequence[ProcessPlan], pinned: Iterable[str]) -> Iterable[str]:
    refused = dict.fromkeys(
        flag for plan in plans for flag, _, _ in plan.arguments if is_server_option(flag)
    )
    packages = " ".join(pinned)
    yield "behind Dynamo's frontend; --frontend vllm serves with vLLM's own API server" + (
        f"; needs {packages}" if packages else ""
    )
    if refused:
        yield f"left out, for dynamo.vllm refuses them: {', '.join(refused)}"
