"""The ping list: which addresses one agent serves and which targets it probes.

In: a JSON document from a file or over HTTP, read again and again. Out: a checked ``PingList``, or
None when it could not be read three times in a row. Start reading in ``document``.
"""
