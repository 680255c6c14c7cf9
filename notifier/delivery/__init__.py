"""Sends: one queue and one worker for each channel, so that none waits for another.

In: notifications. Out: HTTP requests to public addresses only, tried again within bounds.
Start with ``channel.py``; ``addresses.py`` decides whom we ask at all, ``post.py`` asks.
"""
