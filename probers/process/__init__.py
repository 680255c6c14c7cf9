"""What every part of the agent's process uses: event loop, log, failed threads.

In: sockets to read, timers, log events. Out: callbacks in one thread, logfmt lines on stderr.
Start reading in ``loop``.
"""
