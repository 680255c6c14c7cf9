"""Pages by cursor: every incident once, also while others are added."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import msgspec
import pytest
from builders.api_service import Put
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED
from httpx import Client
from msgspec.structs import replace

ORDERS = ("newest", "oldest", "updated", "urgent")
MANY = [
    replace(
        RESOLVED if number % 3 == 0 else NIC, incident_id=f"N{number:02}",
        severity=f"P{number % 3}", opened_at=f"2026-01-31T12:00:{number // 2:02}.{number % 4}Z",
        updated_at=f"2026-01-31T13:00:{30 - number // 3:02}Z",
    )
    for number in range(24)
]  # fmt: skip


def pages(client: Client, url: str | None) -> list[list[str]]:
    out = []
    while url:
        page = client.get(url).json()
        out.append([each["incident_id"] for each in page["items"]])
        url = page["next"]
    return out


@pytest.mark.parametrize("order", ORDERS)
def test_pages_by_cursor_are_the_whole_list_in_its_order(
    client: Client, put: Put, order: str
) -> None:
    put(*MANY)
    url = f"/api/v1/incidents?order={order}"
    (whole,) = pages(client, url)
    found = pages(client, f"{url}&limit=5")
    assert [each for page in found for each in page] == whole
    assert [len(page) for page in found] == [5, 5, 5, 5, 4]


def test_an_incident_that_is_added_moves_nothing(client: Client, put: Put) -> None:
    put(*MANY)
    (whole,) = pages(client, "/api/v1/incidents")
    first = client.get("/api/v1/incidents?limit=10").json()
    put(replace(NIC, incident_id="NEW", opened_at="2026-02-01T00:00:00Z"))
    rest = pages(client, first["next"])
    assert [each["incident_id"] for each in first["items"]] + rest[0] + rest[1] == whole


def test_a_cursor_keeps_the_filters(client: Client, put: Put) -> None:
    put(*MANY, INCIDENT)
    found = pages(client, "/api/v1/incidents?limit=3&severity=P0&severity=P1&state=open")
    assert sum(map(len, found)) == 8 + 1


def forged(*values: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(values)).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "AAAA", forged("oldest", "2026-01-31T12:00:00Z", "A"), forged("newest", "A"),
        forged("newest", "now()", "A"), forged("newest", "1812-01-01T00:00:00Z", "A"),
        forged("newest", "2026-01-31T12:00:00Z", "a\x00b"), forged("newest", 1, 2),
    ],
)  # fmt: skip
def test_what_is_no_cursor_is_refused(client: Client, cursor: str) -> None:
    response = client.get(f"/api/v1/incidents?cursor={cursor}")
    assert (response.status_code, response.json()["errors"][0]["loc"]) == (422, ["query", "cursor"])
