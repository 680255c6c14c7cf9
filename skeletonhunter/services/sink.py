"""The sink as a service: messages of Kafka in, rows of ClickHouse out."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaException

from skeletonhunter import terminal
from skeletonhunter.arguments import read_topology
from skeletonhunter.errors import DependencyUnreachable
from skeletonhunter.services import health
from skeletonhunter.services.broker import client_settings
from skeletonhunter.services.http_app import sink_monitoring
from skeletonhunter.services.sender_keys import key_ring
from skeletonhunter.settings import Settings
from store.client import open_store
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.sink import site_rows
from streams.sink.sink import Sink


def serve(config: Settings, topology: Path | None) -> int:
    """Run the sink until it is stopped; raises BadInput, BadSettings, DependencyUnreachable.

    topology  given on the command line; None: that of the settings
    """
    ring = key_ring(config, config.require_kafka())
    given = read_topology(topology or config.topology)
    ownership = None if ring is None else Ownership(given)
    accept = config.unsigned_senders == "accept"
    admission = Admission(ring, unsigned=accept, ownership=ownership)
    store = open_store(config.require_clickhouse())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    terminal.announce(f"storing the messages of {config.kafka} in {store.name}")
    sink = Sink(store, client_settings(config), admission=admission, ownership=ownership)
    try:
        if given is not None:  # it is on no topic
            rows = site_rows.topology(given, time.time_ns() // 1_000_000)
            store.insert("topology_components", rows)
        with health.served(config, "sink", sink_monitoring(sink)):
            sink.run(stop)
    except KafkaException as why:
        raise DependencyUnreachable(f"{config.kafka}: {why.args[0]}") from why
    finally:
        store.close()
    return 0
