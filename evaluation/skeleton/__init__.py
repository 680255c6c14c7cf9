"""Skeleton inference against known layouts: accuracy, missed pairs, refusals, time and memory.

In: cases of ``testbed.training`` by seed. Out: a row per trial, and a table. Start in ``trials``.
"""
