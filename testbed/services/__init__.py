"""Services that a site runs, on loopback, for tests that break them: Apache Kafka, ZooKeeper, a
ClickHouse.

In: a folder for their files. Out: an address for clients. Start with ``kafka_server.py``;
``store_server.py`` is a process of its own.
"""
