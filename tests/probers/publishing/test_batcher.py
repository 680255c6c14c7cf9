"""The batcher: a record is published after half a second or when a message is full."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from builders.agents.waiting import Until

from probers.process.loop import Loop
from probers.publishing.batcher import FLUSH_NS, Batcher
from probers.publishing.destination import publish_to
from probers.publishing.publisher import Publisher


def test_records_are_published_after_0_4_s_or_when_a_message_is_full(
    loop: Loop, run_until: Until, tmp_path: Path
) -> None:
    publisher: Publisher = publish_to(f"file:{tmp_path / 'out'}")
    publisher.connect(1.0)
    batcher = Batcher(loop, publisher, "host-1", "ndjson")
    begin = time.monotonic()
    batcher.add({"dial": "timeout"}, lambda: {"ping_time": 1})
    assert batcher.published == 0
    run_until(lambda: batcher.published == 1)
    assert time.monotonic() - begin >= FLUSH_NS / 1e9
    for number in range(512):
        batcher.add({"dial": "timeout"}, partial(dict, ping_time=number))
    assert batcher.published == 513
    publisher.close(1.0)
