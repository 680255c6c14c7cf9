"""The traffic skeleton of a job from the throughput of its rnics: who talks to whom.

In: bytes sent and received per rnic and second (``skh.throughput``). Out: the position of each
rnic, data-parallel degree, pipeline order, the pairs that may carry traffic, a confidence, or the
reason why there is no skeleton. Pure; start in ``inference``. The derivation is in
docs/controller.md.
"""
