"""Components named by IPv6 addresses: colons in ids, in URLs, and in the commands to run."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.schemas.incidents import NIC

from schemas.component_ids import component, kind_of, link, link_ends
from schemas.documents.times import seconds_of

ADDRESS = "2001:db8::a40:27"
RNIC = component("rnic", ADDRESS)
CABLE = link(RNIC, component("tor", "t1"))
NOON = int(seconds_of(NIC.opened_at))
PutWindows = Callable[..., None]


def test_an_id_is_its_kind_and_its_whole_address() -> None:
    assert RNIC == "rnic:2001:db8::a40:27"
    assert kind_of(RNIC) == "rnic"
    assert link_ends(CABLE) == (RNIC, "tor:t1")


@pytest.mark.parametrize("name", [RNIC, CABLE])
def test_an_incident_is_found_by_its_component_and_says_where_it_is(
    client: httpx.Client, put: Put, put_windows: PutWindows, name: str
) -> None:
    incident = msgspec.structs.replace(
        NIC, component=name, kind=kind_of(name), tie_set=[RNIC, CABLE], fabric="f1"
    )
    put(incident)
    put_windows(window(NOON, 1, src_real_ip=ADDRESS, src_asw="t1", src_node_sn="h6"))
    found = client.get("/api/v1/incidents", params={"component": name}).json()
    assert [each["component"] for each in found["items"]] == [name]
    place = client.get(f"/api/v1/incidents/{incident.incident_id}/advice").json()["place"]
    assert (place["rnics"], place["hosts"]) == ([ADDRESS], ["h6"])
    assert client.get(f"/incidents/{incident.incident_id}").status_code == 200
