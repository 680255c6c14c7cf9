"""Benchmarks: throughput and memory of each stage.

In: simulated records and synthetic chunks. Out: one JSON object per measurement. Start with
``stages.py``, which lists the measurements; ``scale`` is the localizer at up to a million paths.
"""
