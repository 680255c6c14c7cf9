"""Pods -> events about containers and jobs.

``tracker`` is the core, without I/O: lists and changes of pods in, events out. ``source`` keeps it
in touch with the API server, ``api`` is the official client. Start with ``tracker``.
"""
