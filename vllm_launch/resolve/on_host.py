"""A plan for one real machine: which of its GPUs, and how many. Pure."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.host import MAKE_WHOLE
from ..model.record import Record
from .footprint import shortfall
from .gpus import choose_gpus, indices, is_partitioned
from .masks import device_id, mask_for, visible
from .match import match_profile
from .shapes import legal_tp_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model.checkpoint import Checkpoint
    from ..model.choice import Request
    from ..model.deployment import Deployment
    from ..model.host import Gpu, HostFacts
    from ..model.taxonomy import HardwareProfile
    from .match import Match
    from .resolver import Resolver


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


def host_of(
    facts: HostFacts,
    profiles: Mapping[str, HardwareProfile],
    environ: Mapping[str, str],
    *,
    gpus: str | None = None,
    named: str = "",
    saved: bool = False,
) -> Host:
    """What of a machine's GPUs a server may use. ``gpus`` are those that ``named`` named.

    ``saved``: the facts are a file's, beside which no profile can be named.

    Raises NothingFits where there is none, UsageError for GPUs that are named and not there, and
    for masks that contradict each other.
    """
    seen = visible(facts.gpus, environ, gpus)
    if seen.problems:
        raise UsageError("; ".join(seen.problems), hint="see vllm-launch detect")
    if facts.gpus and not seen.gpus:
        raise NothingFits(
            f"every GPU of this host is hidden: {'; '.join(seen.notes) or 'by a mask'}",
            hint="unset it, or give --gpus 0,1,…",
        )
    match = match_profile(seen.gpus, profiles)
    return Host(
        facts=facts,
        environ=environ,
        gpus=match.gpus,
        profile=profile_of(match, seen.gpus, saved=saved),
        why="; ".join((match.reason, *match.notes, *seen.notes)),
        named=named,
    )


def profile_of(match: Match, gpus: Iterable[Gpu] = (), *, saved: bool = False) -> HardwareProfile:
    """The profile that a machine is. Raises NothingFits where it is none."""
    if match.profile is None:
        why = "; ".join((match.reason, *match.notes))
        raise NothingFits(f"no hardware profile matches: {why}", hint=_way_out(match, gpus, saved))
    return match.profile


def _way_out(match: Match, gpus: Iterable[Gpu], saved: bool) -> str:
    if match.named_by and not saved:
        return f"or name a profile with --hardware {match.named_by}; see vllm-launch detect"
    if any(is_partitioned(gpu) for gpu in gpus):
        return f"make partitioned GPUs whole again while nothing uses them: {MAKE_WHOLE}"
    return "see vllm-launch detect" + (" on that machine" if saved else "")


def request_for_host(host: Host, request: Request, checkpoint: Checkpoint | None) -> Request:
    """The request for as many of the host's GPUs as can share a model.

    Seven GPUs of eight are no size that heads divide by: the largest one that they do is used.
    """
    count = len(host.gpus)
    if count < 2 or host.named or request.tp is not None:
        return host.request(request, host.gpus)
    if checkpoint is not None and checkpoint.attention_heads:
        sizes = legal_tp_sizes(checkpoint, count, expert_parallel=False)
        most, rule = max(sizes, default=1), "the model's heads divide by"
    else:
        most, rule = 1 << (count.bit_length() - 1), "most models' heads divide by"
    if most == count:
        return host.request(request, host.gpus)
    gpus = choose_gpus(host.gpus, most)
    return host.request(request, gpus, f"{most} of {count} GPUs, a number that {rule}")


def deployment_on(host: Host, resolver: Resolver, request: Request) -> Deployment:
    """The deployment on the best of a host's GPUs, where it does not need all of them.

    Raises what choosing and resolving do, and NothingFits where the weights are beyond the GPUs.
    """
    deployment = resolver.resolve(resolver.choose(request))
    fewer = _request_for_fewer(host, request, deployment)
    if fewer is not None:
        deployment = resolver.resolve(resolver.choose(fewer))
    short = shortfall(deployment)
    if short is not None and deployment.choice.nodes == 1:
        raise NothingFits(short, hint=f"see vllm-launch fit {deployment.recipe.id}")
    return deployment


def _request_for_fewer(host: Host, request: Request, deployment: Deployment) -> Request | None:
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
