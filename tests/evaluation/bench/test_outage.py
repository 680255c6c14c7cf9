"""What the measurement of a spool's outage reports of the messages that arrived."""

from __future__ import annotations

import pytest

from evaluation.bench.agent.outage import Message, figures

LIVE = [Message(0, 500, False), Message(500, 1000, False), Message(2500, 3000, False)]
KEPT = [Message(1000, 1500, True), Message(1500, 2000, True)]
SPANS = [range(2000), range(2500, 3000)]


@pytest.mark.parametrize(
    ("found", "killed_s", "says", "missed"),
    [
        ([*LIVE, *KEPT], 2.3, "0 of 2,500 acknowledged records lost, 0.30 s", False),
        ([*LIVE, KEPT[1]], 2.3, "500 of 2,500 acknowledged records lost", True),
        ([*LIVE, *KEPT[::-1]], 2.3, "order broken", True),
        ([*LIVE, *KEPT], 2.9, "0.90 s of records not yet in the spool gone", True),
    ],
)
def test_a_loss_a_disorder_and_a_late_spool_are_reported(
    found: list[Message], killed_s: float, says: str, *, missed: bool
) -> None:
    report = figures(found, SPANS, killed_s, "2 messages kept", 300)
    assert says in report["figure"]
    assert report["missed"] is missed
