"""Kafka's side of the notifier: versions of incidents in, skh.notified in and out.

In: librdkafka settings. Out: documents in the order of each partition, and what was stored before.
Start with ``sent_log.py``, which says what survives a restart and why.
"""
