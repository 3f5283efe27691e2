"""Arguments that exclude or need each other."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .layout import KV_FLAG, layout
from .plan import arguments, is_on, last, number, place, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .plan import Given
    from .situation import Situation


def consistent(situation: Situation) -> Iterable[Finding] | None:
    """Pairs of arguments that exclude or need each other."""
    return [finding for rule in RULES for finding in rule(situation)]


def _clash(
    situation: Situation, flag: str, what: str, why: str, remedy: str, severity: str = "fail"
) -> Finding:
    source = place(situation.process, flag)
    return Finding(severity=severity, what=what, why=why, remedy=remedy, cause=flag, source=source)


def switches(situation: Situation) -> Iterator[Finding]:
    """--x beside --no-x: the last one counts."""
    given: dict[str, Given] = {}
    for one in arguments(situation.process):
        positive = f"--{one.flag[5:]}" if one.flag.startswith("--no-") else one.flag
        stem = positive.replace("--disable-", "--enable-", 1)
        before = given.get(stem)
        given[stem] = one
        if before is not None and before.flag != one.flag and not one.key and not before.key:
            yield _clash(
                situation,
                one.flag,
                f"{before.written} and {one.written} are both given",
                f"The last one counts, {one.written}.",
                "Keep one of them.",
                "warn",
            )


def _dotted(situation: Situation) -> Iterator[Finding]:
    """A JSON value beside keys given one by one: the keys replace it whole."""
    given = arguments(situation.process)
    whole = {one.flag for one in given if one.values and not one.key}
    for flag in dict.fromkeys(one.flag for one in given if one.key and one.flag in whole):
        keys = ", ".join(f"{flag}.{one.key}" for one in given if one.flag == flag and one.key)
        yield _clash(
            situation,
            flag,
            f"{flag} is given as JSON and by key ({keys})",
            "The keys make a value of their own, and the JSON is dropped whole.",
            "Write everything into the JSON, or everything by key.",
            "warn",
        )


def _tool_choice(situation: Situation) -> Iterator[Finding]:
    process, flag = situation.process, "--enable-auto-tool-choice"
    if is_on(process, flag) and not value(process, "--tool-call-parser"):
        yield _clash(
            situation,
            flag,
            f"{flag} needs --tool-call-parser, which is not given",
            "The server does not start.",
            "Name the model's parser, or leave the flag out.",
        )


def _logging(situation: Situation) -> Iterator[Finding]:
    process = situation.process
    if is_on(process, "--enable-log-outputs") and not is_on(process, "--enable-log-requests"):
        yield _clash(
            situation,
            "--enable-log-outputs",
            "--enable-log-outputs needs --enable-log-requests, which is off",
            "The server does not start.",
            "Give both, or neither.",
        )


def _balancing(situation: Situation) -> Iterator[Finding]:
    process = situation.process
    hybrid = is_on(process, "--data-parallel-hybrid-lb")
    if hybrid and is_on(process, "--data-parallel-external-lb"):
        yield _clash(
            situation,
            "--data-parallel-hybrid-lb",
            "--data-parallel-hybrid-lb and --data-parallel-external-lb exclude each other",
            "The server does not start.",
            "Keep the one that your load balancer is made for.",
        )
    if is_on(process, "--headless") and number(process, "--api-server-count", 0) > 0:
        yield _clash(
            situation,
            "--api-server-count",
            "--api-server-count is given to a --headless node, which has no API server",
            "The server does not start.",
            "Leave it out on all nodes but the first.",
        )


def _sizes(situation: Situation) -> Iterator[Finding]:
    process, at = situation.process, layout(situation.process)
    if at.nodes > 1 and (at.world * at.replicas) % at.nodes:
        yield _clash(
            situation,
            "--nnodes",
            f"{at.world * at.replicas} ranks cannot be spread evenly over {at.nodes} nodes",
            "The server does not start.",
            "Change --nnodes, or the parallel sizes.",
        )
    if at.nodes > 1 and not 0 <= at.rank < at.nodes:
        yield _clash(
            situation,
            "--node-rank",
            f"--node-rank {at.rank} is outside 0 to {at.nodes - 1}",
            "The server does not start.",
            "Number the nodes from 0.",
        )
    if at.local_replicas > at.replicas and last(process, "--data-parallel-size-local"):
        yield _clash(
            situation,
            "--data-parallel-size-local",
            f"{at.local_replicas} data parallel ranks on this node, {at.replicas} in all",
            "The server does not start.",
            "Lower --data-parallel-size-local, or raise --data-parallel-size.",
        )


def _tokens(situation: Situation) -> Iterator[Finding]:
    process, flag = situation.process, "--max-num-batched-tokens"
    batched = number(process, flag, 0)
    sequences = number(process, "--max-num-seqs", 0)
    if batched and sequences and batched < sequences:
        yield _clash(
            situation,
            flag,
            f"{flag} {batched} is less than --max-num-seqs {sequences}",
            "Each sequence takes a token of a step: the server does not start.",
            "Raise the first, or lower the second.",
        )
    length = number(process, "--max-model-len", 0)
    whole = {"--no-enable-chunked-prefill", "--disable-chunked-prefill"}
    if batched and length > batched and any(a.flag in whole for a in arguments(process)):
        yield _clash(
            situation,
            flag,
            f"{flag} {batched} is less than --max-model-len {length}, without chunked prefill",
            "A prompt must fit one step: the server does not start.",
            "Raise it, or leave chunked prefill on.",
        )


def _binding(situation: Situation) -> Iterator[Finding]:
    process = situation.process
    for flag in ("--numa-bind-nodes", "--numa-bind-cpus"):
        if last(process, flag) and not is_on(process, "--numa-bind"):
            yield _clash(
                situation,
                flag,
                f"{flag} needs --numa-bind, which is off",
                "The server does not start.",
                "Give --numa-bind too.",
            )
    if last(process, "--kv-offloading-size") and last(process, KV_FLAG):
        yield _clash(
            situation,
            "--kv-offloading-size",
            f"--kv-offloading-size and {KV_FLAG} are both given",
            "The first replaces the connector that the second names.",
            "Keep one of them.",
            "warn",
        )


RULES = (switches, _dotted, _tool_choice, _logging, _balancing, _sizes, _tokens, _binding)
CHECKS = (
    Check(
        code="ARG_CONFLICT",
        subject="arguments",
        about="arguments that exclude or need each other",
        run=consistent,
    ),
)
