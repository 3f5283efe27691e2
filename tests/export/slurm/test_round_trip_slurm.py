"""What bash makes of an exported script is what the plan says, word for word."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.export.cases import (
    LAYOUTS,
    ODD,
    brief,
    deployment,
    expected,
    layout,
    needs_recorded,
    recorded,
    spelt,
    texts,
)
from tests.resolve.build import M3, own
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.slurm import files
from vllm_launch.model.deployment import Deployment
from vllm_launch.resolve.dynamo import behind_dynamo

# Prints what a program is given: its own words, and after an empty line its variables.
_RECORDER = r"""
#include <stdio.h>
#include <string.h>
extern char **environ;
static void put(const char *text) { fwrite(text, 1, strlen(text) + 1, stdout); }
int main(int count, char **words) {
  const char *name = strrchr(words[0], '/');
  put("BEGIN"); put(name ? name + 1 : words[0]);
  for (int i = 1; i < count; i++) { put("W"); put(words[i]); }
  for (char **each = environ; *each; each++) { put("E"); put(*each); }
  put("END");
  return 0;
}
"""
PROGRAMS = ("vllm", "vllm-router", "python3", "mooncake_master", "lmcache", "etcd", "nats-server")
ADDRESSES = [f"10.0.0.{number}" for number in range(1, 200)]
_SHELLS = ("PWD", "OLDPWD", "SHLVL", "_")  # what bash sets by itself
MARK = "\npids=() names=()"  # from here on the script is no longer definitions

# Runs what each node would run, one after the other, and waits for nothing.
_DRIVER = """
healthy() {{ :; }}
open() {{ :; }}
interface_to() {{ echo "if-$1"; }}
start() {{ printf 'NAME\\0%s\\0' "$1"; ( "$2" "$1" ); }}
sleep() {{ :; }}
pids=() names=()
for SLURM_NODEID in {nodes}; do
  settle {logs} {addresses}
  on_node_all
done
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with recorders under the names of what deployments run."""
    directory = tmp_path_factory.mktemp("programs")
    source = directory / "recorder.c"
    source.write_text(_RECORDER)
    subprocess.run(["gcc", "-O1", "-o", directory / "vllm", source], check=True)
    for name in PROGRAMS[1:]:
        (directory / name).symlink_to("vllm")
    return directory


def ran(plans: Iterable[Brief], programs: Path, logs: Path) -> Iterator[dict[str, tuple]]:
    """The words and variables of every part of every plan, as bash gives them to programs."""
    script = []
    for plan in plans:
        (file,) = files(plan)
        definitions, mark, _ = file.text.partition(MARK)
        assert mark
        nodes = " ".join(str(n) for n in range(1 + max(part.node for part in plan.parts)))
        driver = _DRIVER.format(nodes=nodes, logs=logs, addresses=" ".join(ADDRESSES))
        script.append(f"(\n{definitions}\n{driver}\n) || exit\nprintf 'PLAN\\0'\n")
    done = subprocess.run(
        ["/bin/bash", "-s"],
        input="".join(script).encode("utf-8", "surrogateescape"),
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    for output in done.stdout.decode("utf-8", "surrogateescape").split("PLAN\0")[:-1]:
        yield dict(_read(output))


def _read(output: str) -> Iterator[tuple[str, tuple[list[str], dict[str, str]]]]:
    fields = iter(output.split("\0"))
    for field in fields:
        if field == "NAME":
            name = next(fields)
            assert next(fields) == "BEGIN"
            argv, env = [next(fields)], {}
            while (kind := next(fields)) != "END":
                if kind == "W":
                    argv.append(next(fields))
                else:
                    key, _, value = next(fields).partition("=")
                    env[key] = value
            yield name, (argv, env)


def placed(found: Deployment, plan: Brief) -> dict[str, str]:
    """Whose address each placeholder is, on nodes with the addresses of these tests."""
    node = {part.name: part.node for part in plan.parts}
    values = {"IFACE_NAME": f"if-{ADDRESSES[0]}", "HEAD_IP": ADDRESSES[0]}
    values |= dict.fromkeys(("MOONCAKE_MASTER_IP", "ETCD_HOST", "NATS_HOST"), ADDRESSES[0])
    for name, at in node.items():
        role, _, number = name.partition("-")
        if number.isdecimal() and role in ("prefill", "decode"):
            values[f"{role.upper()}_NODE_{int(number) + 1}"] = ADDRESSES[at]
        elif role == "instance":
            values[f"VLLM_INSTANCE_{max(int(number), 1)}"] = ADDRESSES[at]
    return values


def planned(plan: Brief, logs: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Every part's words and variables; those of one alone have no placeholders of a recipe."""
    if len(plan.parts) == 1:
        return {part.name: (list(part.argv), dict(part.env)) for part in plan.parts}
    values = placed(plan.deployment, plan)

    def filled(text: str) -> str:
        for name in sorted(values, key=len, reverse=True):
            text = text.replace(f"${name}", values[name])
        return text

    whole = {}
    for part in plan.parts:
        argv, env = expected(part, plan, f"{logs}/{part.name}.")
        # The files lie flat, with the part's name before their own.
        argv = [filled(word).replace(f"{part.name}./", f"{part.name}.") for word in argv]
        env = {
            key: filled(value).replace(f"{part.name}./", f"{part.name}.")
            for key, value in env.items()
        }
        if argv:
            whole[part.name] = (argv, env)
    return whole


def assert_as_planned(plans: list[Brief], programs: Path, logs: Path) -> None:
    for plan, found in zip(plans, ran(plans, programs, logs), strict=True):
        wanted = planned(plan, logs)
        assert found.keys() == wanted.keys()
        for name, (argv, env) in wanted.items():
            own = {k: v for k, v in found[name][1].items() if k not in _SHELLS}
            own = {k: v for k, v in own.items() if k != "PATH" or k in env}
            assert (found[name][0], own) == (argv, env)


def job(found: Deployment, **keys) -> Brief:
    return brief(found, setup=None, **keys)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_process_is_the_plans(name, programs, tmp_path):
    assert_as_planned([job(layout(name, endpoints=False))], programs, tmp_path)


def test_dynamos_workers_and_what_is_around_them_come_back(programs, tmp_path):
    preset = own(M3).recipe.presets["gb200_agentx"]
    found = behind_dynamo(deployment(M3, preset="gb200_agentx"), preset)
    plan = job(found)
    assert [part.name for part in plan.parts] == ["etcd", "nats", "server-0", "frontend"]
    assert_as_planned([plan], programs, tmp_path)


@needs_recorded
def test_every_recorded_command_comes_back(programs, tmp_path):
    plans = [job(found) for _, found in recorded(endpoints=False)]
    assert len(plans) >= 550
    assert_as_planned(plans, programs, tmp_path)


@pytest.mark.parametrize("strategy", ["multi_node_tp", "multi_node_dep", "multi_node_tep"])
@pytest.mark.parametrize("nodes", [3, 16, 128])
def test_many_ranks_come_back_from_a_script_that_does_not_grow(strategy, nodes, programs, tmp_path):
    plan = job(deployment(hardware="h200", strategy=strategy, nodes=nodes))
    assert_as_planned([plan], programs, tmp_path)
    few = job(deployment(hardware="h200", strategy=strategy, nodes=3))
    assert len(files(plan)[0].text) - len(files(few)[0].text) < 100


def test_pools_of_many_nodes_come_back(programs, tmp_path):
    pools = {
        "prefill": {"nodes": 5, "parallelism": "dep"},
        "decode": {"nodes": 7, "parallelism": "dep"},
    }
    plan = job(deployment(hardware="h200", strategy="pd_cluster", pd=pools))
    assert_as_planned([plan], programs, tmp_path)
    assert files(plan)[0].text.count("exec env") == 2


@settings(max_examples=60)
@given(words=st.lists(texts, max_size=4), value=texts)
def test_any_words_and_values_of_the_operator_come_back(words, value, programs, tmp_path):
    assert_as_planned([spelt(words, value, setup=None)], programs, tmp_path)


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_what_means_something_to_a_shell_is_text(odd, programs, tmp_path):
    assert_as_planned([spelt([odd, f"--flag={odd}"], odd, setup=None)], programs, tmp_path)


def test_bytes_that_are_no_text_come_back(programs, tmp_path):
    assert_as_planned([spelt(["\udcff'\udc80"], "\udcfe\n", setup=None)], programs, tmp_path)


def test_a_nul_is_refused():
    with pytest.raises(UsageError, match="NUL"):
        files(spelt(["a\0b"], "", setup=None))


@settings(max_examples=60)
@given(header=st.lists(texts, min_size=1, max_size=3))
def test_no_header_goes_on_outside_of_its_comment(header, programs, tmp_path):
    plan = spelt([], "", setup=None, header=tuple(header))
    text = files(plan)[0].text
    assert text.split("\nset -euo pipefail\n")[0].count("#SBATCH --nodes") == 1
    assert "\r" not in text
    assert_as_planned([plan], programs, tmp_path)
