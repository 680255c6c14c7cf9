"""Tests of one second, or of one window, against the baselines: loss, latency, drift, silence.

In: counts and latencies of paths, and what ``baselines`` have learnt. Out: p-values, deviations,
states of hosts; which component causes them is for ``strategies`` to say. Start with ``loss`` and
``latency``; ``peer_groups`` compares paths with their own job, ``pair_contrasts`` with the other
five-tuples of their pair, ``alarm_budget`` sets the level.
"""
