"""RDMA probes between UD queue pairs: so far a prober and a responder to run by hand.

In: addresses of queue pairs. Out: loss and round trips per pair, as JSON. Start reading in
``packet`` (the method), then ``engine``; ``verbs`` is the device, ``ping`` the command.
"""
