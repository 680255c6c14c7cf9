"""Records of skh.pings -> panes of a second, sliding windows, punctuations. No I/O.

In: messages of one partition, and when they arrived. Out: messages of skh.windows. Live, from a
file or in a benchmark, the same records and arrival times give the same messages.
Start with ``partition.py`` (the whole chain), then ``windower.py`` (watermark) and ``panes.py``.
"""
