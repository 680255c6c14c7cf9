"""What travels: every record, message and table of the system, and nothing else.

``ping`` (the 45-column record), ``heartbeat``, ``incident``, ``topology``: the documents.
``topics``: every Kafka edge as data. ``codecs``, ``identity``, ``windows``: bytes to columns and
back (these need numpy and pyarrow; agents import none of them). ``clickhouse/`` and ``migrate``:
the tables. This package imports nothing else of ours.
"""
