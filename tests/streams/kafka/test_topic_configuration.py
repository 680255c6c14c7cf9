"""What a broker is asked for each topic when it is made."""

from __future__ import annotations

from schemas import topics
from streams.kafka.admin import configuration

WEEK_MS = str(7 * 24 * 3600 * 1000)


def test_a_compacted_topic_keeps_older_documents_and_another_one_ends_with_its_time() -> None:
    topology, requests = configuration(topics.TOPOLOGY), configuration(topics.REQUESTS)
    assert (topology["cleanup.policy"], topology["min.compaction.lag.ms"]) == ("compact", WEEK_MS)
    assert (requests["cleanup.policy"], requests["retention.ms"]) == ("delete", WEEK_MS)
    assert int(requests["retention.bytes"]) == topics.REQUESTS.kept_bytes > 0
    assert "retention.ms" not in topology


def test_a_topic_without_a_time_is_kept_as_the_broker_is_configured() -> None:
    assert not {"retention.ms", "retention.bytes"} & configuration(topics.PINGS).keys()


def test_messages_of_every_topic_are_stamped_when_they_arrive() -> None:
    for topic in topics.ALL:
        assert configuration(topic)["message.timestamp.type"] == "LogAppendTime"
