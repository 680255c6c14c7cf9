"""Windows of paths in; paths, their routes and raw pings, and the health of components out.

Start in ``routes``; ``filters`` bounds what may be asked, ``documents`` are the answers,
``queries`` and ``components`` ask ClickHouse.
"""
