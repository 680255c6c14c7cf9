"""RDMA probes between UD queue pairs.

In: addresses of queue pairs. Out: loss and round trips per pair. Start reading in ``packet`` (the
method), then ``engine`` and ``responder``; ``port`` is what they need of a device, ``verbs`` the
device, ``ping`` a command without an agent. ``scheduled`` is what the agent does with them.
"""
