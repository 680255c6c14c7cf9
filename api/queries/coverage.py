"""The newest coverage of each fabric."""

from __future__ import annotations

from typing import Final

from api.queries.database import Store
from schemas.documents.coverage import Coverage
from schemas.documents.times import rfc3339_of_ms

_NEWEST: Final = (
    "SELECT *, toUnixTimestamp64Milli(at) AS at_ms FROM coverage FINAL"
    " ORDER BY fabric, at DESC LIMIT 1 BY fabric"
)


def newest(store: Store) -> list[Coverage]:
    """One document per fabric, sorted by name."""
    return [
        Coverage(
            fabric=row["fabric"], at=rfc3339_of_ms(int(row["at_ms"])), paths=int(row["paths"]),
            components=int(row["components"]), uncovered=int(row["uncovered"]),
            untraced=int(row["untraced"]), uncovered_names=list(row["uncovered_names"]),
            untraced_names=list(row["untraced_names"]),
        )
        for row in store.rows(_NEWEST)
    ]  # fmt: skip
