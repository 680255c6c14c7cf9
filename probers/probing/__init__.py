"""Measuring: when each five-tuple is probed, round trips and losses, routes of probes and replies.

In: five-tuples to probe. Out: a ``Burst`` for each measurement, a ``Trace`` for each route. Start
reading in ``udp``.
"""
