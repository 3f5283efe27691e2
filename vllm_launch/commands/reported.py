"""What a ready server reports of itself: by its answers, its log and the driver."""

from __future__ import annotations

from ..running import answers, process
from ..running.http import Asked, NoReply, exchange
from ..running.reality import Intent, Reported, arguments_of, cache_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..running.address import Address
    from ..running.process import Identity
    from ..running.waiting import Server, Waited

_SECONDS = 10.0  # for an answer that needs no model


def reported(server: Server, intent: Intent, waited: Waited, key: str | None) -> Reported:
    """As much as can be seen; what cannot is left out."""
    running = server.process()
    return Reported(
        arguments=arguments_of(waited.arguments) if waited.arguments else None,
        models=_models(server.address, key),
        version=_version(server.address),
        cache=cache_labels(_body(server.address, Asked(path="/metrics"))),
        cache_tokens=waited.cache_tokens,
        gpus=_gpus(running) if running is not None and intent.gpus is not None else None,
    )


def _body(address: Address, asked: Asked) -> str:
    try:
        reply = exchange(address, asked, _SECONDS)
    except NoReply:
        return ""
    return reply.body.decode("utf-8", "replace") if reply.status == 200 else ""


def _models(address: Address, key: str | None) -> tuple[tuple[str, str, int | None], ...]:
    try:
        return tuple(answers.models(exchange(address, Asked(path="/v1/models", key=key), _SECONDS)))
    except (NoReply, answers.DoesNotHold):
        return ()


def _version(address: Address) -> str:
    import json

    try:
        found = json.loads(_body(address, Asked(path="/version")))["version"]
    except (ValueError, LookupError, TypeError):
        return ""
    return answers.shown(found) if isinstance(found, str) else ""


def _gpus(server: Identity) -> tuple[tuple[int, str], ...]:
    """The GPUs that a server's processes are on, by what the drivers say."""
    from ..host.facts import read_host

    pids = {server.pid, *(each.pid for each in process.family_of(server))}
    return tuple(
        (gpu.index, gpu.uuid or "")
        for gpu in read_host().gpus
        if any(one.pid in pids for one in gpu.processes or ())
    )
