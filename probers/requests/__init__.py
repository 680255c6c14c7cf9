"""Requests of the controller beyond the ping list: bounded probes, traceroutes, host counters.

In: the host's open requests, over the connection of its ping list. Out: ordinary ping records, and
evidence on skh.evidence. Start reading in ``executor``; ``host_facts`` reads what is
asked of the host itself.
"""
