"""ClickHouse -> people: incidents as JSON, health, metrics and one live page.

``app`` puts it together; ``incidents`` is the API, ``filters`` and ``queries`` its SQL,
``database`` bounds how long an answer is waited for, ``documents`` is what it answers with.
``health``, ``probes`` and ``metrics`` are for machines that watch machines (``machine``: the same
for processes without an api), ``pages`` and ``page/`` are for people. ``serving`` bounds
connections, ``guards`` sets headers and checks host names. Reads only, listens on loopback unless
told otherwise, and needs nothing from the Internet.
"""
