"""Readers of topics beside the consumer group: whole topics at a start, or a range again.

In: documents about the site (skh.topology, skh.placement, skh.maintenance), skh.incidents, evidence
of hosts (skh.evidence), a range of skh.windows. Out: valid documents and messages;
what is not valid is left out and counted.
Start with ``operator_feed.py``, which stream workers and the sink follow all the time.
"""
