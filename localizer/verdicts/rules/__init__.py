"""One module for each family of rules: silent hosts, scope outages, reachability, latency, drift.

In: the state of a fabric at the end of a second. Out: a ``Decision``; a rule changes nothing.
``quorum.py`` says how many source hosts a verdict takes.
"""
