"""Fabrics as topology documents.

In: a spec (rail-optimised Clos, fat-tree, a table of a real cluster, a document) and a seed. Out: a
``Topology`` with hosts, switches, links and containers. Start with ``fabric_sources.py``, which
lists the kinds that a scenario can name.
"""
