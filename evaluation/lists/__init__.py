"""Detection with the controller's own ping lists, instead of those that a scenario gives.

In: scenarios by seed. Out: incidents against truth, and probes to endpoints that were not ready.
``site`` is a controller beside a simulation; start in ``trials``.
"""
