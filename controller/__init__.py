"""Whom to probe: from the topology and what is placed on it to one ping list per host.

So far this room holds ``pinglist.same_rail`` only: a pure function over a topology document that
gives every host the pairs on its rails. That alone cuts the full mesh by the number of rails.

Later it will hold the rest of the three phases: entries that become active only when a container
registers as ready (no start-up false alarms), the training skeleton inferred from RNIC throughput
(only pairs that really carry traffic), source ports chosen to cover the ECMP paths and rotated
hourly, and an HTTP service from which agents fetch their lists. It knows ``schemas`` and nothing
else of ours; agents read its documents, not its code.
"""
