"""Everything in one process, for `up` and `demo`: broker, database, worker, sink, API, relay.

In: ``RuntimeOptions``; agents' messages over a unix socket. Out: the page and API on one port.
Start with ``runtime``; the demo is ``demo`` (feeds it), ``demo_state`` and ``demo_screen``.
"""
