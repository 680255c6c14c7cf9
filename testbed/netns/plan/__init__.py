"""The plan of a fabric: pure functions from its shape to everything that is built.

In: a ``Plan`` (counts of hosts, NICs, switches, containers). Out: addresses, cables, routes,
overlay entries, the ports of each component, the topology document. Start with ``plan.py``.
"""
