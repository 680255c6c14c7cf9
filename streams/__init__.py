"""skh.pings -> skh.windows -> skh.anomalies, skh.incidents -> ClickHouse.

``paths``, ``panes``, ``windows`` are pure: arrays in, arrays out, time as an argument. ``ingest``,
``heartbeats`` and ``localize`` are Faust agents, one a file, that decode, call and encode.
``sink`` writes to ClickHouse. ``app`` puts them together.
"""
