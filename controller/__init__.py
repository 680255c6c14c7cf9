"""Which paths to probe: a topology document in, one ping list per host out.

Start in ``ping_lists``. Still to come: tasks, skeleton inference from rnic throughput, and the HTTP
service from which agents fetch their lists (docs/architecture.md). Imports only ``schemas``.
"""
