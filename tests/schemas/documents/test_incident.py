"""Incidents and anomalies: read as written, and refused with the field's name."""

from __future__ import annotations

import msgspec
import pytest
from builders.schemas.documents import ANOMALY
from builders.schemas.incidents import INCIDENT

from schemas.documents import incident
from schemas.documents.incident import read_incident


def test_an_incident_is_decoded_as_it_was_encoded() -> None:
    assert incident.decode_incident(incident.encode(INCIDENT)) == INCIDENT


def test_an_encoded_anomaly_is_one_line() -> None:
    assert b"\n" not in incident.encode(ANOMALY)


def test_a_bad_incident_names_the_field() -> None:
    raw = msgspec.json.encode({**msgspec.to_builtins(INCIDENT), "state": "closed"})
    with pytest.raises(msgspec.ValidationError, match=r"\$.state"):
        incident.decode_incident(raw)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[" * 10**6, b"\xff", b'{"incident_id":1}'])
def test_bytes_that_are_no_incident_are_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_incident(raw)
