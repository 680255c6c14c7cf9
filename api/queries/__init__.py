"""Questions of the routes in, rows of ClickHouse out, as documents.

Start in ``incidents`` (the queries); ``filters`` makes their conditions, ``database`` bounds time.
"""
