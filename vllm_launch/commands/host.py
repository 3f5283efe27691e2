"""Plan for a real host: this one, or one whose facts were saved."""

from __future__ import annotations

import os

from ..errors import NothingFits, UsageError
from ..model.record import Record
from ..resolve.gpus import choose_gpus, indices
from ..resolve.masks import device_id, mask_for, visible
from ..resolve.match import match_cpu, match_profile
from ..resolve.shapes import legal_tp_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.checkpoint import Checkpoint
    from ..model.choice import Request
    from ..model.deployment import Deployment
    from ..model.host import Gpu, HostFacts
    from ..model.taxonomy import HardwareProfile, Taxonomy
    from ..resolve.match import Match
    from ..settings import Settings


class Host(Record):
    """A host to plan for: what it has, and which of its GPUs a server may use."""

    facts: HostFacts
    environ: Mapping[str, str]  # whose masks count: empty for a saved host
    gpus: tuple[Gpu, ...] = ()  # uniform and visible
    profile: HardwareProfile
    why: str  # the profile
    named: str = ""  # what named the GPUs: an option, a variable; "" where nothing did

    def request(self, request: Request, gpus: tuple[Gpu, ...], reason: str = "") -> Request:
        """The request for some of these GPUs, for a reason where they are not all."""
        count = len(gpus) or self.profile.gpu_count
        share = self.profile.vram_gb / self.profile.gpu_count
        own = [gpu for gpu in self.facts.gpus if gpus and gpu.vendor == gpus[0].vendor]
        limited = bool(self.named) or list(gpus) != own
        return request.replace(
            profile=self.profile.replace(gpu_count=count, vram_gb=round(share * count, 1)),
            devices=tuple(map(device_id, gpus)) if gpus and limited else None,
            mask=mask_for(gpus, self.facts.gpus, self.environ) if gpus and limited else (),
            mask_because=self.named or reason or "the GPUs that are planned for",
            because="; ".join(part for part in (self.why, reason) if part),
        )


def find_host(settings: Settings, taxonomy: Taxonomy) -> Host:
    """The host that is planned for.

    Raises NothingFits where it has no GPU that can be used, UsageError for GPUs that are named
    and not there, and for masks that contradict each other.
    """
    facts = read_facts(settings)
    profiles = taxonomy.hardware_profiles
    environ = {} if settings["host_facts"] else os.environ
    if settings["hardware"] == "cpu":
        match = match_cpu(facts, profiles)
        return Host(facts=facts, environ=environ, profile=_profile(match), why=match.reason)
    if not facts.gpus:
        raise _no_gpu(facts, settings)
    seen = visible(facts.gpus, environ, settings["gpus"])
    if seen.problems:
        raise UsageError("; ".join(seen.problems), hint="see vllm-launch detect")
    if not seen.gpus:
        raise NothingFits(
            f"every GPU of this host is hidden: {'; '.join(seen.notes) or 'by a mask'}",
            hint="unset it, or give --gpus 0,1,…",
        )
    match = match_profile(seen.gpus, profiles)
    return Host(
        facts=facts,
        environ=environ,
        gpus=match.gpus,
        profile=_profile(match),
        why="; ".join((match.reason, *match.notes, *seen.notes)),
        named=settings.source("gpus"),
    )


def _profile(match: Match) -> HardwareProfile:
    if match.profile is None:
        raise NothingFits(
            f"no hardware profile matches: {match.reason}",
            hint="name one that is near with --hardware ID; see vllm-launch detect",
        )
    return match.profile


def request_for_host(host: Host, request: Request, checkpoint: Checkpoint | None) -> Request:
    """The request for as many of the host's GPUs as can share a model.

    Seven GPUs of eight are no size that heads divide by: the largest one that they do is used.
    """
    count = len(host.gpus)
    if count < 2 or host.named or request.tp is not None:
        return host.request(request, host.gpus)
    if checkpoint is not None:
        sizes = legal_tp_sizes(checkpoint, count, expert_parallel=False)
        most, rule = max(sizes, default=1), "the model's heads divide by"
    else:
        most, rule = 1 << (count.bit_length() - 1), "most models' heads divide by"
    if most == count:
        return host.request(request, host.gpus)
    gpus = choose_gpus(host.gpus, most)
    return host.request(request, gpus, f"{most} of {count} GPUs, a number that {rule}")


def request_for_fewer(host: Host, request: Request, deployment: Deployment) -> Request | None:
    """The request for the best of the GPUs, where the plan needs fewer than there are.

    None where it may have the first ones, which is what a server takes on its own.
    """
    if deployment.choice.strategy != "single_node_tp" or host.named or not host.gpus:
        return None
    count = deployment.processes[0].number("--tensor-parallel-size") or 1
    first = host.gpus[:count]
    if count >= deployment.choice.hardware.gpu_count or choose_gpus(host.gpus, count) == first:
        return None
    gpus = choose_gpus(host.gpus, count)
    reason = f"{indices(gpus)}: idle, or closer together than the first {count}"
    return host.request(request, gpus, reason)


def facts_paths(settings: Settings) -> tuple[str, ...]:
    """The files of saved facts that are named: one a node, the plan is for the first."""
    named = settings["host_facts"] or ()
    return (named,) if isinstance(named, str) else tuple(named)


def read_facts(settings: Settings) -> HostFacts:
    """The saved facts that are named, or this machine's."""
    path = facts_paths(settings)[:1]
    if path:
        from ..host.facts_file import load

        return load(path[0])
    from ..host.facts import read_host

    return read_host()


def _no_gpu(facts: HostFacts, settings: Settings) -> NothingFits:
    """No GPU: what was looked for, and how to plan for another machine."""
    looked = "; ".join(f"{what}: {outcome}" for what, outcome in facts.looked_for)
    where = "".join(facts_paths(settings)[:1]) or "this host"
    return NothingFits(
        f"no GPU found on {where}" + (f" ({looked})" if looked else ""),
        hint="to plan for another machine, give --hardware ID (as in --hardware b300 "
        "--dry-run) or --host-facts FILE",
    )
