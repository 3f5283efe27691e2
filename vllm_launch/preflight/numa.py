"""NUMA binding: allowed, and possible on this machine."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import is_on, last, place
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

_FLAG = "--numa-bind"


def bindable(situation: Situation) -> Iterable[Finding] | None:
    """--numa-bind: several nodes, the numactl program, and leave to set a memory policy."""
    if not is_on(situation.process, _FLAG):
        return None
    return [*_nodes(situation), *_program(situation), *_policy(situation)]


def _nodes(situation: Situation) -> Iterable[Finding]:
    """Without --numa-bind-nodes, vLLM has to find the GPUs' nodes by itself."""
    system = situation.system
    if last(situation.process, "--numa-bind-nodes"):
        return
    if system.numa_nodes is None:
        yield from unread(situation, "numa_nodes", "NUMA nodes were not read", cause=_FLAG)
    elif len(system.numa_nodes) < 2:
        yield _finding(
            situation,
            "fail",
            f"{_FLAG} is given, and this machine has one NUMA node",
            why="vLLM finds no layout to bind to and stops.",
            remedy="Leave it out (behind --: --no-numa-bind), or name nodes: --numa-bind-nodes 0.",
        )
    elif system.cpus_restricted and situation.native:
        yield _finding(
            situation,
            "fail",
            f"{_FLAG} is given, and this process may run on some CPUs only",
            why="vLLM then does not look for the GPUs' NUMA nodes by itself, and stops.",
            remedy="Start without taskset or numactl, or name each GPU's node with "
            "--numa-bind-nodes.",
        )


def _program(situation: Situation) -> Iterable[Finding]:
    if situation.native and situation.system.numactl is False:
        yield _finding(
            situation,
            "fail",
            f"{_FLAG} is given, and numactl is not on PATH",
            why="vLLM starts its workers with it.",
            remedy="Install numactl.",
            command="sudo apt-get install -y numactl",
        )


def _policy(situation: Situation) -> Iterable[Finding]:
    """What this process may do says nothing of a container that is yet to be made."""
    if situation.native and situation.system.memory_policy is None:
        yield from unread(situation, "memory_policy", "no memory policy was tried", cause=_FLAG)
    elif situation.native and not situation.system.memory_policy:
        yield _finding(
            situation,
            "warn",
            f"{_FLAG} is given, and no memory policy may be set here",
            why="Binding is denied (CAP_SYS_NICE): workers start unbound, or not at all.",
            remedy="In a container of your own, pass --cap-add SYS_NICE.",
        )


def _finding(situation: Situation, severity: str, what: str, **rest: str) -> Finding:
    source = place(situation.process, _FLAG)
    return Finding(severity=severity, what=what, cause=_FLAG, source=source, **rest)


CHECKS = (
    Check(
        code="NUMA",
        subject="NUMA",
        about="--numa-bind: nodes, numactl, and leave to bind",
        run=bindable,
    ),
)
