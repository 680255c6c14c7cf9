"""Files of ping records and documents in; incidents, and what they rest on, out. No service.

``inputs`` reads and checks the files, ``run`` replays them second by second, ``coverage`` states
what was judged, ``report`` and ``summary`` are the text on stdout and stderr. Start with ``run``.
"""
