"""What vLLM reads out of its own configuration file is what the plan says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cli.launcher import FLASH, M3, Operator
from tests.export.cases import (
    LAYOUTS,
    ODD,
    SETUP,
    brief,
    expected,
    layout,
    needs_recorded,
    recorded,
    spelt,
    texts,
)
from tests.export.vllm_reader import of_mapping, pulled
from tests.resolve.build import told
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief, ExportFile
from vllm_launch.export.vllm_config import files, split
from vllm_launch.model.deployment import ProcessPlan

EXPORT = ("export", M3, "--hardware", "h200", "--to", "vllm-config")


def exported(plan: Brief) -> dict[str, ExportFile]:
    return {file.name: file for file in files(plan.replace(setup=None))}


def spaced(argv: list[str]) -> list[str]:
    """Words in which ``--option=value`` is two, which to vLLM is the same."""
    found: list[str] = []
    for word in argv:
        match = re.fullmatch(r"(--[^=]+)=([^-].*|)", word, re.DOTALL)
        found += match.groups() if match else [word]
    return found


def read(plan: ProcessPlan) -> list[str]:
    """A server's words after ``vllm``, read back."""
    data, rest = split(plan)
    (file,) = (f for f in files(brief_of(plan)) if f.name.endswith(".yaml"))
    assert yaml.safe_load(file.text) == data
    return ["serve", plan.model, *of_mapping(yaml.safe_load(file.text), frozenset()), *rest]


def brief_of(plan: ProcessPlan) -> Brief:
    alone = brief(layout("one server"), setup=None)
    (part,) = alone.parts
    return alone.replace(parts=(part.replace(plan=plan, argv=tuple(plan.argv), env=()),))


@needs_recorded
def test_every_recorded_command_comes_back() -> None:
    count = 0
    for case, found in recorded():
        plan = brief(found, setup=None)
        written = exported(plan)
        several = len(plan.parts) > 1
        for part in plan.parts:
            if part.plan is None:
                continue
            name = f"model-{part.name}" if several else "model"
            config = yaml.safe_load(written[f"{name}.yaml"].text)
            argv, env = expected(part, plan, ".")
            assert ["vllm", "serve", argv[2], *of_mapping(config, frozenset())] == argv, case
            lines = written[f"{name}.env"].text.splitlines() if env else []
            assert [line for line in lines if line and line[0] != "#"] == [
                f"{key}={shown(value)}" for key, value in env.items()
            ], case
        count += 1
    assert count >= 550


def shown(value: str) -> str:
    """A value as a shell reads it; those of recipes hold no quotes."""
    assert "'" not in value
    return value if re.fullmatch(r"[\w@%+=:,./-]+", value) else f"'{value}'"


class TestAsAShellRunsIt:
    """With a program in vLLM's place that records what it is started with."""

    @staticmethod
    def run(plan: Brief, operator: Operator) -> dict[str, tuple[list[str], dict[str, str]]]:
        """Every process's words, as vLLM would go on with them, and variables."""
        for program in ("vllm", "vllm-router", "lmcache", "mooncake_master", "python3"):
            operator.install(program)
        found = {}
        written = exported(plan)
        for file in written.values():
            path = operator.cwd / file.name
            path.write_text(file.text, encoding="utf-8")
        for name in written:
            if name.endswith(".sh"):
                ran = operator.execute(["/bin/sh", operator.cwd / name])
                assert ran.status == 0, ran.err
                argv = [word.encode("latin-1").decode() for word in ran.argv]
                if argv[:1] == ["serve"]:
                    with pytest.MonkeyPatch.context() as patch:
                        patch.chdir(operator.cwd)
                        argv = pulled(argv)
                values = {
                    key: value.encode("latin-1").decode()
                    for key, value in ran.record["env"].items()
                }
                found[name.removesuffix(".sh")] = argv, values
        return found

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_every_process_is_the_plans(self, name: str, operator: Operator) -> None:
        plan = brief(layout(name))
        found = self.run(plan, operator)
        several = len(plan.parts) > 1
        startable = [part for part in plan.parts if part.argv]
        assert len(found) == len(startable)
        for part in startable:
            words, env = found[f"model-{part.name}" if several else "model"]
            argv, variables = expected(part, plan, ".")
            assert words == argv[1:]
            assert {key: env.get(key) for key in variables} == variables

    def test_odd_words_and_values(self, operator: Operator) -> None:
        plan = spelt(["--served-model-name=a", *ODD], "".join(ODD))
        ((words, env),) = self.run(plan, operator).values()
        (part,) = plan.parts
        assert spaced(words) == spaced(list(part.argv[1:]))
        assert env["OWN"] == "".join(ODD)

    def test_a_recipes_path_does_not_choose_the_program(self, operator: Operator) -> None:
        evil = operator.cwd / "evil"
        evil.mkdir()
        (evil / "vllm").write_text("#!/bin/sh\nexit 66\n")
        (evil / "vllm").chmod(0o755)
        deployment = layout("one server")
        (process,) = deployment.processes
        theirs = process.arguments[0][2]
        process = process.replace(variables=(("PATH", str(evil), theirs),))
        plan = brief(deployment.replace(processes=(process,)))
        ((_, env),) = self.run(plan, operator).values()
        assert env["PATH"] == str(evil)


words = st.one_of(
    texts,
    st.tuples(texts, texts).map(lambda pair: f"--{pair[0]}={pair[1]}"),
    texts.map(lambda text: f"--{text}"),
    st.from_regex(r"-?[0-9]{0,4}\.?[0-9]{0,4}", fullmatch=True),
)


@given(argv=st.lists(words, max_size=6))
@example(argv=["--a", "1e5", "--b", "0.10", "--c", "0.5", "1", "--d", "007", "--e", "٣", "--f=-1"])
@example(argv=["--x", "--x=1", "--no-y", "--z=", "--config", "a", "--g", "1"])
def test_any_words_of_the_operator_come_back(argv: list[str]) -> None:
    (part,) = spelt(argv, "").parts
    assert part.plan is not None
    assert spaced(read(part.plan)) == spaced(part.plan.argv[1:])


def entries(*argv: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What becomes of words of the operator."""
    (part,) = spelt(list(argv), "").parts
    assert part.plan is not None
    own = tuple(each for each in part.plan.arguments if each[2].layer == "operator")
    return split(part.plan.replace(arguments=own))


class TestWhatTheFileHolds:
    def test_numbers_and_switches_read_as_people_write_them(self) -> None:
        plan = layout("one server").processes[0]
        data, rest = split(plan)
        assert data["block-size"] == 128
        assert data["enable-auto-tool-choice"] is True
        assert data["tool-call-parser"] == "minimax_m3"
        assert rest == ()

    def test_json_stays_as_it_is_written(self) -> None:
        plan = layout("pools of the 3.1 on GB300").processes[0]
        text = '{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}'
        assert split(plan)[0]["attention-config"] == text

    @pytest.mark.parametrize(
        "first",
        ["-tp", "--config", "--model", "--", "--x=-1", "word"],
    )
    def test_what_it_cannot_hold_stays_in_the_command_with_all_behind_it(self, first: str) -> None:
        assert entries("--before", first, "--after") == ({"before": True}, (first, "--after"))


class TestFiles:
    def test_of_a_server_alone(self) -> None:
        found = exported(brief(layout("AMD")))
        assert {name: file.mode for name, file in found.items()} == {
            "model.yaml": 0o644,
            "model.env": 0o644,
            "model.sh": 0o755,
        }
        assert "exec vllm serve MiniMaxAI/MiniMax-M3 \\\n  --config ./model.yaml\n" in (
            found["model.sh"].text
        )

    def test_secrets_are_named_in_a_file_that_nobody_else_reads(self) -> None:
        found = exported(brief(layout("one server"), passed_by_name=("HF_TOKEN",)))
        assert found["model.env"].mode == 0o600
        assert found["model.env"].text.endswith(
            "# Taken from the environment, or from here:\n#HF_TOKEN=\n"
        )

    def test_a_yaml_for_each_server(self) -> None:
        found = exported(brief(layout("pools on one node", endpoints=False)))
        assert list(found) == [
            "model-prefill-0.yaml", "model-prefill-0.env", "model-prefill-0.sh",
            "model-decode-0.yaml", "model-decode-0.env", "model-decode-0.sh",
            "model-router.sh",
        ]  # fmt: skip

    def test_each_begins_with_where_it_is_from(self) -> None:
        for file in exported(brief(layout("pools on one node"))).values():
            lines = file.text.removeprefix("#!/bin/sh\n").splitlines()
            assert lines[0] == "# MiniMaxAI/MiniMax-M3"


class TestRefusals:
    def test_containers(self) -> None:
        with pytest.raises(UsageError) as caught:
            files(brief(layout("one server"), setup=SETUP))
        assert told(caught.value)[1:] == (
            "vllm-config is for vLLM as it is installed",
            "leave --runtime out",
        )

    def test_addresses_of_several_machines_have_to_be_given(self) -> None:
        with pytest.raises(UsageError) as caught:
            exported(brief(layout("two nodes", endpoints=False)))
        assert told(caught.value)[1:] == (
            "not filled in: $HEAD_IP, $IFACE_NAME",
            "give --endpoint HEAD_IP=… --endpoint IFACE_NAME=…",
        )


class TestAsAnOperator:
    def test_written_files_are_run_from_anywhere(self, operator: Operator, tmp_path: Path) -> None:
        operator.install("vllm")
        assert operator.run(*EXPORT, "--out", "a b").status == 0
        ran = operator.execute([operator.cwd / "a b" / "minimax-m3.sh"], cwd=tmp_path)
        assert ran.argv[:3] == ["serve", M3, "--config"]
        assert pulled(ran.argv)[2:6] == ["--block-size", "128", "--max-model-len", "65536"]

    def test_a_pair_on_gb300_has_the_documents_settings(self, operator: Operator) -> None:
        ran = operator.run(
            "export", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster",
            "--to", "vllm-config",
            "--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.2",
            "--out", "files",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        text = (operator.cwd / "files" / "minimax-m3-1-flash-decode-0.yaml").read_text()
        config = yaml.safe_load(text)
        assert (config["max-num-seqs"], config["data-parallel-address"]) == (28, "10.0.0.2")
        assert config["no-enable-prefix-caching"] is True

    def test_a_secret_is_never_written(self, operator: Operator) -> None:
        ran = operator.run(*EXPORT, env={"HF_TOKEN": "s3cret"})
        assert "#HF_TOKEN=\n" in ran.out
        assert "s3cret" not in ran.out + ran.err
