"""skh.pings -> skh.windows -> skh.anomalies, skh.incidents -> ClickHouse.

In: pings, heartbeats and operators' documents, from Kafka or (``replay.py``) from a file. Out:
incidents and anomalies; the sink stores all topics. ``ingest.py``, ``heartbeats.py`` and
``localize/stage.py`` are the Faust agents; ``windowing/`` does the work without I/O.
Start with ``worker.py``, which puts the stages together, or with ``replay.py``.
"""
