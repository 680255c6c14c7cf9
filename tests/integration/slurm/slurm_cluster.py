"""A Slurm cluster on loopback: munged, slurmctld and one slurmd a node, as the current user."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from builders.agents.waiting import wait_until

from testbed.services.ports import free_port

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
_SBIN = "/usr/sbin"  # where Debian has the daemons; users have it not on PATH
_CONFIGURATION = """\
ClusterName=t
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
SchedulerType=sched/builtin
SelectType=select/linear
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PrologSlurmctld={hook}
EpilogSlurmctld={hook}
PartitionName=gpu Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why no cluster can be started here, or None."""
    lacking = [each for each in _PROGRAMS if _found(each) is None]
    return f"{', '.join(lacking)} not installed (scripts/test-tools.sh)" if lacking else None


class SlurmCluster:
    """Starts on construction and returns when all nodes serve; ``stop`` ends its processes.

    hook  what slurmctld runs at the beginning and at the end of each job
    """

    def __init__(self, folder: Path, nodes: Sequence[str], hook: Path) -> None:
        self._folder = folder
        self.configuration = folder / "slurm.conf"
        self._processes: list[subprocess.Popen[bytes]] = []
        (folder / "state").mkdir()
        text = _CONFIGURATION.format(
            folder=folder, port=free_port(), user=getpass.getuser(), hook=hook,
            nodes=",".join(nodes),
        )  # fmt: skip
        lines = [
            f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} "
            "CPUs=1 State=UNKNOWN\n"
            for node in nodes
        ]
        self.configuration.write_text("".join([text, *lines]))
        try:
            self._munge()
            self._slurmctld = self._start("slurmctld", "-D", "-f", str(self.configuration))
            for node in nodes:
                self._start("slurmd", "-D", "-N", node, "-f", str(self.configuration))
            wait_until(lambda: self._all_running() and self._answers())
            self.wait_idle()
        except BaseException:
            self.stop()
            raise

    def run(self, *words: str) -> str:
        """Standard output of one of Slurm's commands that must succeed."""
        environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def submit(self, *options: str) -> str:
        """The id of a job that runs until ``cancel``; returns when it has its nodes."""
        job = self.enqueue(*options)
        wait_until(lambda: self.state(job) == "RUNNING")
        return job

    def enqueue(self, *options: str) -> str:
        """The id of such a job, which may have to wait for its nodes."""
        script = self._folder / "job.sh"
        script.write_text("#!/bin/sh\nexec sleep 3600\n")
        return self.run("sbatch", "--parsable", "--output=/dev/null", *options, str(script)).strip()

    def cancel(self, job: str) -> None:
        """End the job; returns when it has left its nodes."""
        self.run("scancel", job)
        wait_until(lambda: self.state(job) in ("", "CANCELLED"))

    def cancel_all(self) -> None:
        """End all jobs; returns when they have left their nodes."""
        self.run("scancel", f"--user={getpass.getuser()}")
        wait_until(lambda: self.run("squeue", "--noheader") == "")

    def state(self, job: str) -> str:
        """Of the job; empty: slurmctld shows it no more."""
        return self.run(
            "squeue", "--noheader", "--format=%T", "--states=all", f"--jobs={job}"
        ).strip()

    def wait_idle(self) -> None:
        """Return when all nodes serve; slurmctld asks them now, not at its next round of pings."""
        self.run("scontrol", "reconfigure")
        wait_until(lambda: set(self.run("sinfo", "-hN", "--format=%T").split()) == {"idle"})

    def node(self, name: str) -> dict[str, str]:
        """What ``scontrol show node`` says of a node; State, Reason, ActiveFeatures, …"""
        lines = self.run("scontrol", "show", "node", name).splitlines()
        pairs = (line.strip().split("=", 1) for line in lines if "=" in line)
        return {name: value.split(" ThreadsPerCore")[0] for name, value in pairs}

    def restart_slurmctld(self) -> None:
        """End it and start it with the state that it has saved."""
        _end(self._slurmctld)
        self._processes.remove(self._slurmctld)
        self._slurmctld = self._start("slurmctld", "-D", "-f", str(self.configuration))
        wait_until(lambda: self._all_running() and self._answers())

    def stop(self) -> None:
        """End all jobs, then every process that was started here, munged last."""
        if self._answers():
            self.cancel_all()  # they are processes that would outlive their slurmd
        for process in reversed(self._processes):
            _end(process)
        self._processes.clear()

    def _munge(self) -> None:
        folder, key = self._folder, self._folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self._start(
            "munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
            f"--key-file={key}", f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        wait_until(lambda: self._all_running() and (folder / "munge.socket").exists())

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        found = _found(program)
        assert found is not None, program
        with (self._folder / f"{program}.out").open("ab") as out:
            process = subprocess.Popen([found, *words], stdout=out, stderr=out)
        self._processes.append(process)
        return process

    def _all_running(self) -> bool:
        for process in self._processes:
            assert process.poll() is None, (process.args, *self._last_lines())
        return True

    def _last_lines(self) -> list[str]:
        return [path.read_text()[-500:] for path in sorted(self._folder.glob("*.out"))]

    def _answers(self) -> bool:
        words = ["scontrol", "ping"]
        environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        return (
            subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
        )


def _found(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=_SBIN)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
