"""One likelihood for loss and for latency, over known and unknown routes; see docs/localization.md.

``candidates`` lists what may be to blame and how often each path crosses it, ``loss`` and ``shift``
say how likely a path's measurements are, ``search`` finds the sparsest set of culprits.
"""
