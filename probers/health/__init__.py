"""The agent's own health: heartbeats, counters as metrics, and a small HTTP server for them.

In: counters of the other parts, once a second. Out: heartbeat documents; /metrics, /healthz and
/readyz on loopback. Start reading in ``status``, then ``pages``.
"""
