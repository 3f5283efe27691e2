"""The placeholders of a deployment's parts: which there are, what they stand for, filling them."""

from __future__ import annotations

from ..model.part import SERVERS, Meaning, Part
from .endpoints import (
    fill_host,
    fill_json,
    fill_process,
    fill_store,
    fill_text,
    names_in,
    names_in_json,
)
from .parts import router_port

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..model.deployment import Deployment

# Of the machines that services are on.
_SERVICES = {"master": "MOONCAKE_MASTER_IP", "etcd": "ETCD_HOST", "nats": "NATS_HOST"}
# vLLM's --data-parallel-rpc-port is 29550; the second pool may share the machine.
_RPC_PORTS = {"PREFILL_DP_RPC_PORT": "29550", "DECODE_DP_RPC_PORT": "29551"}


def address_name(part: Part) -> str:
    """The placeholder that a server's machine is called by; "" for one that nobody calls."""
    if part.role in ("prefill", "decode"):
        return f"{part.role.upper()}_NODE_{part.rank + 1}"
    if part.role == "instance":
        number = part.name.rpartition("-")[2]
        return f"VLLM_INSTANCE_{number}" if number != "0" else "HEAD_IP"
    return "HEAD_IP" if part.role in ("head", "server") else ""


def meaning(placeholder: str, deployment: Deployment, all_parts: Sequence[Part]) -> Meaning:
    """What a placeholder of a deployment stands for."""
    return meanings((placeholder,), deployment, all_parts)[placeholder]


def meanings(
    names: Iterable[str], deployment: Deployment, all_parts: Sequence[Part]
) -> dict[str, Meaning]:
    """What each of some placeholders stands for."""
    machines = address_parts(all_parts)
    files = {each.placeholder for part in all_parts for each in part.files}
    return {name: _meaning(name, deployment, machines, files) for name in names}


def address_parts(all_parts: Sequence[Part]) -> dict[str, Part]:
    """The parts whose machines' addresses are asked for, by the placeholders that do."""
    found: dict[str, Part] = {}
    for part in all_parts:
        name = _SERVICES.get(part.role, "")
        name = name or (address_name(part) if part.role in SERVERS else "")
        if name:
            found.setdefault(name, part)
    first = next((part for part in all_parts if part.role in SERVERS), None)
    if first is not None:
        found.setdefault("HEAD_IP", first)
        if first.role == "instance":
            found.setdefault("VLLM_INSTANCE_1", first)
    return found


def local_address(part: Part) -> str:
    """Where a part is found on its own machine."""
    return (part.plan.address if part.plan is not None else "") or "127.0.0.1"


def on_one_machine(meaning: Meaning, all_parts: Sequence[Part]) -> Meaning:
    """What a placeholder stands for where all parts are on the same machine."""
    if meaning.kind != "node":
        return meaning
    part = next(part for part in all_parts if part.name == meaning.part)
    return meaning.replace(default=local_address(part))


def _meaning(
    placeholder: str, deployment: Deployment, machines: Mapping[str, Part], files: Collection[str]
) -> Meaning:
    if placeholder in machines:
        return Meaning(kind="node", part=machines[placeholder].name)
    if placeholder in _RPC_PORTS:
        return Meaning(kind="port", default=_RPC_PORTS[placeholder])
    if placeholder == "ROUTER_PORT":
        return Meaning(kind="port", default=str(router_port(deployment)))
    if placeholder == "ROUTER_HOST":
        return Meaning(kind="bind", default="0.0.0.0")  # noqa: S104 - a router is for others
    if placeholder == "IFACE_NAME":
        return Meaning(kind="interface")
    if placeholder in ("MOONCAKE_DEVICE_NAME", "MOONCAKE_STORE_DEVICE_NAME"):
        return Meaning(kind="device", default="")  # empty: Mooncake picks
    if placeholder in files:
        return Meaning(kind="file")
    return Meaning(kind="other")


def placeholders_of(part: Part) -> tuple[str, ...]:
    """The names of the placeholders in a part's words, variables and files, each once."""
    return _names((*part.argv, *(value for _, value in part.env), part.text), part)


def unfilled(part: Part) -> tuple[str, ...]:
    """The placeholders that a part is to have filled before it starts.

    A dollar sign in the operator's own words is a dollar sign.
    """
    plan = part.plan
    if plan is None:
        return placeholders_of(part)
    texts = [word for _, words, source in plan.arguments if source.layer != "operator"
             for word in words]  # fmt: skip
    texts += [value for _, value, source in plan.variables if source.layer != "operator"]
    return _names(texts, part)


def _names(texts: Iterable[str], part: Part) -> tuple[str, ...]:
    """The placeholders in texts and in a part's files."""
    names = [name for text in texts for name in names_in(text)]
    for file in part.files:
        names += names_in_json(file.content)
        names += [] if file.path else [file.placeholder]
    return tuple(dict.fromkeys(names))


def fill_part(part: Part, values: Mapping[str, str]) -> Part:
    """A part with the known placeholders filled, in its words, variables and files.

    In what the operator wrote, a dollar sign is a dollar sign.
    """
    if not values:
        return part
    files = tuple(f.replace(content=fill_json(f.content, values)) for f in part.files)
    if part.plan is not None:
        plan = fill_process(part.plan, values)
        return part.replace(
            plan=plan, argv=tuple(plan.argv), env=tuple(plan.env.items()), files=files
        )
    # The toy proxy makes URLs of the addresses, each a word of its own.
    fill_word = fill_host if part.role == "proxy" else fill_text
    return part.replace(
        argv=tuple(fill_word(word, values) for word in part.argv),
        env=tuple((name, fill_text(value, values)) for name, value in part.env),
        text=fill_text(part.text, values),
        files=files,
    )


def fill_deployment(deployment: Deployment, values: Mapping[str, str]) -> Deployment:
    """A deployment with the known placeholders filled as ``fill_part`` does."""
    if not values:
        return deployment
    return deployment.replace(
        processes=tuple(fill_process(plan, values) for plan in deployment.processes),
        router=fill_text(deployment.router, values) if deployment.router else None,
        store=fill_store(deployment.store, values),
    )
