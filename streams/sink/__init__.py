"""Messages of thirteen topics -> ClickHouse.

In: messages of ``batch.TOPICS``. Out: rows of their tables, then committed offsets; dead letters.
Start with ``sink.py`` (the loop), then ``batch.py`` (messages to tables, without Kafka).
"""
