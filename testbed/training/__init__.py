"""Training jobs seen by the counters of their rnics: what skeleton inference is measured on.

In: the layout and the rhythm of each job, what impairs the measurement, and a seed. Out: bytes sent
and received per rnic and second with gaps, and the truth: the position of each rnic and the pairs
that carry traffic. Start with ``cases`` (which jobs), then ``positions`` (the truth) and
``traffic`` (the bytes); ``quiet`` makes jobs without collectives. Unlike ``testbed.workload`` there
is no fabric and no schedule: a case is one stretch of time.
"""
