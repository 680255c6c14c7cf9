"""Latency of paths against their own past: of windows, and of sparse paths answer by answer.

In: features of windows, answers, ``baselines.latency``. Out: ``LatencyDeviation``. Start with
``deviation``; ``sparse_deviation`` adds the paths that are probed too rarely to have windows.
"""
