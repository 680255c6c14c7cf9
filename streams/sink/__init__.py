"""skh.pings, skh.windows, skh.anomalies, skh.incidents, skh.dead-letter -> ClickHouse.

In: messages of five topics. Out: rows of five tables, then committed offsets; dead letters.
Start with ``sink.py`` (the loop), then ``batch.py`` (messages to tables, without Kafka).
"""
