"""What Slurm says -> jobs on hosts."""

from __future__ import annotations

import json
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.sources.slurm.hostlist import HostListError, expand
from controller.sources.slurm.slurm_jobs import SlurmError, SlurmJob, is_of, parse

SCONTROL = (
    "JobId=123 JobName=train UserId=alice(1000) GroupId=ml(100) MCS_label=N/A Priority=1 "
    "Account=team-a QOS=normal JobState=RUNNING Reason=None RunTime=00:01:00 "
    "StartTime=2026-09-21T14:13:20 EndTime=Unknown Partition=gpu AllocNode:Sid=login:1 "
    "ReqNodeList=(null) ExcNodeList=(null) NodeList=gpu[001-002,007] BatchHost=gpu001 NumNodes=3 "
    "Command=/home/alice/my script.sh WorkDir=/home/alice"
)
PENDING = SCONTROL.replace("RUNNING", "PENDING").replace("NodeList=gpu[001-002,007]", "NodeList=")


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[001-003,007]", ["gpu001", "gpu002", "gpu003", "gpu007"]),
        ("gpu[8-11]", ["gpu8", "gpu9", "gpu10", "gpu11"]),
        ("gpu[08-11],login", ["gpu08", "gpu09", "gpu10", "gpu11", "login"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("a[1]-ib0.example", ["a1-ib0.example"]),
        ("", []),
        ("(null)", []),
    ],
)
def test_a_host_list_stands_for_hosts(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    "text",
    ["gpu[", "gpu]", "gpu[1-", "gpu[1-a]", "gpu[]", "gpu[3-1]", "a,,b", "a,", ",a", "a b", "a[[1]]",
     "gpu[1--2]", "gpu[-1]"],
)  # fmt: skip
def test_a_broken_host_list_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(HostListError, match="write it as gpu") as why:
        expand(text)
    assert "\n" not in str(why.value)


@pytest.mark.parametrize(
    "text", ["n[0-999999999]", "n[0-999][0-999][0-999]", ",".join(["n[1-60000]"] * 2)]
)
def test_a_host_list_of_too_many_hosts_is_refused_before_it_is_made(text: str) -> None:
    with pytest.raises(HostListError, match="more than 65,536 hosts"):
        expand(text)


_ranges = st.tuples(st.integers(0, 500), st.integers(0, 20), st.integers(1, 5))
_names = st.text(st.sampled_from("abcxyz-_."), min_size=1, max_size=6)
_parts = st.one_of(_names, st.lists(_ranges, min_size=1, max_size=3))


@given(st.lists(st.lists(_parts, min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_written_host_list_is_read_as_it_was_meant(
    items: list[list[str | list[tuple[int, int, int]]]],
) -> None:
    """A part is a name or ranges of (first, further numbers, width)."""
    texts, meant = [], []
    for parts in items:
        text, hosts = "", [""]
        for part in parts:
            if isinstance(part, str):
                text, choices = text + part, [part]
            else:
                spans = []
                choices = []
                for first, more, width in part:
                    least = f"{first:0{width}d}"
                    last = f"{first + more:0{len(least)}d}"
                    spans.append(least if not more else f"{least}-{last}")
                    choices += [f"{n:0{len(least)}d}" for n in range(first, first + more + 1)]
                text += f"[{','.join(spans)}]"
            hosts = [host + choice for host in hosts for choice in choices]
        texts.append(text)
        meant += hosts
    if len(meant) <= 65_536:
        assert expand(",".join(texts)) == meant


@given(st.text(max_size=40))
def test_any_text_is_a_host_list_or_refused(text: str) -> None:
    try:
        hosts = expand(text, most=100)
    except HostListError:
        return
    assert len(hosts) <= 100
    assert all(host and not set(host) & set("[], ") for host in hosts)


def test_running_jobs_of_scontrol_are_read() -> None:
    zone = timezone(timedelta(hours=2))
    (job,) = parse(f"{SCONTROL}\n{PENDING}\n", zone)
    assert job == SlurmJob(
        job_id=123, nodes="gpu[001-002,007]", account="team-a",
        start_s=1_790_000_000 - 7200,
    )  # fmt: skip
    (stamped,) = parse(SCONTROL.replace("2026-09-21T14:13:20", "1790000000"), zone)
    assert stamped.start_s == 1_790_000_000
    assert parse("No jobs in the system\n", UTC) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (SCONTROL.replace("JobName=train", "JobName=x NodeList=gpu9"), "NodeList appears twice"),
        (SCONTROL.replace("JobState=RUNNING ", ""), "has no JobState"),
        (SCONTROL.replace("JobId=123", "JobId=x"), "is no number"),
        (SCONTROL.replace("2026-09-21T14:13:20", "soon"), "is no time"),
        ("Usage: scontrol", "has no JobId"),
    ],
)
def test_a_line_that_cannot_be_trusted_is_refused_with_its_number(line: str, says: str) -> None:
    with pytest.raises(SlurmError, match=says) as why:
        parse(f"{SCONTROL}\n{line}\n", UTC)
    assert str(why.value).startswith("scontrol, line 2")
    assert "\n" not in str(why.value)


def test_running_jobs_of_squeue_are_read_in_old_and_new_form() -> None:
    jobs = [
        {"job_id": 1, "job_state": "RUNNING", "nodes": "gpu1", "start_time": 1_790_000_000},
        {"job_id": 2, "job_state": ["RUNNING"], "nodes": "gpu[2-3]", "account": "a", "name": "x",
         "start_time": {"set": True, "infinite": False, "number": 1_790_000_001}},
        {"job_id": 3, "job_state": ["PENDING"], "nodes": "", "start_time": {"set": False}},
        {"job_id": 4, "job_state": ["RUNNING", "COMPLETING"], "nodes": "gpu4"},
    ]  # fmt: skip
    found = parse(json.dumps({"jobs": jobs, "meta": {}, "errors": []}), UTC, "c1")
    assert [(each.name, each.nodes, each.start_s) for each in found] == [
        ("slurm-c1-1", "gpu1", 1_790_000_000), ("slurm-c1-2", "gpu[2-3]", 1_790_000_001),
    ]  # fmt: skip


def test_jobs_of_one_cluster_are_not_those_of_another() -> None:
    assert is_of("slurm-12", "")
    assert not is_of("slurm-c1-12", "")
    assert is_of("slurm-c1-12", "c1")
    assert not is_of("slurm-c1-x", "c1")
