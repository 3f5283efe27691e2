"""Plan for a real host: this one, or one whose facts were saved."""

from __future__ import annotations

import os

from ..errors import NothingFits
from ..resolve.match import match_cpu
from ..resolve.on_host import Host, host_of, profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.host import HostFacts
    from ..model.taxonomy import Taxonomy
    from ..settings import Settings


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
        profile = profile_of(match, saved=bool(settings["host_facts"]))
        return Host(facts=facts, environ=environ, profile=profile, why=match.reason)
    if not facts.gpus:
        raise _no_gpu(facts, settings)
    return host_of(
        facts, profiles, environ, gpus=settings["gpus"], named=settings.source("gpus"),
        saved=bool(settings["host_facts"]),
    )  # fmt: skip


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
    """No GPU: what was looked for, and how to plan for CPUs or another machine."""
    looked = "; ".join(f"{what}: {outcome}" for what, outcome in facts.looked_for)
    path = "".join(facts_paths(settings)[:1])
    found = f"no GPU found on {path or 'this host'}" + (f" ({looked})" if looked else "")
    whose = "its" if path else "this machine's"
    hint = f"--hardware cpu plans for {whose} CPUs"
    if not path:
        hint += (
            "; to plan for another machine, give --hardware ID (as in --hardware b300 --dry-run) "
            "or --host-facts FILE"
        )
    return NothingFits(found, hint=hint)
