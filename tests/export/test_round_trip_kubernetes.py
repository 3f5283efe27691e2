"""What the pods of an export would run is what the plan says, word for word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.export.briefs import LAYOUTS, brief, recorded, resolved
from tests.export.cluster import Cluster, Pod, executed, expand, values_in
from tests.resolve.build import M3
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.kubernetes import files
from vllm_launch.model.part import SERVERS, Part
from vllm_launch.model.source import Source
from vllm_launch.resolve.placeholders import meaning

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# Those that the pod's engine has to know, and no process asks for.
ENGINES = {"POD_IP", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}


def place(part: Part) -> tuple[str, int]:
    """The component and rank that a part's pod is known by."""
    words = part.name.split("-")
    if part.role in ("prefill", "decode"):
        return part.role, part.rank
    if part.role == "worker" and len(words) == 3:
        return f"instance-{words[1]}", part.rank
    if part.role == "worker":
        return ("instance" if part.after[-1].startswith("instance") else "server"), part.rank
    if part.role == "instance":
        return ("instance" if words[1] == "0" else part.name), 0
    return ("server" if part.role in SERVERS else part.name), 0


def run(plan: Brief) -> Cluster:
    (file,) = files(plan)
    return Cluster(file.text)


def assert_same_text(
    planned: str, actual: str, pod: Pod, plan: Brief, cluster: Cluster, own: bool
) -> None:
    """``own``: the operator's, in which nothing is a placeholder."""
    if own:
        assert planned == actual
        return
    found = values_in(planned, actual)
    assert found is not None, (planned, actual)
    for name, value in found:
        stands = meaning(name, plan.deployment, plan.parts)
        if stands.kind == "node":
            (target,) = (part for part in plan.parts if part.name == stands.part)
            there = cluster.at(value)
            assert (there.component, there.rank) == place(target)
            assert (value == pod.ip) == (there is pod)
        elif stands.kind == "file":
            directory, _, base = value.rpartition("/")
            mounts = pod.spec["containers"][0]["volumeMounts"]
            assert directory in [mount["mountPath"] for mount in mounts]
            assert any(base in one["data"] for one in cluster.of("ConfigMap"))
        elif stands.kind == "interface":
            assert value == "eth0"
        else:
            assert value == stands.default


def operator_words(part: Part) -> list[bool]:
    if part.plan is None:
        return [False] * len(part.argv)
    owned = [False] * (len(part.plan.program) + 1)
    for _, tokens, source in part.plan.arguments:
        owned += [source.layer == "operator"] * len(tokens)
    return owned


def operator_values(part: Part) -> list[bool]:
    if part.plan is None:
        return [False] * len(part.env)
    return [source.layer == "operator" for _, _, source in part.plan.variables]


def counted_anew(name: str, value: str) -> str:
    if name not in MASKS:
        return value
    return ",".join(str(index) for index in range(len(value.split(","))))


def assert_runs_as_planned(plan: Brief) -> None:
    cluster = run(plan)
    expected = [part for part in plan.parts if part.role != "companion" and part.argv]
    assert sorted(map(place, expected)) == sorted((p.component, p.rank) for p in cluster.pods)
    for part in expected:
        pod = cluster.pod(*place(part))
        argv, env = executed(pod.main), pod.main.env
        assert len(argv) == len(part.argv)
        for planned, actual, own in zip(part.argv, argv, operator_words(part), strict=True):
            assert_same_text(planned, actual, pod, plan, cluster, own)
        assert [name for name in env if name not in ENGINES] == [name for name, _ in part.env]
        for (name, planned), own in zip(part.env, operator_values(part), strict=True):
            value = planned if own else counted_anew(name, planned)
            assert_same_text(value, env[name], pod, plan, cluster, own)
    companions = [list(part.argv) for part in plan.parts if part.role == "companion"]
    for pod in cluster.pods:
        serves = pod.spec["containers"][0]["name"] == "vllm"
        assert [one.argv for one in pod.sidecars] == (companions if serves else [])


@pytest.mark.parametrize("given_", LAYOUTS.values(), ids=LAYOUTS)
def test_every_rank_runs_as_planned(given_):
    assert_runs_as_planned(brief(resolved(**given_)))


@pytest.mark.parametrize(
    "given_", [v for v in LAYOUTS.values() if v.get("strategy") == "pd_cluster"]
)
def test_every_rank_runs_as_planned_in_a_disaggregated_set(given_):
    assert_runs_as_planned(brief(resolved(**given_), disaggregated_set=True))


@pytest.mark.skipif(not recorded(), reason="no recorded commands beside the checkout")
def test_every_recorded_deployment_runs_as_planned():
    assert len(recorded()) == 561
    for recipe, given_ in recorded():
        assert_runs_as_planned(brief(resolved(recipe, **given_)))


# Anything but NUL and what is no UTF-8; much of what YAML, Kubernetes and shells make much of.
PIECES = ("$(POD_IP)", "$$(POD_IP)", "$(LWS_WORKER_INDEX)", "$HEAD_IP", "${PREFILL_NODE_1}", "$$")
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(list("$(){}'\"\\`%#:!&*|>-?@,[]~= \t\r\n\x85\u2028\ufeff\x01é☃😀0ey")),
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
    ),
    max_size=20,
).map("".join)
OPERATOR = Source(layer="operator", detail="behind --")


def with_words(given_: dict[str, object], words: list[str], value: str) -> Brief:
    """A brief whose servers have an operator's words and a variable more."""
    deployment = resolved(**given_)
    more = tuple(("--own", ("--own", word), OPERATOR) for word in words)
    processes = tuple(
        plan.replace(
            arguments=(*plan.arguments, *more),
            variables=(*plan.variables, ("OWN", value, OPERATOR)),
        )
        for plan in deployment.processes
    )
    return brief(deployment.replace(processes=processes))


@pytest.mark.parametrize("word", [*PIECES, "1e3", "0x10", "y", "no", "null", "~", "", " ", "a: b"])
def test_a_word_that_others_would_make_something_of_arrives_as_it_is(word):
    assert_runs_as_planned(with_words(LAYOUTS["pools on one node"], [word], word))


@settings(max_examples=60)
@given(words=st.lists(HOSTILE, min_size=1, max_size=3), value=HOSTILE)
def test_an_operators_words_arrive_as_they_are(words, value):
    assert_runs_as_planned(with_words(LAYOUTS["pools on one node"], words, value))


@settings(max_examples=25)
@given(words=st.lists(HOSTILE, min_size=1, max_size=3), value=HOSTILE)
def test_they_do_behind_the_shell_that_counts_a_workers_ranks(words, value):
    assert_runs_as_planned(with_words(LAYOUTS["data-parallel on four nodes"], words, value))


@pytest.mark.parametrize("bad", ["a\0b", "a\udc80b"], ids=["NUL", "no UTF-8"])
def test_what_no_process_can_be_handed_is_refused(bad):
    with pytest.raises(UsageError) as error:
        files(with_words(LAYOUTS["one node"], [bad], ""))
    assert error.value.message == (f"{bad!a}: {bad[1]!a} is no character that the file could hold")
    assert error.value.hint == "write words and values in UTF-8"


@settings(max_examples=60)
@given(header=HOSTILE)
def test_nothing_in_the_header_gets_out_of_it(header):
    plan = brief(resolved(M3, hardware="h200"))
    (plain,) = files(plan)
    (file,) = files(plan.replace(header=(*plan.header, header)))
    assert Cluster(file.text).objects == Cluster(plain.text).objects


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(B)"),
        ("$A $", "$A $"),
        ("$(A", "$(A"),
        ("$$$$", "$$"),
    ],
)
def test_the_clusters_own_expansion_is_that_of_kubernetes(text, expected):
    assert expand(text, {"A": "1"}) == expected
