"""Documents beside the records are used, or refused in one line: none is left out in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.command_line import Command, CommandResult

from testbed.simulator.files import Written

WORK = {
    "component": "tor:x", "from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
    "reason": "optics", "fabric": "small",
}  # fmt: skip
BOX = {
    "node_id": "c1", "node_sn": "host-0", "state": "ready", "valid_from": "2026-01-01T00:00:00Z",
    "fabric": "small",
}  # fmt: skip


def without(document: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != field}


def saved(path: Path, *documents: object) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


def names(small: Written) -> tuple[str, str, str]:
    """A host, a ToR and a spine of the small cluster."""
    document = json.loads(small.topology.read_text())
    tiers = {switch["tier"]: switch["id"] for switch in document["switches"]}
    return document["hosts"][0]["node_sn"], tiers["asw"], tiers["dsw"]


def refused(done: CommandResult, *parts: str) -> None:
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    for part in parts:
        assert part in done.err


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"a": 1}, "unknown field 'a'; known: containers, fabric, hosts"),
        ({"host": []}, "unknown field 'host'; did you mean 'hosts'?"),
        ({}, "no host with an rnic"),
        ({"hosts": [{"node_sn": "h", "rnics": []}]}, "no host with an rnic"),
        (
            {"hosts": [{"node_sn": "h", "rnics": [{"real_ip": "r", "tor": "a"}]}]},
            "unknown field 'tor' at `$.hosts[0].rnics[0]`; known: asw, asws, rail, real_ip",
        ),
        (
            {"fabric": "smal", "hosts": [{"node_sn": "h", "rnics": [{"real_ip": "r"}]}]},
            "fabric 'smal' is none of the records'; did you mean 'small'?",
        ),
    ],
)
def test_a_topology_that_would_say_nothing_is_refused(
    command: Command, small: Written, tmp_path: Path, document: dict[str, Any], what: str
) -> None:
    file = saved(tmp_path / "topology.json", document)
    refused(command("diagnose", small.pings, "--topology", file), f"{file}: ", what)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (without(WORK, "fabric"), "fabric 'default' is none of the records'; known: small"),
        ({**WORK, "fabric": "smal"}, "did you mean 'small'?"),
        (WORK, "component 'tor:x' is neither in the records nor in the topology"),
        ({**WORK, "component": "pod:none"}, "component 'pod:none' is neither in"),
        ({**WORK, "component": "link:tor:x|spine:y"}, "is neither in"),
        ({**WORK, "untill": "x"}, "unknown field 'untill'; did you mean 'until'?"),
        ({**WORK, "component": "tor:"}, "'tor:' is no component id"),
        ({**WORK, "component": "x"}, "'x' is no component id"),
    ],
)
@pytest.mark.parametrize("with_topology", [True, False])
def test_maintenance_of_nothing_known_is_refused(
    command: Command, small: Written, tmp_path: Path, document: dict[str, Any], what: str,
    with_topology: bool,
) -> None:  # fmt: skip
    file = saved(tmp_path / "work.ndjson", document)
    arguments: list[str | Path] = [small.pings, "--maintenance", file]
    if with_topology:
        arguments += ["--topology", small.topology]
    refused(command("diagnose", *arguments), f"{file}:1: ", what)


def test_a_misspelt_component_gets_the_nearest_of_its_kind(
    command: Command, small: Written, tmp_path: Path
) -> None:
    host, tor, _ = names(small)
    for meant in (f"host:{host}", f"tor:{tor}"):
        wrong = meant[:-1] + "9x"
        file = saved(tmp_path / "work.ndjson", {**WORK, "component": wrong})
        done = command("diagnose", small.pings, "--maintenance", file)
        refused(done, f"component {wrong!r}", "did you mean")


def test_maintenance_and_placement_of_what_is_there_are_used(
    command: Command, small: Written, tmp_path: Path
) -> None:
    host, tor, spine = names(small)
    link = "|".join(sorted((f"tor:{tor}", f"spine:{spine}")))
    components = (f"host:{host}", f"tor:{tor}", f"vswitch:{host}", f"link:{link}", "fabric:small")
    work = saved(tmp_path / "w.ndjson", *({**WORK, "component": each} for each in components))
    for more in ([], ["--topology", small.topology]):
        done = command(
            "diagnose", small.pings, "--maintenance", work, "--placement", small.placement,
            "--heartbeats", small.heartbeats, *more,
        )  # fmt: skip
        assert (done.code, done.out) == (0, "no incidents\n"), done.err
        assert "note:" not in done.err


def test_a_site_s_document_of_another_fabric_is_a_note_beside_one_of_this(
    command: Command, small: Written, tmp_path: Path
) -> None:
    host, tor, _ = names(small)
    work = saved(
        tmp_path / "w.ndjson", {**WORK, "component": f"tor:{tor}"}, {**WORK, "fabric": "other"}
    )
    boxes = saved(
        tmp_path / "p.ndjson", {**BOX, "node_sn": host}, {**BOX, "node_id": "c2", "fabric": "o2"}
    )
    done = command("diagnose", small.pings, "--maintenance", work, "--placement", boxes)
    assert done.code == 0
    assert f"note: {work}:2: 1 of 2 documents are of other fabrics (other)" in done.err
    assert f"note: {boxes}:2: 1 of 2 documents are of other fabrics (o2)" in done.err


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"a": 1}, "unknown field 'a'; known: claims, endpoints, fabric, job"),
        ([1], "Expected `object`"),
        ("text", "Expected `object`"),
        (without(BOX, "state"), "missing required field `state`"),
        (without(BOX, "fabric"), "fabric 'default' is none of the records'"),
        ({**BOX, "fabric": "other"}, "fabric 'other' is none of the records'"),
        ({**BOX, "node_sn": "host-99"}, "is on host 'host-99', which is neither in the records"),
        ({**BOX, "node_sn": ""}, "node_sn is empty"),
        ({**BOX, "node_id": "a|b"}, "node_id 'a|b' is empty or holds '|'"),
        ({**BOX, "valid_from": "now"}, "valid_from: time 'now' is not RFC 3339"),
        ({**BOX, "endpoints": [{"ip": "1.2.3.4"}]}, "missing required field `real_ip`"),
    ],
)
def test_a_placement_that_places_nothing_is_refused(
    command: Command, small: Written, tmp_path: Path, document: object, what: str
) -> None:
    file = saved(tmp_path / "placement.ndjson", document)
    refused(command("diagnose", small.pings, "--placement", file), str(file), what)


def test_a_topology_given_as_placement_is_refused(command: Command, small: Written) -> None:
    done = command("diagnose", small.pings, "--placement", small.topology)
    refused(done, f"{small.topology}:1: unknown field 'version'")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "no heartbeats; give NDJSON"),
        ("not json\n", ":1: "),
        ('{"node":"h"}\n', "missing required field `node_sn`"),
        ('{"node_sn":"h","time":1767225600000000000,"fabric":"other"}\n', "fabric 'other' is none"),
    ],
)
def test_a_heartbeats_file_without_a_usable_heartbeat_is_refused(
    command: Command, small: Written, tmp_path: Path, content: str, what: str
) -> None:
    file = tmp_path / "beats.ndjson"
    file.write_text(content)
    refused(command("diagnose", small.pings, "--heartbeats", file), str(file), what)


def test_one_unreadable_heartbeat_costs_that_line(
    command: Command, small: Written, tmp_path: Path
) -> None:
    file = tmp_path / "beats.ndjson"
    file.write_bytes(b"{\n" + small.heartbeats.read_bytes())
    done = command("diagnose", small.pings, "--heartbeats", file)
    assert done.code == 0
    assert f"dead letter: {file}:1: " in done.err
