"""A Slurm cluster of virtual nodes on this machine: real daemons, with a directory of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests import ports

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue")
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
GPUS = 8
Found = TypeVar("Found")

_CONFIG = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
MailProg=/bin/true
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
GresTypes=gpu
ReturnToService=2
KillWait=3
MinJobAge=600
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Which of Slurm's programs are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def until(found: Callable[[], Found], what: str, seconds: float = 120) -> Found:
    """What a question answers as soon as it has an answer."""
    end = time.monotonic() + seconds
    while True:
        answer = found()
        if answer:
            return answer
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.05)


class Cluster:
    """Its daemons, from start to stop. Node N has the address 127.x.y.N."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self.directory = directory
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        net = os.getpid()
        self.address = {
            name: f"127.{net // 250 % 200 + 20}.{net % 250}.{number}"
            for number, name in enumerate(self.names, 1)
        }
        self.env = {"SLURM_CONF": str(directory / "slurm.conf"), "PATH": PATH}
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._held = contextlib.ExitStack()

    def start(self) -> None:
        (self.directory / "state").mkdir()
        self._configure()
        config = self.env["SLURM_CONF"]
        self._daemon("slurmctld", "-c", "-D", "-f", config)
        for name in self.names:
            (self.directory / f"spool-{name}").mkdir()
            self._daemon("slurmd", "-D", "-N", name, "-f", config)
        until(lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle", "idle nodes")

    def stop(self) -> None:
        """End the daemons, and what they have running."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.ask("scancel", "--signal=KILL", "--full", "--user", str(os.getuid()))
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self._daemons:
            try:
                daemon.wait(60)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        until(lambda: not self._left(), "the end of all daemons")
        self._held.close()

    def _left(self) -> list[str]:
        """Daemons and their helpers that still run."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if str(self.directory).encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
        return found

    def ask(self, *argv: str) -> str:
        """What a program of Slurm's prints."""
        done = subprocess.run(
            argv,
            env=os.environ | self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.stdout.strip()

    def job(self, number: str) -> dict[str, str]:
        """What Slurm knows about a job."""
        words = self.ask("scontrol", "show", "job", "--oneliner", number).split()
        return dict(word.partition("=")[::2] for word in words)

    def ended(self, number: str) -> dict[str, str]:
        """What Slurm knows about a job once it and all of its steps are over."""

        def over() -> dict[str, str] | None:
            job = self.job(number)
            gone = job["JobState"] not in ("PENDING", "RUNNING", "COMPLETING")
            return job if gone and not self.ask("squeue", "-h", "-s", "-j", number) else None

        return until(over, f"the end of job {number}")

    def _daemon(self, *argv: str) -> None:
        with (self.directory / "daemons.out").open("ab") as out:
            self._daemons.append(
                subprocess.Popen(
                    argv,
                    env=os.environ | self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )

    def _configure(self) -> None:
        host = socket.gethostname().partition(".")[0]
        port, *nodes = [self._held.enter_context(ports.held("")) for _ in ("", *self.names)]
        user = subprocess.run(
            ["id", "-un"], capture_output=True, text=True, check=True
        ).stdout.strip()
        text = _CONFIG.format(host=host, port=port, user=user, directory=self.directory)
        for name, own in zip(self.names, nodes, strict=True):
            text += (
                f"NodeName={name} NodeHostname={host} NodeAddr={self.address[name]} Port={own} "
                f"CPUs=8 RealMemory=1000 Gres=gpu:{GPUS}\n"
            )
        Path(self.env["SLURM_CONF"]).write_text(text, encoding="utf-8")
        gres = "".join(
            f"NodeName={name} Name=gpu File={device}\n"
            for name in self.names
            for device in _devices()
        )
        (self.directory / "gres.conf").write_text(gres, encoding="utf-8")


def _devices() -> list[str]:
    """As many character devices as a node has GPUs: Slurm looks at their kind, and no further."""
    found = []
    for path in sorted(Path("/dev").iterdir()):
        try:
            if stat.S_ISCHR(path.stat().st_mode):
                found.append(str(path))
        except OSError:
            continue
    assert len(found) >= GPUS, f"/dev has {len(found)} character devices"
    return found[:GPUS]
