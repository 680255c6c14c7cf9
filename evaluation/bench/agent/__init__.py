"""What an agent costs its host.

In: a real agent, or its engine, against a peer in another process, on loopback. Out: a share of a
core, memory, and probes per second of CPU. Start reading in ``cost``.
"""
