"""What is known of one fabric between two seconds: paths, hosts, counts, baselines, jobs.

In: second batches, heartbeats, traced routes, operators' documents. Out: ``FabricState``, which the
rules of ``verdicts`` read. Start with ``fabric_state``; ``retention`` drops what is not heard any
more.
"""
