"""Commands that an operator runs before the parts start: tables, topics, sender keys, settings.

In: addresses from settings, paths from options. Out: tables of ClickHouse, topics of Kafka, key
files, the list of settings. One file per command; start with ``migrate``.
"""
