"""topology.json: checked as a whole, so that every name that it uses is defined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from schemas import json_schemas
from schemas.documents import topology
from schemas.documents.topology import Rnic, Topology, TopologyError

Doc = dict[str, Any]


def good() -> Doc:
    """Two hosts behind two ToRs and one spine."""
    return {
        "version": 1,
        "fabric": "f1",
        "switches": [
            {"id": "asw1", "tier": "asw", "pod": "p1", "addresses": ["10.1.0.1", "10.1.0.2"]},
            {"id": "asw2", "tier": "asw"},
            {"id": "dsw1", "tier": "dsw"},
        ],
        "links": [["asw1", "dsw1"], ["asw2", "dsw1"]],
        "hosts": [
            {"node_sn": "h1", "pod": "p1", "rnics": [{"real_ip": "r1", "rail": 0, "asw": "asw1"}]},
            {"node_sn": "h2", "pod": "p1", "rnics": [{"real_ip": "r2", "rail": 0, "asw": "asw2"}]},
        ],
        "containers": [
            {
                "node_id": "c1",
                "node_sn": "h1",
                "job": "j1",
                "tenant": "t1",
                "endpoints": [{"ip": "172.16.0.1", "real_ip": "r1"}],
            }
        ],
    }


def parse(doc: object) -> Topology:
    return topology.parse(json.dumps(doc).encode(), "t.json")


def test_a_good_document_is_read_and_written_again() -> None:
    read = parse(good())
    assert (read.fabric, len(read.hosts), len(read.switches)) == ("f1", 2, 3)
    assert read.containers[0].endpoints[0].real_ip == "r1"
    assert topology.parse(msgspec.json.encode(read)) == read


def test_a_good_document_meets_its_json_schema() -> None:
    jsonschema.validate(good(), json_schemas.schema("topology"))


def test_an_absent_field_has_its_default() -> None:
    read = parse({"hosts": [{"node_sn": "h1", "rnics": [{"real_ip": "r1"}]}]})
    assert (read.version, read.fabric, read.hosts[0].rnics[0].asw) == (1, "default", "")


def bonded(*asws: str, asw: str = "") -> Callable[[Doc], None]:
    """The first rnic, behind several access switches."""
    return put("hosts", 0, "rnics", 0, value={"real_ip": "r1", "asw": asw, "asws": [*asws]})


def test_an_rnic_that_is_bonded_names_all_of_its_access_switches() -> None:
    doc = good()
    bonded("asw2", "asw1")(doc)
    jsonschema.validate(doc, json_schemas.schema("topology"))
    (one,), (other,) = (host.rnics for host in parse(doc).hosts)
    assert (one.tors, other.tors) == (("asw2", "asw1"), ("asw2",))
    assert Rnic("r9").tors == ()


def test_rnics_with_one_access_switch_are_written_as_before_there_were_bonds() -> None:
    written = json.loads(msgspec.json.encode(parse(good())))
    assert {*written["hosts"][0]["rnics"][0]} == {"real_ip", "rail", "asw"}


def test_a_field_that_is_not_known_is_refused_and_the_nearest_one_named() -> None:
    for field, hint in (("vendor", "known: containers, fabric"), ("host", "did you mean 'hosts'?")):
        with pytest.raises(TopologyError, match=rf"unknown field '{field}'; ") as why:
            parse({**good(), field: []})
        assert hint in str(why.value)


def put(*path: Any, value: Any) -> Callable[[Doc], None]:
    """Set one place of the document."""

    def change(doc: Doc) -> None:
        at: Any = doc
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Doc], None]:
    def change(doc: Doc) -> None:
        at: Any = doc
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]

    return change


def twice(name: str) -> Callable[[Doc], None]:
    return lambda doc: doc[name].append(doc[name][0])


def same_rnic(doc: Doc) -> None:
    doc["hosts"][1]["rnics"][0]["real_ip"] = "r1"


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        # a component that is missing
        (drop("switches", 2), "link [asw1, dsw1] names switch 'dsw1', which is not in switches"),
        (drop("switches", 0), "'asw1', which is not in switches; add it"),
        (put("links", value=[["asw1", "asw9"]]), "names switch 'asw9', which is not in switches"),
        (put("hosts", 0, "rnics", 0, "asw", value="asw9"), "rnic r1 names asw 'asw9', which is no"),
        (bonded("asw1", "asw9"), "rnic r1 names asw 'asw9', which is not in switches; add it"),
        (drop("hosts", 0), "container 'c1' names host 'h1', not in hosts; add it"),
        (put("hosts", 0, "rnics", value=[]), "container 'c1' names rnic 'r1', not in hosts"),
        # a component that is there twice
        (twice("switches"), "two switches have the same id"),
        (twice("hosts"), "host 'h1' appears twice; merge the entries"),
        (same_rnic, "rnic 'r1' appears twice; an rnic belongs to one host"),
        (twice("containers"), "container 'c1' appears twice"),
        (bonded("asw1", "asw1"), "rnic r1 names asws asw1, asw1: one of them twice; remove it"),
        (bonded("asw1", "asw2", asw="asw1"), "rnic r1 has asw and asws; name all of its access"),
        (bonded(), "rnic r1 has 0 asws; a bond has 2 to 8"),
        (bonded("asw1"), "rnic r1 has 1 asws; a bond has 2 to 8, and a single switch is asw"),
        # a name that cannot be one
        (put("switches", 2, "id", value="a|b"), "names switch 'dsw1'"),
        (put("hosts", 1, "node_sn", value="a|b"), "name 'a|b' is empty or holds '|'"),
        (put("hosts", 1, "node_sn", value=""), "name '' is empty"),
        (put("hosts", 1, "rnics", 0, "real_ip", value="a|b"), "name 'a|b' is empty or holds '|'"),
        (put("containers", 0, "node_id", value=""), "name '' is empty"),
        # a shape that is not the document's
        (put("version", value=2), "version 2 is not known; this release reads version 1"),
        (put("switches", 0, "tier", value="core"), "Invalid enum value 'core'"),
        (put("links", 0, value=["asw1"]), "Expected `array` of length 2 - at `$.links[0]`"),
        (put("fabric", value=""), "fabric is empty"),
        (put("hosts", value=[]), "no host with an rnic, so that no probe can be placed on it"),
        (
            put("containers", 0, "endpoints", 0, "real", value="r1"),
            "unknown field 'real' at `$.containers[0].endpoints[0]`; did you mean 'real_ip'?",
        ),
        (drop("hosts", 0, "node_sn"), "missing required field `node_sn` - at `$.hosts[0]`"),
        (put("hosts", 0, "rnics", 0, "rail", value="x"), "Expected `int`, got `str`"),
        (put("hosts", value=5), "Expected `array`, got `int` - at `$.hosts`"),
    ],
)
def test_a_bad_document_is_refused_in_one_line_that_says_where_and_what(
    spoil: Callable[[Doc], None], what: str
) -> None:
    doc = good()
    spoil(doc)
    with pytest.raises(TopologyError) as caught:
        parse(doc)
    text = str(caught.value)
    assert text.startswith("t.json: ")
    assert what in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"{", b'{"fabric":"\xff"}', b'{"x":' + b"[" * 5000 + b"]" * 5000]
)
def test_bytes_that_are_no_topology_are_refused(raw: bytes) -> None:
    with pytest.raises(TopologyError, match=r"t\.json: "):
        topology.parse(raw, "t.json")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="No such file or directory; give a readable topology"):
        topology.load(tmp_path / "none.json")


def test_a_file_is_read_like_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(good()))
    assert topology.load(tmp_path / "t.json") == parse(good())
