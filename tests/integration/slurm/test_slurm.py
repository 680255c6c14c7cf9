"""A real slurmctld: its hooks, what squeue and scontrol show, and rights and states of nodes."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from builders.agents.waiting import wait_until
from builders.command_line import Command
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, Service, serving
from builders.schemas.incidents import NIC

import controller.sources.slurm
from schemas.documents.times import rfc3339_of_ms

from . import slurm_cluster
from .slurm_cluster import SlurmCluster

NODES = ["h000", "h001", "h002", "h003"]
NO_FEATURES = ("AvailableFeatures=", "ActiveFeatures=")
HOOK = Path(controller.sources.slurm.__file__).parent / "hooks" / "slurmctld.sh"


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "slurm.token"
    path.touch(mode=0o600)
    path.write_text(f"{OPERATOR}\n")
    return path


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hook as it is installed; its settings lie beside it."""
    path = tmp_path_factory.mktemp("hook") / "skeletonhunter.sh"
    settings = path.with_suffix(".env")
    settings.touch()
    path.write_text(f"#!/bin/sh\nSKH_SLURM_ENV={settings} exec {HOOK}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def running(hook: Path) -> Iterator[SlurmCluster]:
    if why := slurm_cluster.missing():
        pytest.skip(why)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # other users of Slurm reach munged
        cluster = SlurmCluster(folder, NODES, hook)
        yield cluster
        cluster.stop()


@pytest.fixture
def slurm(running: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """The cluster without jobs, all nodes in service, before and after."""
    monkeypatch.setenv("SLURM_CONF", str(running.configuration))
    yield running
    running.cancel_all()
    running.run("scontrol", "update", f"NodeName={','.join(NODES)}", *NO_FEATURES)
    for name in NODES:
        if {"DRAIN", "DOWN"}.intersection(running.node(name)["State"].split("+")):
            running.run("scontrol", "update", f"NodeName={name}", "State=RESUME")
    running.wait_idle()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def service(
    slurm: SlurmCluster, hook: Path, token: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    """A controller over HTTP, named by the settings of the hook and of the command."""
    made = Service(two_tiers(len(NODES)))
    made.now_ms = time.time_ns() // 10**6
    with serving(made) as url:
        said = {"SKH_CONTROLLER_URL": url, "SKH_CONTROLLER_TOKEN_FILE": str(token)}
        for name, value in said.items():
            monkeypatch.setenv(name, value)
        lines = [f"{name}={value}\n" for name, value in {**said, "SKH_FABRIC": "f1"}.items()]
        hook.with_suffix(".env").write_text("".join(lines))
        yield made


def states(service: Service) -> dict[str, str]:
    return {name: each.state for name, each in service.site.state.tasks.placements.items()}


def tenant(service: Service, job: str) -> str:
    submitted = service.site.state.tasks.jobs[job].submitted
    assert submitted is not None
    return submitted.tenant


def suspect(service: Service, host: str) -> None:
    """An open incident blames the host."""
    service.site.advice.take(
        msgspec.structs.replace(
            NIC, component=f"host:{host}", tie_set=[f"host:{host}"], incident_id="aaaa",
            fabric="f1", confidence=0.95, updated_at=rfc3339_of_ms(service.now_ms),
        )
    )  # fmt: skip


def over(service: Service, host: str, minutes: int) -> None:
    """The incident has been over for so many minutes."""
    ended = rfc3339_of_ms(service.now_ms - minutes * 60_000)
    service.site.advice.take(
        msgspec.structs.replace(
            NIC, component=f"host:{host}", tie_set=[f"host:{host}"], incident_id="aaaa",
            fabric="f1", state="resolved", closed_at=ended, updated_at=ended,
        )
    )  # fmt: skip


def test_slurmctld_reports_a_job_from_its_beginning_to_its_end(
    slurm: SlurmCluster, service: Service
) -> None:
    job = slurm.submit("--nodes=2", "--nodelist=h001,h002")
    name = f"slurm-{job}"
    wait_until(lambda: states(service) == {f"{name}@h001": "ready", f"{name}@h002": "ready"})
    assert tenant(service, name) == ""  # the job has no account
    slurm.cancel(job)
    wait_until(lambda: set(states(service).values()) == {"gone"})


def test_a_job_waits_for_no_controller(slurm: SlurmCluster, hook: Path) -> None:
    hook.with_suffix(".env").write_text("SKH_CONTROLLER_URL=http://127.0.0.1:9\n")
    slurm.cancel(slurm.submit("--nodes=1"))


@pytest.mark.parametrize("shown", [("squeue", "--json"), ("scontrol", "show", "job", "--oneliner")])
def test_jobs_that_slurm_shows_are_imported(
    slurm: SlurmCluster, service: Service, command: Command, hook: Path, shown: tuple[str, ...]
) -> None:
    hook.with_suffix(".env").write_text("")  # what the hook could not report
    job = slurm.submit("--nodes=3", "--job-name=NodeList of a user")
    words = ("jobs", "import", "--from", "slurm", "--fabric", "f1", "-")
    done = command(*words, stdin=slurm.run(*shown).encode())
    assert (done.code, done.err) == (0, "")
    assert states(service) == dict.fromkeys([f"slurm-{job}@{each}" for each in NODES[:3]], "ready")
    assert tenant(service, f"slurm-{job}") == ""
    slurm.cancel(job)
    assert command(*words, stdin=slurm.run(*shown).encode()).code == 0
    assert set(states(service).values()) == {"gone"}


def test_a_drained_node_keeps_its_job_takes_no_other_and_is_resumed(
    slurm: SlurmCluster, service: Service, command: Command, tmp_path: Path
) -> None:
    drain = (
        "slurm", "drain", "--partition", "gpu", "--fabric", "f1", "--most-share", "1",
        "--audit", tmp_path / "audit", "--resume-after", "30",
    )  # fmt: skip
    job = slurm.submit("--nodes=1", "--nodelist=h000")
    suspect(service, "h000")
    dry = command(*drain)
    assert dry.out.splitlines()[-1].startswith("1 to drain, 0 to resume, 0 left alone; a dry run")
    assert slurm.node("h000")["State"] == "ALLOCATED"

    assert command(*drain, "--apply").out.splitlines()[-1] == "1 drained, 0 resumed, 0 left alone"
    assert slurm.node("h000")["State"] == "ALLOCATED+DRAIN"
    assert slurm.node("h000")["Reason"].startswith("skeletonhunter aaaa P0 host:h000 ")
    assert slurm.state(job) == "RUNNING"
    slurm.cancel(job)
    wait_until(lambda: slurm.node("h000")["State"] == "IDLE+DRAIN")
    assert command(*drain, "--apply").out.splitlines() == [
        "left alone  h000: an open incident speaks of it",
        "0 drained, 0 resumed, 1 left alone",
    ]

    waiting = slurm.enqueue("--nodelist=h000")
    others = slurm.submit("--nodes=3")  # placed meanwhile
    assert slurm.state(waiting) == "PENDING"
    slurm.cancel(others)
    over(service, "h000", minutes=31)
    assert command(*drain, "--apply").out.splitlines()[-1] == "0 drained, 1 resumed, 0 left alone"
    slurm.run("scontrol", "reconfigure")  # slurmctld asks the node now, not at its next round
    wait_until(lambda: slurm.state(waiting) == "RUNNING")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_user_without_the_right_drains_nothing_and_is_told_so(
    slurm: SlurmCluster, service: Service, command: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    real = shutil.which("scontrol")
    (tmp_path / "scontrol").write_text(
        f'#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups {real} "$@"\n'
    )
    (tmp_path / "scontrol").chmod(0o755)
    suspect(service, "h000")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        done = command(
            "slurm", "drain", "--partition", "gpu", "--fabric", "f1", "--most-share", "1",
            "--audit", tmp_path / "audit", "--apply",
        )  # fmt: skip
    assert done.code == 3
    assert done.error_line.startswith("skeletonhunter: scontrol update: exit code 1: slurm_update")
    assert slurm.node("h000")["State"] == "IDLE"


def test_a_node_that_an_operator_took_down_is_left_alone(
    slurm: SlurmCluster, service: Service, command: Command, tmp_path: Path
) -> None:
    slurm.run("scontrol", "update", "NodeName=h001", "State=DOWN", "Reason=bad DIMM in slot 4")
    suspect(service, "h001")
    done = command(
        "slurm", "drain", "--partition", "gpu", "--fabric", "f1", "--most-share", "1",
        "--audit", tmp_path / "audit", "--apply",
    )  # fmt: skip
    assert done.out.splitlines()[-1] == "0 drained, 0 resumed, 1 left alone"
    assert slurm.node("h001")["State"] == "DOWN"
    assert slurm.node("h001")["Reason"].startswith("bad DIMM in slot 4")


def test_jobs_that_ask_for_the_feature_keep_away_from_a_suspected_node(
    slurm: SlurmCluster, service: Service, command: Command, tmp_path: Path
) -> None:
    features = (
        "slurm", "features", "--feature", "network_ok", "--partition", "gpu", "--fabric", "f1",
        "--audit", tmp_path / "audit", "--apply",
    )  # fmt: skip
    suspect(service, "h000")
    assert command(*features).code == 0
    job = slurm.submit("--nodes=3", "--constraint=network_ok")
    placed = slurm.run("squeue", "--noheader", "--format=%N", f"--jobs={job}").strip()
    assert placed == "h[001-003]"
    slurm.restart_slurmctld()  # which forgets features
    assert slurm.node("h001")["ActiveFeatures"] == "(null)"
    assert command(*features).code == 0
    assert slurm.node("h001")["ActiveFeatures"] == "network_ok"
