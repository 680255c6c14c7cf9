"""What operators have -> the topology document, and what traceroutes say against it.

In: bytes of files with their names; routes of traceroutes. Out: a checked document of
``schemas/documents/topology.py``, or every mistake in one line each; contradictions.
Start with ``formats/reading.py``, then ``assembly/assemble.py``; ``found.py`` is between them.
"""
