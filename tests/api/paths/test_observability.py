"""Components of the topology document, and what coverage says of them."""

from __future__ import annotations

from typing import Any

import pytest
from builders.api_service import Put
from builders.monitoring.small_site import SITE, put_topology
from builders.schemas.incidents import NIC
from builders.streams.sink_messages import COVERAGE
from httpx import Client
from msgspec.structs import replace

from schemas.documents.coverage import encode
from store.client import Store
from streams.sink import rows as sink_rows

TIME = "since=2026-01-31T11:59:00Z&until=2026-01-31T12:05:00Z"


def cover(store: Store, at: str = "2026-01-31T12:01:00Z", **changes: Any) -> None:
    """Stores coverage of f1 in which the link between t1 and a1 is not crossed."""
    fields = {"uncovered": 1, "uncovered_names": ["link:agg:a1|tor:t1"],
              "untraced": 1, "untraced_names": ["link:agg:a1|spine:s1"]}  # fmt: skip
    document = replace(COVERAGE, at=at, **(fields | changes))
    store.insert("coverage", sink_rows.coverage(encode(document)))


def how(client: Client, name: str) -> tuple[str, str]:
    response = client.get(f"/api/v1/components/{name}?{TIME}")
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["component"]["active"], found["incidents"]) == (0, [])
    return found["component"]["health"], found["component"]["observability"]


@pytest.mark.parametrize(
    ("name", "health", "observability"),
    [
        ("spine:s1", "ok", "covered"), ("agg:a1", "ok", "covered"),
        ("link:agg:a2%7Ctor:t2", "ok", "covered"), ("link:rnic:10.0.0.1%7Ctor:t1", "ok", "covered"),
        ("link:agg:a1%7Ctor:t1", "unknown", "uncovered"),
        ("link:agg:a1%7Cspine:s1", "unknown", "untraced"),
        ("vswitch:h1", "ok", "covered"), ("vswitch:h2", "unknown", "unknown"),
        ("tor:t1", "unknown", "covered"), ("rnic:10.0.0.1", "unknown", "covered"),
        ("container:c1", "unknown", "covered"), ("host:h1", "unknown", "unknown"),
        ("agent:h1", "unknown", "unknown"), ("pod:p1", "unknown", "unknown"),
        ("fabric:f1", "unknown", "unknown"),
    ],
)  # fmt: skip
def test_a_component_of_the_topology_is_found_without_incidents_and_probes(
    client: Client, store: Store, name: str, health: str, observability: str
) -> None:
    """h2 has no container that probes could enter over its vSwitch; of kinds at which paths end,
    only probes of the asked time tell that they are well."""
    put_topology(store)
    cover(store)
    assert how(client, name) == (health, observability)


def test_without_coverage_nothing_is_said_of_a_component_of_the_topology(
    client: Client, store: Store
) -> None:
    put_topology(store)
    assert how(client, "spine:s1") == ("unknown", "unknown")


def test_a_component_that_may_be_among_uncovered_ones_without_a_name_is_not_called_covered(
    client: Client, store: Store
) -> None:
    put_topology(store)
    cover(store, uncovered=2)
    assert how(client, "spine:s1") == ("unknown", "unknown")


def test_coverage_of_before_the_asked_time_does_not_show_that_a_switch_is_well(
    client: Client, store: Store
) -> None:
    put_topology(store)
    cover(store, at="2026-01-31T11:00:00Z")
    assert how(client, "spine:s1") == ("unknown", "covered")


def test_coverage_that_was_stored_before_the_topology_does_not_count_what_is_new_in_it(
    client: Client, store: Store
) -> None:
    cover(store)
    store.execute(
        "INSERT INTO topology_components (fabric, valid_from, component, kind, name, ingested_at)"
        " VALUES ('f1', '2026-01-31 12:00:00', 'spine:s9', 'spine', 's9', now() + 60)"
    )
    assert how(client, "spine:s9") == ("unknown", "unknown")


def test_only_the_newest_topology_of_a_fabric_counts(client: Client, store: Store) -> None:
    put_topology(store)
    put_topology(
        store, replace(SITE, switches=SITE.switches[:4], links=SITE.links[:2]), 1_700_000_060
    )
    assert client.get("/api/v1/components/spine:s1").status_code == 404
    assert how(client, "agg:a1") == ("unknown", "unknown")


def test_a_switch_of_two_topologies_needs_the_fabric(client: Client, store: Store) -> None:
    put_topology(store)
    put_topology(store, replace(SITE, fabric="f2"))
    assert client.get("/api/v1/components/spine:s1").status_code == 409
    found = client.get("/api/v1/components/spine:s1?fabric=f2").json()["component"]
    assert found["fabric"] == "f2"


def test_a_blamed_component_without_probes_is_covered_in_the_list_as_on_its_own(
    client: Client, store: Store, put: Put
) -> None:
    put_topology(store)
    cover(store)
    put(replace(NIC, fabric="f1"))
    (rnic,) = client.get(f"/api/v1/components?{TIME}&kind=rnic").json()["items"]
    alone = client.get(f"/api/v1/components/{rnic['component']}?{TIME}").json()["component"]
    assert rnic == alone
    assert (rnic["health"], rnic["observability"]) == ("bad", "covered")
