"""ClickHouse -> people: incidents as JSON, health, metrics and one live page.

``app`` puts it together; ``incidents`` is the API, ``queries`` its SQL, ``documents`` what it
answers with, ``health`` and ``metrics`` are for machines that watch machines, ``pages`` and
``page/`` are for people. Reads only, listens on loopback unless told otherwise, and needs nothing
from the Internet.
"""
