"""What no probe crosses, over real rows."""

from __future__ import annotations

import msgspec
from builders.streams.sink_messages import COVERAGE
from httpx import Client

from schemas.documents.coverage import Coverage, encode
from store.client import Store
from streams.sink import rows as sink_rows

LATER = msgspec.structs.replace(
    COVERAGE, at="2026-01-01T00:02:00Z", uncovered=0, uncovered_names=[]
)


def store_all(store: Store, *documents: Coverage) -> None:
    for each in documents:
        store.insert("coverage", sink_rows.coverage(encode(each)))


def test_each_fabric_has_its_newest_coverage(client: Client, store: Store) -> None:
    other = msgspec.structs.replace(COVERAGE, fabric="f2")
    store_all(store, LATER, COVERAGE, other, other)
    items = client.get("/api/v1/coverage").json()["items"]
    assert [(each["fabric"], each["at"], each["uncovered"]) for each in items] == [
        ("f1", "2026-01-01T00:02:00.000Z", 0),
        ("f2", "2026-01-01T00:01:00.000Z", 2),
    ]
    assert items[1]["uncovered_names"] == COVERAGE.uncovered_names


def test_without_a_topology_there_is_none(client: Client) -> None:
    assert client.get("/api/v1/coverage").json() == {"items": []}
