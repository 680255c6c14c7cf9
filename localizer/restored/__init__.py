"""Open incidents of a former process that a new one cannot see in what it reads again.

In: their documents, and the state of the fabric at each second. Out: which of them stay open
although no verdict names them. Start with ``incidents.py``; there is a module for each kind of
evidence that reaches further back than the 330 s that a worker reads when it starts.
"""
