"""Which messages of skh.pings and skh.heartbeats are accepted: those that are their sender's own.

In: messages with or without signatures, the key ring, topology and placements. Out: decoded records
and heartbeats, and a reason for each that is refused. Stream workers and sink decide alike.
Start with ``admission.py``.
"""
