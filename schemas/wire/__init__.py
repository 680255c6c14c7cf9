"""Bytes of messages in, Arrow columns and rejected rows out; nothing here does I/O.

Ping records: start in ``codecs`` (one message) and ``batches`` (many messages, checked together);
``record_checks`` holds the rules of a record. Panes and windows: ``window_chunks``.
"""
