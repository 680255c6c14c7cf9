"""The command ``skeletonhunter-agent``: the wiring of all parts, applying ping lists.

In: command line and ping lists. Out: a running agent until SIGTERM. Start reading in ``main``, then
``agent`` and ``probe_control``.
"""
