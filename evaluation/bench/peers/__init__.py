"""Peers: what other engines need for the windows of the same records.

In: decoded ping records of the simulator, one second after the other. Out: a table of records per
second of CPU time, one row an engine. ``python -m evaluation.bench.peers`` starts one process per
engine and run (``measure``); an engine is a file in ``engines/`` and a row of ``registry``. Before
it is timed, a window of each engine is compared with ours (``agreement``).
"""
