"""A data centre on one machine, and the truth about what was broken in it.

``clos`` draws a fabric as a topology document, ``network`` routes through it by ECMP, ``skeleton``
decides who pings whom, ``layouts`` and ``jobs`` how training jobs lie on the hosts, ``churn`` how
they come and go, ``watching`` who is pinged meanwhile, ``throughput`` what rnics carry. ``healthy``
and ``faults`` say how probes fare, ``simulator`` turns all that into one second of ping records
after another, ``publish`` into messages as agents send them and ``files`` into a directory with the
truth beside the records. ``scenario`` names what to simulate; ``score`` compares incidents with the
truth. Everything is a pure function of the seed.
"""
