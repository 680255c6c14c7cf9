"""Requests in, callers out: who asks, what the caller may do and see, and how often.

Start in ``guard``, the middleware that every request of /api passes; ``tokens`` is the file of
tokens, ``callers`` what a token permits, ``rate_limit`` how many requests a client may make, and
``session`` how a browser keeps a token.
"""
