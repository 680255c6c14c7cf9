"""RDMA probes of the agent, beside those over UDP, from the same ping list.

In: the list in effect, its rnics' devices. Out: bursts that become RDMA_PING records, and routes of
their five-tuples. Start reading in ``probing``; ``rnic`` is a device in the loop, ``peers`` learns
queue pairs of other hosts, ``bursts`` measures, ``routes`` completes traceroutes.
"""
