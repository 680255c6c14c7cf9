"""JSON documents: read as written, refused with the field's name, described by their schemas."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import heartbeat, incident, json_schemas
from schemas.documents.heartbeat import Heartbeat, RnicCounts
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Endpoint

ANOMALY = Anomaly(
    fabric="f1", path_id="00000000000000ff", layer="underlay", symptom="loss",
    src_node_sn="h1", src_real_ip="r1", src_ip="a", dst_node_sn="h2", dst_real_ip="r2", dst_ip="b",
    src_port=50_000, dst_port=4791, window_start="2026-01-01T00:00:00.000Z",
    window_end="2026-01-01T00:00:05.000Z", sent=5, lost=2, loss_rate=0.4,
)  # fmt: skip
INCIDENT = Incident(
    incident_id="abcdefghijklmnop", version=1, state="open", fabric="f1", component="tor:asw1",
    kind="tor", layer="underlay", symptom="loss", issue_type=None, direction="both",
    opened_at="2026-01-01T00:00:00.000Z", detected_at="2026-01-01T00:00:04.000Z",
    updated_at="2026-01-01T00:00:02.000Z", closed_at=None, severity="P1", confidence=0.99,
    p_value=1e-9, tie_set=["tor:asw1"], parent=None, paths_bad=3, paths_total=9,
    evidence={"text": "3 of 3 bad paths cross tor:asw1", "nested": {"lost": 3}},
)  # fmt: skip
BEAT = Heartbeat("h1", 1_733_989_200_000_000_000, fabric="f1", rnics={"r1": RnicCounts(10, 9)})
PLACEMENT = Placement(
    node_id="c1", node_sn="h1", state="ready", valid_from="2026-01-01T00:00:00Z",
    endpoints=[Endpoint("172.16.0.1", "r1")],
)  # fmt: skip
MAINTENANCE = Maintenance(
    component="tor:asw1", start="2026-01-01T00:00:00Z", until="2026-01-01T02:00:00Z",
    reason="new optics",
)  # fmt: skip
EXAMPLES: dict[str, msgspec.Struct] = {
    "anomaly": ANOMALY, "incident": INCIDENT, "heartbeat": BEAT, "placement": PLACEMENT,
    "maintenance": MAINTENANCE,
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_document_is_read_as_it_was_written(name: str) -> None:
    document = EXAMPLES[name]
    assert msgspec.json.decode(msgspec.json.encode(document), type=type(document)) == document


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_document_meets_its_schema(name: str) -> None:
    raw = json.loads(msgspec.json.encode(EXAMPLES[name]))
    jsonschema.validate(raw, json_schemas.schema(name))


@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_the_schema_in_the_folder_is_the_one_of_the_struct(name: str) -> None:
    file = f"{name}.schema.json"
    assert (json_schemas.FOLDER / file).read_text() == json_schemas.files()[file], (
        "run skeletonhunter topics --json-schemas schemas/json"
    )


@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_a_schema_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schemas.schema(name))


def test_incidents_and_anomalies_have_codecs_of_their_own() -> None:
    assert incident.decode_incident(incident.encode(INCIDENT)) == INCIDENT
    assert b"\n" not in incident.encode(ANOMALY)


def test_a_bad_incident_names_the_field() -> None:
    raw = msgspec.json.encode({**msgspec.to_builtins(INCIDENT), "state": "closed"})
    with pytest.raises(msgspec.ValidationError, match=r"\$.state"):
        incident.decode_incident(raw)


@given(
    st.builds(
        Heartbeat,
        node_sn=st.text(st.characters(codec="utf-8"), min_size=1),
        time=st.integers(1, 2**63 - 1),
        alive=st.booleans(),
        fabric=st.text(st.characters(codec="utf-8")),
        cpu_steal=st.floats(0, 1),
        scheduling_delay_us=st.floats(0, 1e9),
        rnics=st.dictionaries(st.text(), st.builds(RnicCounts, st.integers(0, 99))),
    )
)
@settings(deadline=None, max_examples=60)
def test_any_heartbeat_is_read_as_it_was_written(beat: Heartbeat) -> None:
    assert heartbeat.decode(heartbeat.encode(beat)) == beat


def test_a_healthy_heartbeat_is_short() -> None:
    assert json.loads(heartbeat.encode(Heartbeat("h1", 5))) == {"node_sn": "h1", "time": 5}


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b'{"node_sn":"h1"}', "time"),
        (b'{"node_sn":"","time":5}', "node_sn is empty"),
        (b'{"node_sn":"h1","time":0}', "time 0 is not after 1970"),
        (b'{"node_sn":"h1","time":"noon"}', r"\$.time"),
        (b'{"node_sn":"h1","time":5,"cpu_steal":"much"}', r"\$.cpu_steal"),
    ],
)
def test_a_bad_heartbeat_names_the_field(raw: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        heartbeat.decode(raw)
