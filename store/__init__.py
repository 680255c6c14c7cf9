"""ClickHouse: SQL and Arrow tables in, rows out, over HTTP or in this process (chDB).

Start in ``client``; ``migrate`` applies migrations/*.sql, which define tables and retention, on one
server or, by ``cluster``, on many. Users are the sink of ``streams``, ``api`` and ``skeletonhunter
migrate``. Imports only ``schemas``.
"""
