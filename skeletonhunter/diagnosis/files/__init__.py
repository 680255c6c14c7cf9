"""What a user names -> files, plain bytes and columns that ``ping_files`` reads.

``names`` finds the files of globs, ``unread`` refuses kinds that are not read, ``compressed``
expands gzip and Zstandard within bounds, ``columnar`` reads Arrow and Parquet into ``blocks``,
``column_map`` renames and scales the columns of others, ``time_span`` keeps a part of the records.
``time_unit``, ``loss_unit`` and ``latency_unit`` notice values in another unit.
"""
