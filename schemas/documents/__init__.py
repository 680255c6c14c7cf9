"""JSON bytes in, checked documents out; and the ping record's columns as data.

One module per document, each with its struct and its checks; start in ``ping`` and ``incident``.
``decoding`` words what is wrong with a document; ``json_schemas`` writes schemas/json.
"""
