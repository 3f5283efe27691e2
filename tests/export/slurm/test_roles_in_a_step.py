"""serve inside real jobs of Slurm's: each node finds its own process by what Slurm has set."""

from __future__ import annotations

import shlex
import subprocess

from tests.cli.launcher import COMMAND, FLASH, M3

TWO_NODES = ("serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")
POOLS = ("serve", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--prefill", "2:dep")


def run(user, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env=user.env, cwd=user.cwd, capture_output=True, text=True, check=False, timeout=120
    )


def test_each_node_of_a_step_runs_its_own_process(user, cluster):
    own = (*TWO_NODES, "--endpoint", "IFACE_NAME=lo", "--skip", "all", "--dry-run")
    done = run(user, "srun", "-N2", "--ntasks-per-node=1", "-l", *COMMAND, *own)
    assert done.returncode == 0, done.stderr
    words = {line.partition(": ")[::2] for line in done.stdout.splitlines()}
    for node in ("0", "1"):
        assert (node, f"  --node-rank {node} \\") in words
        assert (node, "  --master-addr n1 \\") in words
        assert f"{node}: # node rank {node}: SLURM_NODEID\n" in done.stderr
    assert ("1", "  --headless \\") in words
    assert ("0", "  --headless \\") not in words


def test_a_step_of_two_pools_has_prefill_first(user, cluster):
    line = (*POOLS, "--decode", "1", "--endpoint", "IFACE_NAME=lo", "--dry-run")
    done = run(user, "srun", "-N3", "--ntasks-per-node=1", "-l", *COMMAND, *line)
    assert done.returncode == 0, done.stderr
    ports = dict(line.split(": ", 1) for line in done.stdout.splitlines() if "--port" in line)
    assert ports == {"0": "  --port 8100 \\", "1": "  --port 8100 \\", "2": "  --port 8200 \\"}
    hosts = dict(
        line.split(": ", 1) for line in done.stdout.splitlines() if "SIDE_CHANNEL_HOST" in line
    )
    assert hosts == {
        "0": "export VLLM_NIXL_SIDE_CHANNEL_HOST=n1",
        "1": "export VLLM_NIXL_SIDE_CHANNEL_HOST=n2",
        "2": "export VLLM_NIXL_SIDE_CHANNEL_HOST=n3",
    }


def test_several_processes_a_node_are_refused(user, cluster):
    own = (*TWO_NODES, "--endpoint", "IFACE_NAME=lo", "--skip", "all")
    done = run(user, "srun", "-K1", "-N2", "--ntasks-per-node=2", *COMMAND, *own)
    assert done.returncode != 0
    assert "Slurm has started several processes on this node, and this is number 1" in done.stderr


def test_a_batch_script_is_told_every_node(user, cluster):
    command = shlex.join([*COMMAND, *TWO_NODES, "--dry-run"])
    script = user.cwd / "job.sh"
    script.write_text(f"#!/bin/sh\n{command}\n")
    done = run(user, "sbatch", "--parsable", "--wait", "-N2", "--output=out", str(script))
    assert done.returncode == 0, done.stderr
    out = (user.cwd / "out").read_text()
    assert "# head 0\n" in out
    assert "# worker 1\n" in out
    assert out.count("  --master-addr n") == 2
    assert ": first of SLURM_JOB_NODELIST\n" in out
