"""How the services reach Kafka's brokers, and whether these answer before a part begins."""

from __future__ import annotations

import logging
from typing import Any

from skeletonhunter.errors import BadSettings
from skeletonhunter.log_lines import KAFKA_LOGGER
from skeletonhunter.settings import Settings


def client_settings(config: Settings, *, brokers: bool = True) -> dict[str, Any]:
    """Settings of a service's confluent-kafka clients, whose lines then go to our log.

    brokers  False: without the addresses
    """
    found = config.librdkafka() if brokers else config.kafka_settings()
    return {**found, "logger": logging.getLogger(KAFKA_LOGGER)}


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
