"""Many choices in, many deployments out: one answer a line, whatever the line says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolve.build import M3, M31, own, recipe
from vllm_launch.batch import answers
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.commands.resolve import Resolvers
from vllm_launch.errors import RecipeError, UsageError
from vllm_launch.host import facts_file
from vllm_launch.model.host import Gpu, HostFacts
from vllm_launch.model.problem import Problem
from vllm_launch.render.records import error_record

KEYS = [
    "deploy_type", "hardware", "variant", "strategy", "nodes", "image", "processes", "router",
    "companions",
]  # fmt: skip
STORE_KEYS = ["instances", "master", "mooncake_config", "store_config"]


def line(recipe_id: Any = M31, **given_: Any) -> str:
    return json.dumps({"recipe": recipe_id, "input": given_})


def answer(text: str) -> dict[str, Any]:
    (found,) = answers([text], own)
    decoded: dict[str, Any] = json.loads(found)
    return decoded


def refusal(text: str) -> tuple[str, str]:
    """The code and message of an error answer."""
    found = answer(text)
    assert list(found) == ["error"]
    return found["error"]["code"], found["error"]["message"]


class TestAnswers:
    def test_there_is_one_for_each_line_in_order(self) -> None:
        lines = [
            line(hardware="b300"),
            "not JSON",
            line(hardware="mi355x"),
            line(M3, hardware="nowhere"),
            line(M3, hardware="h200"),
        ]
        found = [json.loads(each) for each in answers(lines, own)]
        assert [each.get("hardware", "error") for each in found] == [
            "b300", "error", "mi355x", "error", "h200",
        ]  # fmt: skip

    def test_blank_lines_have_none(self) -> None:
        found = list(answers(["", "  \n", line(hardware="b300") + "\n", "\t"], own))
        assert len(found) == 1

    def test_a_mark_of_the_encoding_is_no_part_of_a_line(self) -> None:
        text = line(hardware="b300")
        assert answer(f"\ufeff{text}") == answer(text)

    def test_an_error_that_is_told_again_keeps_nothing_of_the_time_before(self) -> None:
        resolvers = Resolvers(Shelf())
        depths = []
        for _ in range(3):
            with pytest.raises(UsageError) as caught:
                resolvers("org/nowhere")
            depths.append(len(caught.traceback))
        assert len(set(depths)) == 1

    def test_names_without_end_are_not_all_remembered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("vllm_launch.commands.resolve._MOST", 3)
        resolvers = Resolvers(Shelf())
        lines = [line(f"org/nowhere-{number}") for number in range(5)]
        lines.insert(2, line(hardware="b300"))
        found = [json.loads(each) for each in answers([*lines, lines[2]], resolvers)]
        assert ["error" in each for each in found] == [
            True, True, False, True, True, True, False,
        ]  # fmt: skip
        assert len(resolvers._known) <= 3

    def test_each_is_a_line_of_ascii(self) -> None:
        found = list(answers([line(hardware="b300"), line(hardware="é\n\ud800")], own))
        assert all(each.isascii() and "\n" not in each for each in found)

    def test_the_answer_to_a_line_does_not_depend_on_those_before(self) -> None:
        lines = [line(hardware=each) for each in ("b300", "mi355x", "h200", "b300")]
        together = list(answers(lines, own))
        assert together == [next(answers([each], own)) for each in lines]
        assert together[0] == together[3]


class TestKeys:
    def test_a_deployment_has_the_documented_ones(self) -> None:
        assert list(answer(line(hardware="b300"))) == KEYS

    def test_a_store_adds_its_own(self) -> None:
        for strategy in ("single_node_tp", "pd_cluster"):
            found = answer(
                line(
                    hardware="b300",
                    strategy=strategy,
                    kv_offload="kv_store_centralized_mooncake",
                )
            )
            assert list(found) == [*KEYS, *STORE_KEYS]
            assert isinstance(found["store_config"], dict)

    def test_notes_are_there_where_there_is_something_to_know(self) -> None:
        found = answer(line(hardware="h200"))
        assert list(found) == [*KEYS, "notes"]
        assert found["notes"] == ["the feature spec_decoding is off: it does not run on h200"]

    def test_a_process_has_the_documented_ones(self) -> None:
        (process,) = answer(line(hardware="b300"))["processes"]
        assert list(process) == ["role", "rank", "argv", "env", "docker_argv"]

    def test_a_companion_is_a_label_and_a_command(self) -> None:
        (companion,) = answer(line(hardware="b300", kv_offload="lmcache"))["companions"]
        assert list(companion) == ["label", "command"]

    def test_an_error_is_a_code_and_a_message_with_its_hint(self) -> None:
        assert answer(line(M3, hardware="h200", variant="nvfp4")) == {
            "error": {
                "code": "nothing_fits",
                "message": "variant nvfp4 is NVFP4, which needs Blackwell "
                "(on h200: --variant default or mxfp8)",
            }
        }

    def test_a_broken_recipes_faults_are_listed(self) -> None:
        problem = Problem(file="f", line=1, column=2, path="a", message="wrong")
        error = RecipeError("f cannot be used: 1 error", problems=[problem])
        assert error_record(error) == {
            "error": {
                "code": "bad_recipe",
                "message": "f cannot be used: 1 error",
                "problems": ["f:1:2: a: wrong"],
            }
        }

    def test_a_plan_without_a_known_image_has_no_container(self) -> None:
        resolver = recipe("meta: {hardware: {ascend_950pr: verified}}")
        (text,) = answers([line("org/model", hardware="ascend_950pr")], lambda _: resolver)
        found = json.loads(text)
        assert found["image"] is None
        assert found["processes"][0]["docker_argv"] is None


NOT_A_CASE = 'expected {"recipe": "org/repo", "input": {…}}'


class TestBrokenLines:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("[1, 2]", NOT_A_CASE, id="a list"),
            pytest.param("null", NOT_A_CASE, id="null"),
            pytest.param("{}", NOT_A_CASE, id="no recipe"),
            pytest.param('{"recipe": 5}', NOT_A_CASE, id="a number for a recipe"),
            pytest.param('{"recipe": null, "input": {}}', NOT_A_CASE, id="null for a recipe"),
            pytest.param(
                json.dumps({"recipe": M3, "input": []}), "input must be a mapping", id="a list"
            ),
            pytest.param(
                json.dumps({"recipe": M3, "input": False}), "input must be a mapping", id="false"
            ),
            pytest.param(
                json.dumps({"recipe": M3, "input": "h200"}), "input must be a mapping", id="text"
            ),
        ],
    )
    def test_what_is_no_case_says_what_is(self, text: str, message: str) -> None:
        assert refusal(text) == ("usage", message)

    @pytest.mark.parametrize(
        "text",
        ["{", "not JSON", '{"recipe": "a/b"} x', "[" * 100_000, f"[{'1' * 5000}]", "\x00", "'a'"],
        ids=["cut off", "words", "more behind it", "nested", "a long number", "NUL", "quotes"],
    )
    def test_what_is_no_json_says_so(self, text: str) -> None:
        code, message = refusal(text)
        assert code == "usage"
        assert message.startswith("not valid JSON: ")

    @pytest.mark.parametrize(
        "text", [f'{{"recipe": "{M31}"}}', f'{{"recipe": "{M31}", "input": null}}']
    )
    def test_no_input_leaves_everything_open(self, text: str) -> None:
        assert answer(text)["hardware"] == "b200"

    def test_an_unknown_recipe_is_an_answer_too(self) -> None:
        resolvers = Resolvers(Shelf())
        lines = [line("nobody/nothing"), line("nobody/nothing"), line(hardware="b300")]
        found = [json.loads(each) for each in answers(lines, resolvers)]
        assert found[0] == found[1]
        assert found[0]["error"]["code"] == "usage"
        assert "nobody/nothing" in found[0]["error"]["message"]
        assert found[2]["hardware"] == "b300"

    def test_unknown_keys_are_named(self) -> None:
        code, message = refusal(line(gpu="h200", hardware="h200", node=2))
        assert code == "usage"
        assert message.startswith("unknown input key: gpu, node (known: features, hardware, ")

    def test_unknown_keys_beside_the_input_too(self) -> None:
        text = json.dumps({"recipe": M31, "input": {}, "inputs": {}, "a": 1})
        assert refusal(text) == ("usage", "unknown key: a, inputs (known: recipe, input)")

    def test_text_that_no_encoding_can_write_is_told_of(self) -> None:
        code, message = refusal('{"recipe": "a/b", "input": {"\\ud800": 1}}'.replace("a/b", M3))
        assert code == "usage"
        assert message.startswith("unknown input key: \ud800")


class TestValues:
    @pytest.mark.parametrize(
        "key", ["hardware", "variant", "strategy", "kv_offload", "preset", "point"]
    )
    @pytest.mark.parametrize("value", [1, True, ["h200"], {}, ""], ids=repr)
    def test_names_must_be_text(self, key: str, value: Any) -> None:
        assert refusal(line(**{key: value})) == (
            "usage",
            f"input.{key} must be a name, found {value!r}",
        )

    @pytest.mark.parametrize("key", ["nodes", "instances"])
    @pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", 100_001, [1], {"n": 1}], ids=repr)
    def test_counts_must_be_whole_numbers(self, key: str, value: Any) -> None:
        assert refusal(line(**{key: value})) == (
            "usage",
            f"input.{key} must be a whole number from 1 to 100000, found {value!r}",
        )

    @pytest.mark.parametrize(
        "key",
        ["hardware", "variant", "strategy", "nodes", "features", "kv_offload", "instances",
         "preset", "point"],
    )  # fmt: skip
    def test_null_leaves_a_key_open(self, key: str) -> None:
        assert answer(line(**{"hardware": "b300", key: None})) == answer(
            line(**({} if key == "hardware" else {"hardware": "b300"}))
        )

    @pytest.mark.parametrize(
        ("features", "picked"),
        [
            pytest.param({}, [], id="none"),
            pytest.param({"reasoning": True}, ["--reasoning-parser"], id="true"),
            pytest.param({"reasoning": False}, [], id="false"),
            pytest.param({"reasoning": None}, [], id="null"),
            pytest.param(
                {"spec_decoding": "eagle3_gqa", "reasoning": True},
                ["--speculative-config", "--reasoning-parser"],
                id="a mode, in the order given",
            ),
        ],
    )
    def test_features_given_are_those_and_no_others(
        self, features: dict[str, Any], picked: list[str]
    ) -> None:
        (process,) = answer(line(M3, hardware="b200", features=features))["processes"]
        flags = ("--speculative-config", "--reasoning-parser", "--tool-call-parser")
        assert [word for word in process["argv"] if word in flags] == picked

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            (["reasoning"], "input.features must be a mapping from names to true or a mode"),
            ("reasoning", "input.features must be a mapping from names to true or a mode"),
            ({"reasoning": 1}, "input.features.reasoning must be true or a mode, found 1"),
            ({"reasoning": {}}, "input.features.reasoning must be true or a mode, found {}"),
        ],
        ids=["list", "text", "number", "mapping"],
    )
    def test_other_features_are_refused(self, features: Any, message: str) -> None:
        assert refusal(line(features=features)) == ("usage", message)

    def test_a_feature_that_is_left_off_must_exist(self) -> None:
        code, message = refusal(line(M3, features={"magic": False}))
        assert code == "usage"
        assert message.startswith(f"{M3} has no feature 'magic' (features: tool_calling, ")

    PD = 'input.pd must be null or {"prefill": {…}, "decode": {…}}'

    @pytest.mark.parametrize(
        ("pools", "message"),
        [
            pytest.param([], PD, id="list"),
            pytest.param("prefill", PD, id="text"),
            pytest.param({"prefil": {}}, PD, id="unknown role"),
            pytest.param(
                {"prefill": 1}, "input.pd.prefill takes nodes, rank and parallelism", id="number"
            ),
            pytest.param(
                {"decode": {"node": 1}},
                "input.pd.decode takes nodes, rank and parallelism",
                id="unknown key",
            ),
            pytest.param(
                {"decode": {"nodes": 2, "rank": -1}},
                "input.pd.decode.rank must be a whole number from 0, found -1",
                id="rank below 0",
            ),
            pytest.param(
                {"decode": {"nodes": 2, "rank": True}},
                "input.pd.decode.rank must be a whole number from 0, found True",
                id="rank that is no number",
            ),
            pytest.param(
                {"decode": {"nodes": 0}},
                "input.pd.decode.nodes must be a whole number from 1 to 100000, found 0",
                id="no nodes",
            ),
            pytest.param(
                {"prefill": {"parallelism": "pp"}},
                "input.pd.prefill.parallelism must be tp, tep or dep, found 'pp'",
                id="unknown mode",
            ),
            pytest.param(
                {"prefill": {"parallelism": ["tp"]}},
                "input.pd.prefill.parallelism must be tp, tep or dep, found ['tp']",
                id="a list of modes",
            ),
        ],
    )
    def test_pools_are_checked(self, pools: Any, message: str) -> None:
        text = line(hardware="b300", strategy="pd_cluster", pd=pools)
        assert refusal(text) == ("usage", message)

    def test_null_puts_both_pools_on_one_node(self) -> None:
        found = answer(line(hardware="b300", strategy="pd_cluster", pd=None))
        devices = [process["env"]["CUDA_VISIBLE_DEVICES"] for process in found["processes"]]
        assert devices == ["0,1,2,3", "4,5,6,7"]

    def test_a_rank_gives_that_nodes_process_alone(self) -> None:
        pools = {"prefill": {"nodes": 3, "rank": 2}, "decode": {"nodes": 2, "rank": 0}}
        found = answer(line(hardware="b300", strategy="pd_cluster", pd=pools))
        places = [(process["role"], process["rank"]) for process in found["processes"]]
        assert places == [("prefill", 2), ("decode", 0)]

    def test_a_rank_that_a_pool_has_not_is_refused(self) -> None:
        pools = {"prefill": {"nodes": 2, "rank": 2}, "decode": {"rank": 0}}
        assert refusal(line(hardware="b300", strategy="pd_cluster", pd=pools)) == (
            "usage",
            "the prefill pool has no rank 2: it has 2 nodes (ranks count from 0)",
        )

    def test_a_rank_may_be_of_the_nodes_that_the_recipe_gives(self) -> None:
        sized = recipe({"strategy_overrides": {"pd_cluster": {"decode": {"nodes": 2}}}})
        text = line(hardware="b300", strategy="pd_cluster", pd={"decode": {"rank": 1}})
        (found,) = answers([text], lambda _: sized)
        places = [(each["role"], each["rank"]) for each in json.loads(found)["processes"]]
        assert places == [("prefill", 0), ("decode", 1)]

    def test_pools_under_another_strategy_are_refused(self) -> None:
        code, message = refusal(line(hardware="b300", pd={"prefill": {"nodes": 2}}))
        assert code == "usage"
        assert message.startswith("prefill and decode pools are for pd_cluster, not for ")
        assert answer(line(hardware="b300", pd=None)) == answer(line(hardware="b300"))


class TestHostFacts:
    """A line may bring the facts of a machine that were saved there: it is planned for that one."""

    @staticmethod
    def gpus(*names: str, memory: int = 275 << 30) -> dict[str, Any]:
        capability = {"NVIDIA B300 SXM6 AC": "10.3", "NVIDIA H200": "9.0"}
        return facts_file.to_dict(
            HostFacts(
                gpus=tuple(
                    Gpu(
                        index=index,
                        vendor="NVIDIA",
                        name=name,
                        compute_capability=capability.get(name, "7.0"),
                        memory_bytes=memory,
                    )
                    for index, name in enumerate(names)
                )
            )
        )

    def test_its_gpus_are_planned_for(self) -> None:
        found = answer(line(host_facts=self.gpus(*["NVIDIA B300 SXM6 AC"] * 4)))
        assert found["hardware"] == "b300"
        assert found["nodes"] == 1
        (process,) = found["processes"]
        assert process["argv"][process["argv"].index("--tensor-parallel-size") + 1] == "4"
        assert "CUDA_VISIBLE_DEVICES" not in process["env"]

    @pytest.mark.parametrize(("count", "size"), [(1, 1), (3, 2), (6, 4), (7, 4), (8, 8)])
    def test_as_many_are_used_as_heads_divide_by(self, count: int, size: int) -> None:
        facts = self.gpus(*["NVIDIA B300 SXM6 AC"] * count)
        found = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 200}}")
        (text,) = answers([line(strategy="single_node_tep", host_facts=facts)], lambda _: found)
        (process,) = json.loads(text)["processes"]
        assert process["argv"][process["argv"].index("--tensor-parallel-size") + 1] == str(size)
        hidden = ",".join(map(str, range(size))) if size < count else None
        assert process["env"].get("CUDA_VISIBLE_DEVICES") == hidden

    def test_measured_memory_picks_the_variant(self) -> None:
        facts = self.gpus(*["NVIDIA H200"] * 4, memory=140 << 30)
        found = answer(line(M3, host_facts=facts))
        assert found["variant"] == "mxfp8"

    def test_gpus_that_are_no_part_of_it_are_hidden(self) -> None:
        facts = self.gpus("NVIDIA Foo", *["NVIDIA B300 SXM6 AC"] * 2)
        (process,) = answer(line(host_facts=facts))["processes"]
        assert process["env"]["CUDA_VISIBLE_DEVICES"] == "1,2"
        assert process["argv"][process["argv"].index("--tensor-parallel-size") + 1] == "2"
        assert "CUDA_VISIBLE_DEVICES=1,2" in process["docker_argv"]

    @pytest.mark.parametrize(
        ("facts", "code", "message"),
        [
            ({}, "usage", "input.host_facts has no "),
            ("facts.json", "usage", "input.host_facts has no "),
            (facts_file.to_dict(HostFacts()), "nothing_fits", "no hardware profile matches: "),
        ],
        ids=["no facts", "a file's name", "no GPU"],
    )
    def test_what_cannot_be_planned_for_is_told(self, facts: Any, code: str, message: str) -> None:
        found = refusal(line(host_facts=facts))
        assert found[0] == code
        assert found[1].startswith(message)

    def test_hardware_beside_them_contradicts_them(self) -> None:
        facts = self.gpus("NVIDIA H200")
        assert refusal(line(host_facts=facts, hardware="h200")) == (
            "usage",
            "input.hardware and input.host_facts each name a machine",
        )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    ),
    max_leaves=5,
)
keys = st.sampled_from(
    ["hardware", "variant", "strategy", "nodes", "features", "kv_offload", "instances", "pd",
     "preset", "point", "host_facts"]
)  # fmt: skip
plausible = st.sampled_from(
    ["h200", "b300", "mi355x", "default", "mxfp8", "single_node_tp", "multi_node_dep",
     "pd_cluster", "simple", "kv_store_distributed_mooncake", "h200_agentx", "c1", 1, 2,
     {"reasoning": True}, {"spec_decoding": "eagle3"}, {"prefill": {"nodes": 2}}]
)  # fmt: skip


@given(st.dictionaries(keys, json_values | plausible, max_size=4) | json_values)
def test_any_json_gets_an_answer(given_: Any) -> None:
    (text,) = answers([json.dumps({"recipe": M3, "input": given_})], own)
    found = json.loads(text)
    assert list(found) == ["error"] or list(found)[: len(KEYS)] == KEYS


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    found = list(answers([text], own))
    assert len(found) == (1 if text.strip() else 0)


@pytest.mark.parametrize("hardware", [None, "b300"])
def test_no_host_is_looked_at(hardware: str | None) -> None:
    """Not even where the hardware is left open: the rules choose it."""
    script = (
        "import sys\n"
        "from vllm_launch.__main__ import main\n"
        "status = main(['resolve', '--batch', '-'])\n"
        "host = [name for name in sys.modules if name.startswith('vllm_launch.host')]\n"
        "drivers = [name for name in ('pynvml', 'amdsmi', 'psutil') if name in sys.modules]\n"
        "sys.exit(repr((status, host, drivers)) if status or host or drivers else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=line(M31, **({"hardware": hardware} if hardware else {})) + "\n",
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert json.loads(done.stdout)["hardware"] == (hardware or "b200")
