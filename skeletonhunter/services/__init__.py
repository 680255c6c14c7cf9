"""The parts as services of their own: stream worker, sink, API, and what they share with `up`.

In: settings, Kafka and ClickHouse addresses. Out: a process that runs until SIGTERM, with /healthz,
/readyz and /metrics on its health port. Start with ``stream``, then ``lifecycle``.
"""
