"""Faults of the pipeline itself: a process dies, hangs or lies while records keep coming.

In: the list of ``faults.py``. Out: a row of the table in docs/reliability.md per fault. Real
processes (Apache Kafka, stream workers, sink, ClickHouse's engine behind HTTP) carry a simulated
cluster with one network fault; the pipeline is disturbed meanwhile, and afterwards every record has
to be accounted for and the incidents have to be those of an undisturbed run. Start with ``run.py``;
``site`` has the processes, and those who call them.
"""
