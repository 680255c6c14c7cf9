"""Services that a site runs, on loopback, for tests that break them: Apache Kafka, ZooKeeper, a
ClickHouse.

In: a folder for their files. Out: an address for clients. Start with ``kafka_server.py``;
``store_server.py`` is a process of its own; ``small_disk.py`` and ``memory_limit.py`` are what
services run out of.
"""
