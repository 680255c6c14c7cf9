"""Ping records and heartbeats of a simulated cluster, second by second.

In: a topology, faults, noise parameters and a seed. Out: a ``Second`` of records and heartbeats,
messages as agents publish them, directories of files. Start with ``simulator.py``; ``baseline`` is
the healthy network, ``fault_effects`` what the active faults change.
"""
