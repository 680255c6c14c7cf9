"""Event-time merge: the outputs of one worker's partitions, published in event-time order.

In: messages of skh.windows from ``streams.ingest`` and ``streams.heartbeats``.
Out: the same messages, in event-time order; then the callbacks that acknowledge their input.
Start with ``output_merger.py``; ``stall_detector.py`` decides which partitions are not waited for.
"""
