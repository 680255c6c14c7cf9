"""ClickHouse in, HTTP out: incidents as JSON, health and metrics for monitoring, a page for people.

Start in ``app``, which puts the parts together: ``routes`` (URLs), ``queries`` (SQL and its time
limits), ``documents`` (bodies), ``access`` (who may ask), ``actions`` (what people do about
incidents; nothing else is written), ``answers`` (errors, tags), ``page`` (files of the page),
``serving`` (connections). Listens on loopback by default, and needs no Internet access.
"""
