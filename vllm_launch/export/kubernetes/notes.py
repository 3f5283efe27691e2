"""What has to be known to run a manifest, as lines of its header."""

from __future__ import annotations

from ...resolve.pools import NVLINK_DOMAIN_HARDWARE
from ..readiness import DOWNLOAD, download_seconds, ready_timeout, startup_seconds
from .addresses import entry_of
from .groups import groups as _groups
from .needs import needs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .. import Brief
    from .groups import Group
    from .settings import Settings

_WIDTH = 76


def notes(brief: Brief, settings: Settings, groups: Sequence[Group]) -> list[str]:
    """The lines, each remark wrapped and set apart from what comes before."""
    from textwrap import wrap

    lines = [""]
    for remark in _remarks(brief, settings, groups):
        lines += wrap(
            remark, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False,
            break_long_words=False,
        )  # fmt: skip
    for part in brief.parts:
        if not part.argv and part.text:
            lines += ["", f"{part.title}: to be run by hand, it is no plain command:"]
            lines += [f"    {line}" for line in part.text.splitlines()]
    return lines


def _remarks(brief: Brief, settings: Settings, groups: Sequence[Group]) -> Iterator[str]:
    yield from brief.deployment.notes
    yield from _kinds(settings, groups)
    yield from _secrets(brief, settings)
    yield from _images(brief, settings)
    yield from _start(brief, settings)
    yield from _cache(settings)
    yield from _hosts(brief)
    yield from _masks(brief)
    yield from _privileged(brief, settings)
    yield from _network(brief, settings, groups)
    yield from _domain(brief, settings, groups)
    yield from _companions(brief)


def _kinds(settings: Settings, groups: Sequence[Group]) -> Iterator[str]:
    if settings.disaggregated_set:
        yield "The cluster needs the LeaderWorkerSet controller 0.9 or newer (DisaggregatedSet)."
    elif any(group.size > 1 for group in groups):
        yield "The cluster needs the LeaderWorkerSet controller."
    entry = entry_of(groups)
    if entry.size > 1 and all(part.port is not None for part in entry.parts):
        yield (
            f"Every pod answers requests for the GPUs of its own node; the Service {settings.name} "
            "spreads connections over them all."
        )


def _secrets(brief: Brief, settings: Settings) -> Iterator[str]:
    if brief.passed_by_name:
        names = ", ".join(brief.passed_by_name)
        where = f" --namespace {settings.namespace}" if settings.namespace else ""
        yield (
            f"{names}: out of the Secret {settings.secret}, to be made before: kubectl create "
            f"secret generic {settings.secret} --from-env-file=FILE{where}"
        )


_PROGRAMS = {"router": "vllm-router", "master": "Mooncake", "store": "Mooncake"}


def _images(brief: Brief, settings: Settings) -> Iterator[str]:
    for role, program in _PROGRAMS.items():
        if role not in settings.images and any(p.role == role and p.argv for p in brief.parts):
            yield (
                f"The {role} runs from the server's image, in which {program} has to be "
                f"installed; --part-image {role}=REF names another."
            )


def _start(brief: Brief, settings: Settings) -> Iterator[str]:
    plans = [part.plan for part in brief.parts if part.plan is not None]
    if not plans:
        return
    if settings.startup_seconds is not None:
        yield f"A server may take {settings.startup_seconds // 60} minutes to start."
        return
    longest = max(plans, key=lambda plan: startup_seconds(brief.deployment, plan))
    download, ready = download_seconds(brief.deployment), ready_timeout(longest)
    minutes = startup_seconds(brief.deployment, longest) // 60
    yield (
        f"A server may take {minutes} minutes to start: {download // 60} for its weights at "
        f"{DOWNLOAD} MB/s, {ready // 60} that vLLM waits for its engine, and some to spare; "
        "60 at least. --startup-minutes sets another time."
    )
    if download > ready and not settings.claim and not settings.cache_path:
        yield (
            f"vLLM itself gives up on its engine after {ready} s, and weights may take longer "
            "into an empty cache: fill it before, or give -e "
            f"VLLM_ENGINE_READY_TIMEOUT_S={-(-(download + ready) // 600) * 600}."
        )


def _cache(settings: Settings) -> Iterator[str]:
    if not settings.claim and not settings.cache_path:
        yield (
            "The hub cache goes with the pod. --hub-cache-claim names a PersistentVolumeClaim "
            "that keeps it, --hub-cache-path a directory of the nodes."
        )


def _hosts(brief: Brief) -> Iterator[str]:
    plans = [part.plan for part in brief.parts if part.plan is not None]
    for host in dict.fromkeys(plan.value("--host") for plan in plans):
        if host in _LOOPBACK:
            yield f"A server with --host {host} answers nobody outside its pod, nor the probes."


_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _masks(brief: Brief) -> Iterator[str]:
    if brief.deployment.pools_shared and len(_groups(brief.parts)) > 1:
        yield (
            "Both pools are planned for one node. Each asks for its share of the GPUs, prefers "
            "the other's node, and counts its GPUs from 0: a pod has no others."
        )


def _privileged(brief: Brief, settings: Settings) -> Iterator[str]:
    whole = brief.deployment.choice.hardware.gpu_count
    if settings.privileged and any(0 < part.gpus < whole for part in brief.parts):
        yield (
            "A privileged container sees every GPU of its node, also those that other pods have, "
            "and counts them all: give it the whole node, or leave --privileged out."
        )


def _network(brief: Brief, settings: Settings, groups: Sequence[Group]) -> Iterator[str]:
    if settings.rdma or settings.privileged:
        return
    if any(needs_of(g.leader, brief.deployment, alone=g.size == 1).rdma for g in groups):
        yield (
            "Pods are given no RDMA devices: what goes between nodes goes over TCP, many times "
            "slower, or fails where only RDMA will do. --rdma-resource names the resource that "
            "they are; --host-network --privileged takes the node's own."
        )


def _domain(brief: Brief, settings: Settings, groups: Sequence[Group]) -> Iterator[str]:
    several = sum(group.size for group in groups if group.serves) > 1
    inside = brief.deployment.choice.hardware.id in NVLINK_DOMAIN_HARDWARE
    if several and inside and not settings.claim_template:
        yield (
            "NVLink between trays takes a ComputeDomain, whose ResourceClaimTemplate "
            "--resource-claim-template names; without one, traffic between them goes another way."
        )


def _companions(brief: Brief) -> Iterator[str]:
    for part in brief.parts:
        if part.role == "companion" and part.argv:
            yield (
                f"{part.label or part.name} runs beside each server, from its image, in which "
                f"{part.argv[0]} has to be installed. It sees all GPUs of the node, to reach "
                "those of the server: give the pod the whole node."
            )
