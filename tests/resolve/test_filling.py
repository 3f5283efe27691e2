"""Placeholders such as $HEAD_IP: which there are, and plans with them filled in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolve.build import arguments, deploy, recipe, variables
from vllm_launch.model.choice import Pool, Pools
from vllm_launch.resolve.endpoints import expand_home, fill, fill_text, placeholders

names = st.from_regex(r"[A-Z][A-Z0-9_]{0,5}", fullmatch=True)
values = st.text(st.characters(codec="utf-8"), max_size=8)


class TestText:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("$HEAD", "h"),
            ("${HEAD}", "h"),
            ("http://$HEAD:80/${HEAD}x", "http://h:80/hx"),
            ("$HEAD_IP", "$HEAD_IP"),
            ("$HEADS", "$HEADS"),
            ("$HEAD1", "$HEAD1"),
            ("${HEAD_IP}", "${HEAD_IP}"),
            ("$HEADx", "hx"),
            ("$head ${head} $ $1 $$ ${} ${HEAD", "$head ${head} $ $1 $$ ${} ${HEAD"),
            ("HEAD", "HEAD"),
            ("", ""),
        ],
    )
    def test_a_whole_name_is_filled(self, text: str, expected: str) -> None:
        assert fill_text(text, {"HEAD": "h"}) == expected

    @given(names, names, values)
    def test_a_longer_name_is_never_taken_for_a_shorter(
        self, name: str, more: str, value: str
    ) -> None:
        longer = name + more
        assert fill_text(f"${longer}", {name: value}) == f"${longer}"
        assert fill_text(f"${{{longer}}}", {name: value}) == f"${{{longer}}}"

    @given(names, values)
    def test_what_is_filled_in_is_not_filled_again(self, name: str, value: str) -> None:
        filled = f"${name}{value}"
        assert fill_text(f"${{{name}}}", {name: filled}) == filled

    @given(st.text(), st.dictionaries(names, values, max_size=3))
    def test_text_without_placeholders_stays(self, text: str, given_: dict[str, str]) -> None:
        plain = text.replace("$", "")
        assert fill_text(plain, given_) == plain

    @given(st.text())
    def test_nothing_known_changes_nothing(self, text: str) -> None:
        assert fill_text(text, {}) == text


class TestPlan:
    POOLS = Pools(prefill=Pool(nodes=2, parallelism="dep"), decode=Pool(nodes=1))

    def test_placeholders_are_named_once_in_order(self) -> None:
        plan = deploy(recipe(), strategy="pd_cluster", pools=self.POOLS).processes[1]
        assert placeholders(plan) == (
            "PREFILL_NODE_1",
            "PREFILL_DP_RPC_PORT",
            "PREFILL_NODE_2",
            "IFACE_NAME",
        )

    def test_a_plan_without_any_has_none(self) -> None:
        assert placeholders(deploy(recipe()).processes[0]) == ()

    def test_arguments_variables_and_router_are_filled(self) -> None:
        deployment = deploy(recipe(), strategy="pd_cluster", pools=self.POOLS)
        filled = fill(deployment, {"PREFILL_NODE_1": "10.0.0.1", "IFACE_NAME": "eth0"})
        first, second, decode = filled.processes
        assert first.value("--data-parallel-address") == "10.0.0.1"
        assert second.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$PREFILL_NODE_2"
        assert second.env["GLOO_SOCKET_IFNAME"] == "eth0"
        assert decode is deployment.processes[2]
        assert "--prefill http://10.0.0.1:8001" in (filled.router or "")
        assert "--prefill http://$PREFILL_NODE_2:8001" in (filled.router or "")

    def test_nothing_to_fill_changes_nothing(self) -> None:
        deployment = deploy(recipe(), strategy="pd_cluster")
        assert fill(deployment, {}) is deployment
        assert fill(deployment, {"OTHER": "x"}) == deployment


class TestHome:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [("~", "/h"), ("~/x", "/h/x"), ("~user/x", "~user/x"), ("a~/x", "a~/x"), ("x", "x")],
    )
    def test_a_leading_tilde_is_the_home(self, text: str, expected: str) -> None:
        deployment = deploy(recipe(), args=arguments("--dir", text), env=variables(DIR=text))
        (plan,) = expand_home(deployment, "/h").processes
        assert plan.value("--dir") == expected
        assert plan.env["DIR"] == expected

    def test_a_plan_without_any_is_the_very_same(self) -> None:
        deployment = deploy(recipe())
        assert expand_home(deployment, "/h") is deployment
