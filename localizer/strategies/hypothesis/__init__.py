"""The default strategy: one likelihood for loss and for latency, over known and unknown routes.

In: Evidence. Out: attributions. Start with ``strategy``: ``candidates`` lists the classes that may
be culprits, ``loss`` and ``latency`` are the likelihoods of a path's measurements (``rows``: over
all routes it may take), ``search`` finds the sparsest set of culprits (``selection``: those chosen
so far; ``fitting``: the size of one). docs/localization.md derives the model.
"""
