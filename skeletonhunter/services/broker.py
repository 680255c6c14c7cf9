"""Whether Kafka's brokers answer, before a command begins its work."""

from __future__ import annotations

from skeletonhunter.errors import BadSettings
from skeletonhunter.settings import Settings


def check_broker(config: Settings) -> None:
    """Ask the brokers once, with the security settings.

    Raises BadSettings for an option that librdkafka refuses, ConnectionError when none answers.
    """
    from streams.errors import UnusableKafkaOption
    from streams.kafka import admin

    try:
        admin.check(config.librdkafka())
    except UnusableKafkaOption as why:
        raise BadSettings(f"SKH_KAFKA_OPTIONS: {why}") from why
