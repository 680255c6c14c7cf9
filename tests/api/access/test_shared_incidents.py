"""What is left of an incident that hits others too, in documents and in statements."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders.schemas.incidents import INCIDENT

from api.access.shared_incidents import Sight, masked
from schemas.documents.incident import Incident, decode_incident, encode

BLUE = Sight(frozenset({"blue"}), frozenset({"llm"}), frozenset({"rnic:r1", "host:h1"}))


def seen(**changes: Any) -> Incident:
    shared = msgspec.structs.replace(INCIDENT, tenants=["blue", "red"], **changes)
    return decode_incident(BLUE.redacted(encode(shared).decode()).encode())


@pytest.mark.parametrize(
    ("component", "shown"),
    [
        ("tor:t1", True),
        ("spine:s1", True),
        ("link:tor:t1|spine:s1", True),
        ("link:?|tor:t1", True),
        ("rnic:r1", True),
        ("link:rnic:r1|tor:t1", True),
        ("rnic:r2", False),
        ("link:rnic:r2|tor:t1", False),
        ("container:c1", False),
        ("agent:h2", False),
        ("link:rnic:r2", False),  # tie sets are not checked: it may be no link at all
        ("link:", False),
        ("", False),
    ],
)
def test_the_network_and_what_is_the_callers_own_is_named(component: str, shown: bool) -> None:
    assert seen(tie_set=[component]).tie_set == [component] * shown


def test_a_document_that_hits_the_caller_alone_is_not_touched() -> None:
    own = encode(msgspec.structs.replace(INCIDENT, tenants=["blue"])).decode()
    assert BLUE.redacted(own) == own


def test_every_place_of_a_statement_that_reads_incidents_is_masked() -> None:
    inner = "SELECT id FROM incidents FINAL"
    sql = f"SELECT a FROM incidents_latest AS x JOIN incidents_latest AS y WHERE a IN ({inner})"
    found = masked(sql, "['blue']")
    assert found.count("REPLACE (") == 3
    assert found.count("JOIN (SELECT") == 1
    other = "SELECT 1 FROM incidents_latest_count"
    assert masked(other, "[]") == other
