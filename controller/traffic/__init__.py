"""The throughput of each job, held for some minutes, and when its skeleton is inferred. No I/O.

In: samples of skh.throughput, and the jobs of the ping lists. Out: what to infer from, then the
skeleton that the lists use, or the reason why they use the rails. Start in ``job_skeletons``.
"""
