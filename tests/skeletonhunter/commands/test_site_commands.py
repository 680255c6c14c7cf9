"""``topology publish`` and ``maintenance``, on a broker: what they publish reaches the feeds."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from builders.command_line import Command

from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.topology import Topology
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.readers.operator_feed import OperatorDocument, OperatorFeed
from testbed.topologies import clos


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, no_settings: None) -> EmbeddedBroker:
    made = EmbeddedBroker()
    monkeypatch.setenv("SKH_KAFKA", made.bootstrap)
    return made


def known(broker: EmbeddedBroker) -> list[OperatorDocument]:
    feed = OperatorFeed({"bootstrap.servers": broker.bootstrap})
    feed.read()
    feed.close()
    return feed.known


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A document of more than a megabyte, which brokers take by default compressed only."""
    spec = clos.ClosSpec(name="f1", hosts=2048, rails=8, hosts_per_segment=64)
    path = tmp_path / "topology.json"
    path.write_bytes(msgspec.json.encode(clos.build(spec, 7)))
    assert path.stat().st_size > 1_000_000
    return path


def test_a_published_topology_reaches_the_workers_with_its_time(
    broker: EmbeddedBroker, command: Command, large: Path
) -> None:
    done = command("topology", "publish", large, "--valid-from", "2026-01-01T00:00:00Z")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "fabric f1: 2048 hosts, 16384 rnics, 268 switches, 1056 links; "
        "holds from 2026-01-01T00:00:00Z\n"
    )
    (document,) = known(broker)
    assert isinstance(document, Topology)
    assert document.valid_from == "2026-01-01T00:00:00Z"
    assert len(document.hosts) == 2048


def test_an_invalid_topology_is_not_published(
    broker: EmbeddedBroker, command: Command, large: Path
) -> None:
    assert (
        "is not RFC 3339" in command("topology", "publish", large, "--valid-from", "x").error_line
    )
    large.write_text('{"hosts": [], "switchs": []}')
    done = command("topology", "publish", large)
    assert done.code == 2
    assert "unknown field 'switchs'; did you mean 'switches'?" in done.error_line
    assert known(broker) == []


def test_maintenance_is_added_listed_and_ended(broker: EmbeddedBroker, command: Command) -> None:
    assert command("maintenance", "list").out == "no planned work\n"
    added = command("maintenance", "add", "tor:a1", "--for", "2h", "--reason", "optics")
    assert (added.code, added.err) == (0, "")
    later = ("--from", "2100-01-01T00:00:00Z", "--until", "2100-01-02T00:00:00Z")
    command("maintenance", "add", "host:h1", *later, "--reason", "board", "--fabric", "f2")
    rows = command("maintenance", "list").out.splitlines()
    assert [row.split("  ")[0] for row in rows] == ["default tor:a1", "f2 host:h1"]

    assert command("maintenance", "end", "tor:a1").code == 0
    assert command("maintenance", "end", "host:h1", "--fabric", "f2").code == 0
    assert command("maintenance", "list").out == "no planned work\n"
    printed = command("maintenance", "list", "--all", "--format", "json").out
    works = [json.loads(line) for line in printed.splitlines()]
    assert [each["component"] for each in works] == ["tor:a1", "host:h1"]
    newest = {each.component: each for each in known(broker) if isinstance(each, Maintenance)}
    assert newest["tor:a1"].until < added.out.split("until ")[1]


def test_work_on_a_component_that_the_topology_lacks_is_noted(
    broker: EmbeddedBroker, command: Command, large: Path
) -> None:
    how = ("--fabric", "f1", "--for", "2h", "--reason", "optics")
    assert command("maintenance", "add", "tor:asw-x", *how).err == ""
    command("topology", "publish", large)
    done = command("maintenance", "add", "tor:asw-x", *how)
    assert done.code == 0
    assert "note: component 'tor:asw-x' is neither in the records nor" in done.error_line
    host = clos.build(clos.ClosSpec(hosts=2048, rails=8, hosts_per_segment=64), 7).hosts[0]
    assert command("maintenance", "add", f"host:{host.node_sn}", *how).err == ""


def test_work_that_another_program_has_announced_can_be_ended(
    broker: EmbeddedBroker, command: Command
) -> None:
    document = Maintenance(
        component="tor:a1", start="2026-01-01T00:00:00Z", until="2100-01-01T00:00:00Z", reason="x"
    )
    broker.produce(topics.MAINTENANCE.name, "theirs", {}, msgspec.json.encode(document))
    assert broker.flush() == 0
    assert command("maintenance", "end", "tor:a1").code == 0
    assert command("maintenance", "list").out == "no planned work\n"


@pytest.mark.parametrize(("arguments", "line"), [
    (["add", "tor:a1", "--reason", "x"], "give one of --for and --until"),
    (["add", "tor:a1", "--reason", "x", "--for", "2 weeks"], "--for 2 weeks: write a number"),
    (["add", "leaf-1", "--reason", "x", "--for", "2h"], "'leaf-1' is no component id"),
    (["add", "tor:a1", "--reason", " ", "--for", "2h"], "reason is empty"),
    (["add", "tor:a1", "--reason", "x", "--until", "2020-01-01T00:00:00Z"], "is not before until"),
    (["end", "tor:a1"], "no work on tor:a1 of default is planned; there is: none"),
])  # fmt: skip
def test_wrong_usage_is_one_line(
    broker: EmbeddedBroker, command: Command, arguments: list[str], line: str
) -> None:
    done = command("maintenance", *arguments)
    assert done.code == 2
    assert line in done.error_line


def test_without_a_broker_the_setting_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKH_KAFKA", raising=False)
    assert "SKH_KAFKA must be set" in command("maintenance", "list").error_line
    monkeypatch.setenv("SKH_KAFKA", "127.0.0.1:1")
    assert command("maintenance", "list").code == 3
