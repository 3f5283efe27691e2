"""Ports, addresses, interfaces and what connects the ranks."""

from __future__ import annotations

from .symptom import NEXT_PORT, Symptom, Try

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _next_port(values: Mapping[str, str]) -> Try:
    port = int(values["port"])
    return Try(options=("--port", str(port + 1 if port < 65535 else 8000)))


NETWORK = (
    Symptom(
        code="PORT_BUSY",
        hint="address already in use",
        pattern=r"(?:on address \('[^']*', |bind host port(?: for)? \S*?:|listen tcp[46]? \S*?:)"
        r"(?P<port>\d+)\b.*address already in use",
        what="another process listens on the port",
        remedy="End it (vllm-launch check names it), or take another port.",
        next=_next_port,
    ),
    Symptom(
        code="PORT_BUSY",
        hint="already allocated",
        pattern=r"Bind for \S*:(?P<port>\d+) failed: port is already allocated",
        what="a container or another process has the port",
        remedy="End it, or take another port.",
        next=_next_port,
    ),
    Symptom(
        code="PORT_BUSY",
        hint="address already in use",
        pattern=r"EADDRINUSE|server socket has failed|ZMQError|tcp://|gloo",
        what="another process listens on a port by which the ranks or servers find each other",
        remedy="End it: check names it, and every port of the plan.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="PORT_BUSY",
        hint="address already in use",
        pattern=r"^(?!.*Retrying with a new port).*Address already in use",
        what="another process listens on a port of the plan",
        remedy="End it (vllm-launch check names it), or take another port.",
        next=Try(options=("--port", NEXT_PORT)),
    ),
    *(
        Symptom(
            code="PORT_RIGHTS",
            hint=hint,
            pattern=pattern,
            what="this user may not listen on a port below 1024",
            remedy="Take a higher one.",
            next=Try(options=("--port", "8000")),
        )
        for hint, pattern in (
            (
                "permission denied",
                r"on address \('[^']*', \d+\b.*\): permission denied",
            ),
            ("privileged port", r"cannot expose privileged port"),
        )
    ),
    Symptom(
        code="NIXL_HOST",
        hint="cannot assign requested address",
        pattern=r"Cannot assign requested address",
        what="the server was told to listen on an address that is not this machine's",
        remedy="Name this node's own address in --endpoint.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="IFACE",
        hint="unable to find address for",
        pattern=r"Unable to find address for: (?P<name>[\w.@-]+)",
        what="GLOO_SOCKET_IFNAME names an interface that this machine has not",
        remedy="Let the launcher derive it from the route to the head, or name the right one.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="IFACE",
        hint="gloo",
        pattern=r"Gloo connectFullMesh failed|gloo.*(?:Connection refused|timed out|127\.0\.0\.1)",
        what="the ranks of several nodes do not reach each other",
        remedy="Connect them by the interface of the route to the head.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="HEAD",
        hint="name or service not known",
        pattern=r"(?:Name or service not known|Temporary failure in name resolution)",
        what="the name of the head or of the hub cannot be resolved",
        remedy="Give the head by its address: --endpoint HEAD_IP=…",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="HEAD",
        hint="client socket",
        pattern=r"client socket has (?:timed out|failed to connect)|DistStoreError"
        r"|TCPStore.*(?:timed out|timeout)",
        what="a worker did not reach the head in time",
        remedy="Start the head first, with the same --nodes; check the address and the firewall.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="NCCL",
        hint="nccl",
        pattern=r"NCCL error.*|collective operation timeout"
        r"|ncclInternalError|ncclSystemError|ncclUnhandledCudaError"
        r"|unhandled system error",
        what="the ranks could not be connected, or one of them fell silent",
        remedy="Have it say why; often the interface or the RDMA devices are not the right ones.",
        next=Try(options=("--env", "NCCL_DEBUG=INFO")),
        consequence=True,
    ),
)
