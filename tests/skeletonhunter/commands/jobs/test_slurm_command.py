"""``slurm drain``: a controller on loopback, and a scontrol on PATH that records its arguments."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.command_line import Command
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, T0_MS, Service, serving
from builders.controller.slurm_stub import DATA, SlurmStub
from builders.schemas.incidents import NIC

from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339_of_ms

REASON = "Reason=skeletonhunter aaaa P0 host:h000 "
OURS = "b7d1f0a2c3e4d5f6"  # the incident by which h004 of the data is drained


def incident(component: str, incident_id: str = "aaaa", **more: Any) -> Incident:
    known: dict[str, Any] = {
        "component": component, "tie_set": [component], "incident_id": incident_id,
        "fabric": "f1", "confidence": 0.95, "updated_at": rfc3339_of_ms(T0_MS),
    }  # fmt: skip
    return msgspec.structs.replace(NIC, **known | more)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmStub:
    stub = SlurmStub(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{stub.bin}:{os.environ['PATH']}")
    return stub


@pytest.fixture
def service(
    monkeypatch: pytest.MonkeyPatch, no_settings: None, tmp_path: Path
) -> Iterator[Service]:
    """A controller over HTTP, without a broker; the settings name it."""
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(f"{OPERATOR}\n")
    made = Service(two_tiers(128, 2))  # of which the blacklist may name two
    with serving(made) as url:
        monkeypatch.setenv("SKH_CONTROLLER_URL", url)
        monkeypatch.setenv("SKH_CONTROLLER_TOKEN_FILE", str(token))
        yield made


def drain(*more: str | Path) -> tuple[str | Path, ...]:
    return ("slurm", "drain", "--partition", "gpu", "--fabric", "f1", *more)


def test_a_dry_run_shows_the_commands_and_changes_nothing(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    for name in ("h000", "h002"):
        service.site.advice.take(incident(f"host:{name}", incident_id=name))
    done = command(*drain("--most-share", "1", "--audit", tmp_path / "audit"))
    assert (done.code, done.err) == (0, "")
    left, wanted, total = done.out.splitlines()
    assert left == "left alone  h002: drained by somebody else: bad DIMM in slot 4"
    assert wanted.startswith(
        "scontrol update NodeName=h000 State=DRAIN 'Reason=skeletonhunter h000 P0 host:h000 "
    )
    assert total == "1 to drain, 0 to resume, 1 left alone; a dry run, --apply does it"
    assert slurm.updates() == []
    assert not (tmp_path / "audit").exists()


def test_apply_drains_by_arguments_records_it_and_does_it_once(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    service.site.advice.take(
        incident("host:h000", evidence={"text": '$(reboot); `id` "quoted"\nState=IDLE'})
    )
    audit = tmp_path / "audit"
    for out in ("1 drained, 0 resumed, 0 left alone", "0 drained, 0 resumed, 0 left alone"):
        done = command(*drain("--most-share", "1", "--audit", audit, "--apply"))
        assert (done.code, done.out.splitlines()[-1]) == (0, out)
    (words,) = slurm.updates()
    assert words[:4] == ["scontrol", "update", "NodeName=h000", "State=DRAIN"]
    assert words[4].startswith(REASON)
    assert not set('$`"\n=') & set(words[4].removeprefix("Reason="))
    assert len(words) == 5
    assert slurm.node("h000")["state"] == ["IDLE", "DRAIN"]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["begun", "done"]
    assert {(line["node"], line["incident_id"]) for line in lines} == {("h000", "aaaa")}


def test_a_resumed_node_is_ours_and_its_incident_over(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    arguments = drain("--audit", tmp_path / "audit", "--apply", "--resume-after", "30")
    assert "h004: its incident is not known to be over" in command(*arguments).out
    service.site.advice.take(
        incident("rnic:10.0.4.1", OURS, state="resolved", closed_at="2026-01-31T11:00:00Z")
    )
    done = command(*arguments)
    assert done.out.splitlines()[-2:] == [
        "scontrol update NodeName=h004 State=RESUME", "0 drained, 1 resumed, 0 left alone",
    ]  # fmt: skip
    assert slurm.updates() == [["scontrol", "update", "NodeName=h004", "State=RESUME"]]
    assert slurm.node("h002")["reason"] == "bad DIMM in slot 4"


def test_an_hour_has_a_bound_over_several_runs(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    audit = tmp_path / "audit"
    arguments = drain("--most-share", "1", "--per-hour", "1", "--audit", audit, "--apply")
    service.site.advice.take(incident("host:h000"))
    assert "1 drained" in command(*arguments).out
    service.site.advice.take(incident("host:h001", incident_id="bbbb"))
    assert "left alone  h001: as many as one hour may have are drained" in command(*arguments).out
    audit.write_text(audit.read_text() + "{}\n")
    done = command(*arguments)
    assert (done.code, "line 3" in done.error_line) == (2, True)


def test_a_node_that_somebody_drains_in_between_is_left_alone(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    audit = tmp_path / "audit"
    service.site.advice.take(incident("host:h000"))
    slurm.drain_after_next_look("h000", "by hand")
    done = command(*drain("--most-share", "1", "--audit", audit, "--apply"))
    assert done.out.splitlines() == [
        "left alone  h000: changed by somebody else just now", "0 drained, 0 resumed, 0 left alone",
    ]  # fmt: skip
    assert slurm.updates() == []
    assert slurm.node("h000")["reason"] == "by hand"
    assert json.loads(audit.read_text())["outcome"] == "changed"


def test_a_refusal_of_slurm_ends_the_run_and_is_recorded(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    slurm.refuse()
    audit = tmp_path / "audit"
    audit.write_bytes(b'{"at":"cut off')
    for name in ("h000", "h001"):
        service.site.advice.take(incident(f"host:{name}", incident_id=name))
    done = command(*drain("--most-share", "1", "--audit", audit, "--apply"))
    assert done.code == 3
    assert "scontrol update: exit code 1: slurm_update error: Access/perm" in done.error_line
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["begun", "failed"]


def test_suspected_hosts_lose_a_feature_that_jobs_may_ask_for(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path
) -> None:
    service.site.advice.take(incident("host:h000", confidence=0.3))
    arguments = ("slurm", "features", "--feature", "net_ok", "--partition", "gpu",
                 "--fabric", "f1")  # fmt: skip
    dry = command(*arguments)
    wanted = "AvailableFeatures=h100,ib,net_ok ActiveFeatures=h100,ib,net_ok"
    assert dry.out.splitlines() == [
        f"scontrol update NodeName=h001,h002,h003,h004 {wanted}",
        "4 to change, 0 left alone; a dry run, --apply does it",
    ]
    assert slurm.updates() == []
    audit = tmp_path / "audit"
    for count in (4, 0):
        done = command(*arguments, "--apply", "--audit", audit)
        assert done.out.splitlines()[-1] == f"{count} changed, 0 left alone"
    (words,) = slurm.updates()
    assert words == ["scontrol", "update", "NodeName=h001,h002,h003,h004", *wanted.split()]
    assert json.loads(audit.read_text().splitlines()[1])["features"] == ["h100", "ib", "net_ok"]


def test_sinfo_is_asked_where_scontrol_knows_no_json(
    service: Service, slurm: SlurmStub, command: Command
) -> None:
    slurm.write(json.loads((DATA / "sinfo-21.08.json").read_text()))
    slurm.without_scontrol_json()
    service.site.advice.take(incident("host:h002"))
    assert "h002: drained by somebody else" in command(*drain()).out
    assert slurm.asked() == [["sinfo", "--all", "--Node", "--json"]]


def test_wrong_usage_is_named_in_one_line(
    service: Service, slurm: SlurmStub, command: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for arguments, says in (
        (("slurm", "drain"), "name what may be changed"),
        (("slurm", "features", "--feature", "a b", "--partition", "gpu"), "--feature 'a b'"),
        (("slurm", "drain", "--nodes", "gpu["), "--nodes: host list"),
        (drain("--apply"), "--apply needs --audit FILE"),
        (drain("--apply", "--audit", tmp_path), "Is a directory"),
    ):
        done = command(*arguments)
        assert (done.code, says in done.error_line) == (2, True), done.err
    audit = tmp_path / "audit"
    with audit.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another run" in command(*drain("--apply", "--audit", audit)).error_line
    slurm.write({"jobs": []})
    assert "neither 'nodes' nor 'sinfo'" in command(*drain()).error_line
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command(*drain())
    assert (done.code, "is not on PATH" in done.error_line) == (3, True)
