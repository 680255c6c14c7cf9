"""The agent measures the throughput of the rnics that containers use, and of no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.agents.site import Site, ended
from builders.agents.waiting import Until

from probers.command_line import options
from probers.command_line.options import UsageError
from schemas import topics


def write_container(site: Site) -> None:
    """A list that puts a container behind the rnic 127.0.0.1 of this host."""
    own = [{"ip": ip, "real_ip": "127.0.0.1", "layer": "overlay", "node_id": "c1"}
           for ip in site.ips]  # fmt: skip
    site.write_list([], endpoints=own)


def published(path: Path, topic: str) -> list[dict[str, Any]]:
    """Rows of all messages of a topic."""
    lines = path.read_text().splitlines() if path.exists() else []
    messages = [json.loads(line) for line in lines]
    return [json.loads(row) for each in messages if each["topic"] == topic
            for row in each["payload"].splitlines()]  # fmt: skip


def test_an_agent_publishes_each_second_of_the_rnic_behind_a_container(
    site: Site, eventually: Until
) -> None:
    write_container(site)
    out = site.directory / "published"
    process = site.start("--publish", f"file:{out}", "--encoding", "ndjson", "--throughput", "net")
    eventually(lambda: len(published(out, topics.HEARTBEATS.name)) >= 4)
    code, errors = ended(process)
    assert code == 0, errors
    rows = published(out, topics.THROUGHPUT.name)
    assert rows, errors
    assert {(row["fabric"], row["node_sn"], row["real_ip"]) for row in rows} == {
        ("f1", "host-a", "127.0.0.1")
    }
    times = [row["time"] for row in rows]
    assert all(time % 10**9 == 0 for time in times)
    assert len(set(times)) == len(times)
    assert errors.count("throughput-source rnic=127.0.0.1 source=net:lo#") == 1


def test_a_host_without_containers_publishes_no_throughput(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1]])
    out = site.directory / "published"
    process = site.start("--publish", f"file:{out}", "--encoding", "ndjson", "--throughput", "net")
    eventually(lambda: len(published(out, topics.HEARTBEATS.name)) >= 4)
    code, errors = ended(process)
    assert code == 0, errors
    assert published(out, topics.THROUGHPUT.name) == []


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKH_PROBE_KEY", "a key for the tests only")
    monkeypatch.delenv("SKH_THROUGHPUT", raising=False)
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text("a-token")
    return file


def test_throughput_is_measured_by_default_where_a_controller_needs_it(
    token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kind(*arguments: str) -> str | None:
        return options.parse(["--publish", "file:-", "--node-sn", "a", *arguments]).throughput

    controlled = ("--controller", "http://c", "--token-file", str(token))
    assert kind("--ping-list", "x") is None
    assert kind(*controlled) == "auto"
    assert kind(*controlled, "--layer", "underlay") == "auto"
    assert kind(*controlled, "--layer", "overlay") is None, "of a container, not of the host"
    assert kind(*controlled, "--node-id", "c1", "--throughput", "net") is None
    assert kind("--ping-list", "x", "--throughput", "rdma") == "rdma"
    monkeypatch.setenv("SKH_THROUGHPUT", "off")
    assert kind(*controlled) is None
    assert kind(*controlled, "--throughput", "net") == "net"
    monkeypatch.setenv("SKH_THROUGHPUT", "yes")
    with pytest.raises(UsageError, match="SKH_THROUGHPUT=yes: give one of auto, rdma, net, off"):
        kind(*controlled)


def test_a_source_of_counters_is_an_address_and_a_device(
    token: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--ping-list", "x", "--publish", "file:-", "--node-sn", "a", "--throughput-source"]
    found = options.parse([*base, "10.0.0.1=rdma:mlx5_0/1", base[-1], "10.0.0.2=net:pf0vf1"])
    assert found.throughput_sources == {"10.0.0.1": "rdma:mlx5_0/1", "10.0.0.2": "net:pf0vf1"}
    for wrong in (
        "mlx5_0",
        "10.0.0.1=mlx5_0",
        "10.0.0.1=rdma:../..",
        "10.0.0.1=net:a/b",
        "x=net:a",
    ):
        with pytest.raises(SystemExit):
            options.parse([*base, wrong])
        assert capsys.readouterr().err.count("\n") == 1
