"""ClickHouse in, HTTP out: incidents as JSON, health and metrics for monitoring, a page for people.

Start in ``app``, which puts the parts together: ``routes`` (URLs), ``queries`` (SQL and its time
limits), ``documents`` (response bodies), ``page`` (files of the page), ``serving`` (connections).
Reads only, listens on loopback by default, and needs no Internet access.
"""
